"""What may be named and how much may be asked for: recipes pass, strangers' runs do not."""

import asyncio

import pytest

from spotter.config.catalogue import entries
from spotter.launch.ledger import Limits
from spotter.mcp import safe
from spotter.mcp.desk import Terms
from spotter.rundir.files import write_json
from spotter.rundir.run import Run
from spotter.types import UserError
from tests.mcp.making import ask, at_desk, refused
from tests.studio.making import make_run


def test_no_packaged_recipe_is_refused(runs, monkeypatch):
    """One run with the settings of each in turn: to write and to read a config takes long."""
    run = make_run(runs)
    for entry in entries():
        config = safe.resolved(entry.address, [], trust=False).config
        monkeypatch.setattr(Run, "settings", lambda _, config=config: config.as_data())
        safe.check_run(run, False, entry.address)


@pytest.mark.parametrize(
    "address",
    ["tests.diagnose.doctor.games:Grid-v0", "no.such.package:Grid-v0", "numpy:Grid-v0",
     "nowhere:Grid-v0", "numpy:Grid-v0:ppo", "CartPole:Grid-v0"],
)  # fmt: skip
def test_a_package_is_refused_alike_whether_or_not_it_is_there(address):
    with pytest.raises(UserError) as told:
        safe.resolved(address, [], trust=False)
    package = address.partition(":")[0]
    start = f"'{address}' would import code, a package of the name '{package}'; the person can"
    assert str(told.value).startswith(start) and "with --trust" in str(told.value)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("CartPol-v1:ppo", "did you mean 'CartPole-v1"),
        ("CartPole:ppo", "did you mean 'CartPole-v1"),
        ("CartPole:shaped", "or did you mean 'CartPole-v1'?"),
        ("CartPole-v0:my.module", "with --trust"),
    ],
)
def test_what_is_no_package_is_named_as_what_it_is(address, sentence):
    with pytest.raises(UserError) as told:
        safe.resolved(address, [], trust=False)
    assert sentence in str(told.value)


@pytest.mark.parametrize("address", ["CartPole-v1:their_algo", "CartPole-v0:their_algo"])
def test_an_algorithm_of_another_module_is_not_imported(address, folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder("their_algo.py", "def make(): ...\nraise SystemExit('it was imported')\n")
    with pytest.raises(UserError, match=r"unknown algorithm 'their_algo'.*with --trust"):
        safe.resolved(address, [], trust=False)


FOREIGN = {
    "records": {
        "wrappers": [
            {"name": "gymnasium", "wrapper": "RecordVideo", "kwargs": {"video_folder": "x"}}
        ]
    },
    "wad": {"wad": "secret"},
    "folder": {"folder": "games"},
    "kwargs": {"kwargs": {"file": "../x.xml"}},
}


def strange(runs, env):
    """A run as somebody else may have written it."""
    run = make_run(runs, updates=1)
    settings = run.settings()
    write_json(run.folder / "config.yaml", settings | {"env": settings["env"] | env})
    return run


@pytest.mark.parametrize("env", FOREIGN.values(), ids=list(FOREIGN))
@pytest.mark.parametrize("trust", [False, True])
def test_a_run_that_opens_files_is_neither_played_nor_trained(runs, env, trust):
    run = strange(runs, env)

    async def scenario():
        async with at_desk(runs, Terms(trust=trust)) as client:
            for tool, arguments in (
                ("resume", {"steps": 100, "reason": "harm"}),
                ("fork", {"steps": 100, "reason": "harm"}),
                ("evaluate", {}),
                ("episode", {"play": True}),
                ("diagnose", {"environment": True}),
            ):
                told = await refused(client, tool, run=run.id, **arguments)
                assert "was not trained here with env." in told, tool
                assert "--trust" not in told

    asyncio.run(scenario())
    assert not list(runs.glob(".launched/*.log"))


def test_a_run_that_opens_files_is_still_compared(runs):
    both = [strange(runs, {"kwargs": {"file": "../x.xml"}}).id, make_run(runs, updates=1).id]

    async def scenario():
        async with at_desk(runs) as client:
            assert len((await ask(client, "compare", runs=both))["runs"]) == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        pytest.param(["algo.epochs=1001"], "algo.epochs=1001 is more", id="epochs"),
        pytest.param(
            ["algo.epochs={shape: linear, start: 1, end: 5000}"], "algo.epochs=5000", id="schedule"
        ),
        pytest.param(["env.count=1024", "algo.steps=2048"], "2,097,152 env steps", id="rollout"),
        pytest.param(["eval.episodes=1000000"], "eval.episodes=1e+06", id="episodes"),
    ],
)
def test_sizes_have_limits_at_a_start_and_at_a_resume(runs, overrides, sentence):
    with pytest.raises(UserError) as told:
        safe.resolved("CartPole-v1:ppo", overrides, trust=True)
    assert sentence in str(told.value)
    run = make_run(runs, updates=1)

    async def scenario():
        async with at_desk(runs) as client:
            asked = {"run": run.id, "steps": 100, "reason": "much", "overrides": overrides}
            assert sentence in await refused(client, "resume", **asked)

    asyncio.run(scenario())


def test_one_update_is_the_least_that_is_reserved(runs):
    asked = {"address": "CartPole-v1:ppo", "steps": 1, "reason": "a little",
             "overrides": ["algo.steps=20000", "env.count=32"]}  # fmt: skip

    async def scenario():
        async with at_desk(runs, Terms(limits=Limits(most_steps=600_000))) as client:
            assert "asks for 640,000 env steps" in await refused(client, "start", **asked)

    asyncio.run(scenario())
    assert not list(runs.glob(".launched/*.log"))


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("launch=foreign_names.module", "unknown launcher 'foreign_names.module'"),
        ("launch={name: slurm, setup: [make mischief]}", "launch.setup[0] may hold commands"),
        ("launch={name: slurm, partition: gpu}", "launch.partition may hold commands"),
    ],
)
def test_a_launcher_may_be_named_but_given_no_commands(override, sentence):
    assert safe.resolved("CartPole-v1:ppo", ["launch=slurm"], trust=False).config.launch
    with pytest.raises(UserError) as told:
        safe.resolved("CartPole-v1:ppo", [override], trust=False)
    assert sentence in str(told.value) and "--trust" in str(told.value)
