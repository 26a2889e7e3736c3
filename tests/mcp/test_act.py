"""Tools that act: limits under fire, read-only, who and why, and requests that mean harm."""

import asyncio
import os
import signal

import anyio
import pytest
from mcp.client.client import Client

from spotter.launch.ledger import Limits
from spotter.mcp.desk import Terms
from spotter.rundir.run import Run
from tests.mcp.making import ME, SHORT, ask, at_desk, refused, stdio, until
from tests.studio.making import make_run

LIMITS = ("--most-minutes", "100", "--most-steps", str(10**9))
ACTING = {"start", "stop", "resume", "fork", "evaluate", "note", "tag"}


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_twenty_starts_at_once_through_two_servers_make_two_runs(runs):
    terms = Terms(limits=Limits(most_runs=2, most_steps=10**9, most_minutes=100))
    told: list = []

    async def start(client, number):
        wish = {"address": "CartPole-v1:ppo", "overrides": [*SHORT, f"seed={number}"],
                "steps": 10**8, "minutes": 5, "reason": f"hammer {number}"}  # fmt: skip
        told.append(await client.call_tool("start", wish))

    async def scenario():
        async with (
            at_desk(runs, terms) as one,
            Client(stdio(runs, *LIMITS), client_info=ME) as other,
        ):
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(start, one, number)
                    group.start_soon(start, other, number + 10)
            begun = [r.structured_content["run"] for r in told if not r.is_error]
            sentences = {r.content[0].text for r in told if r.is_error}
            assert len(begun) == 2 and None not in begun
            assert len(told) == 20 and all("--most-runs is 2" in text for text in sentences)
            for client in (one, other):
                told_of = await ask(client, "limits")
                assert told_of["runs_going"]["now"] == told_of["runs_so_far"] == 2

            pid = (await ask(one, "status", run=begun[0]))["pid"]
            os.kill(pid, signal.SIGKILL)

            async def dead():
                status = await ask(other, "status", run=begun[0])
                return status["status"] == "dead" and status

            assert "is gone" in (await until(dead))["why_dead"]
            assert (await ask(other, "limits"))["runs_going"]["now"] == 1  # its place is free

    asyncio.run(scenario())
    assert len(list(runs.glob("2*"))) == 2


def test_read_only_has_no_tool_that_acts(shelf):
    async def scenario():
        async with at_desk(shelf, Terms(read_only=True)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert not ACTING & set(tools)
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            for name in ACTING:
                text = await refused(client, name, run="@last")
                assert text.startswith("this server is read-only: ") and f"no '{name}'" in text
            assert "did you mean 'status'" in await refused(client, "statsu")
            assert "read-only" in await refused(client, "episode", play=True)
            assert "read-only" in await refused(client, "diagnose", environment=True)
        async with at_desk(shelf) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names >= ACTING

    asyncio.run(scenario())


def test_notes_and_tags_say_who(runs):
    run = make_run(runs)

    async def scenario():
        async with at_desk(runs) as client:
            await ask(client, "note", run=run.id, text="the score\nis flat")
            assert (await ask(client, "tag", run=run.id, name="flat"))["tags"] == ["flat"]
            assert (await ask(client, "status", run="flat"))["id"] == run.id
            assert "cannot be a tag" in await refused(client, "tag", run=run.id, name="../x")
            assert "has no tag" in await refused(client, "tag", run=run.id, name="x", remove=True)

    asyncio.run(scenario())
    note, tag = list(Run(run.folder).events())[-2:]
    assert (note["event"], note["text"], note["by"]) == (
        "note", "the score\nis flat", "agent tester via mcp",
    )  # fmt: skip
    assert (tag["event"], tag["what"], tag["tag"]) == ("action", "tag", "flat")


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        pytest.param(Limits(most_runs=0), "--most-runs is 0", id="runs"),
        pytest.param(Limits(most_steps=1000), "1,000 of 1,000 are left", id="steps"),
        pytest.param(Limits(most_minutes=1), "1.0 of 1 are left", id="minutes"),
    ],
)
def test_a_start_beyond_the_limits_starts_nothing(runs, limits, sentence):
    async def scenario():
        async with at_desk(runs, Terms(limits=limits)) as client:
            assert sentence in await refused(
                client, "start", address="CartPole-v1:ppo", reason="too much", minutes=2
            )

    asyncio.run(scenario())
    assert not list(runs.glob("2*")) and not list(runs.glob(".launched/*.log"))


CODE = "import os; os.environ['HARMED'] = '1'"
HOSTILE_SETTINGS = {
    "family": "env.family=evil.module",
    "algo": "algo.name=evil.module",
    "algo_map": "algo={name: evil.module}",
    "encoder": "policy.encoder=evil.module",
    "wrapper": "env.wrappers=[{name: evil.module}]",
    "wrapper_file": "env.wrappers=[{name: gymnasium, wrapper: RecordVideo, "
    "kwargs: {video_folder: out}}]",
    "signal": "reward.signals=[{source: evil.module}]",
    "env_id": "env.id=evil:CartPole-v1",
    "kwargs_path": "env.kwargs={xml_file: /etc/passwd}",
    "kwargs_file": "env.kwargs={xml_file: secret.xml}",
    "kwargs_deep": "env.kwargs.a.b=[{c: ../x}]",
    "section": "env={id: CartPole-v1, kwargs: {file: ~/x}}",
    "wad": "env.wad=secret",
    "folder": "env.folder=games",
    "protocol": "env.protocol=../../x",
    "huge": "env.count=100000",
    "wide": "policy.hidden=[1000000]",
    "no_value": "algo.lr",
    "long": "algo.lr=" + "1" * 3000,
}


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that tells if somebody imported it."""
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "__init__.py").write_text(CODE)
    (tmp_path / "evil" / "module.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("HARMED", raising=False)
    yield
    assert "HARMED" not in os.environ


@pytest.mark.parametrize("override", HOSTILE_SETTINGS.values(), ids=list(HOSTILE_SETTINGS))
def test_settings_that_run_code_or_open_files_are_refused(runs, evil, override):
    async def scenario():
        async with at_desk(runs) as client:
            await refused(client, "config", address="CartPole-v1:ppo", overrides=[override])
            await refused(
                client, "start", address="CartPole-v1:ppo", overrides=[override], reason="harm"
            )

    asyncio.run(scenario())
    assert not list(runs.glob("2*")) and not list(runs.glob(".launched/*.log"))


@pytest.mark.parametrize(
    "address",
    ["evil:CartPole-v1", "evil:ppo", "evil.module:CartPole-v1:ppo", "CartPole-v1:evil.module",
     "../x.yaml", "x.yaml:ppo", "/etc/passwd", "", "--resume", "a" * 5000, "NoSuch-v0"],
    ids=["package", "package_algo", "module", "algo", "path", "file", "root", "empty", "option",
         "endless", "unknown"],
)  # fmt: skip
def test_addresses_that_are_none_are_refused(runs, evil, address):
    async def scenario():
        async with at_desk(runs) as client:
            await refused(client, "start", address=address, reason="harm")
            await refused(client, "config", address=address)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "run",
    ["../runs", "..", ".launched", "/etc", "a/b", "", "@last/..", "@nobody", "x" * 5000, "*",
     "outside"],
    ids=["up", "dots", "hidden", "root", "slash", "empty", "last_up", "word", "endless", "star",
         "link"],
)  # fmt: skip
def test_no_name_leads_out_of_the_folder_of_runs(runs, tmp_path, run):
    make_run(runs)
    elsewhere = make_run(tmp_path / "elsewhere")
    (runs / "outside").symlink_to(elsewhere.folder, target_is_directory=True)

    async def scenario():
        async with at_desk(runs) as client:
            for tool in ("status", "log", "checkpoints", "episode"):
                await refused(client, tool, run=run)
            await refused(client, "note", run=run, text="x")
            await refused(client, "stop", run=run, reason="harm")

    asyncio.run(scenario())
    assert not any(event["event"] == "note" for event in elsewhere.events())


def test_a_strangers_run_is_not_gone_on_with(runs, evil):
    run = make_run(runs)
    config = run.folder / "config.yaml"
    config.write_text(config.read_text().replace("id: CartPole-v1", 'id: "evil:CartPole-v1"'))

    async def scenario():
        async with at_desk(runs) as client:
            for tool in ("resume", "fork"):
                text = await refused(client, tool, run=run.id, steps=100, reason="harm")
                assert "was not trained here with env.id=evil:CartPole-v1" in text
            elsewhere = {"address": "CartPole-v1:ppo", "steps": 100, "reason": "harm"}
            assert "not trained here" in await refused(client, "fork", run=run.id, **elsewhere)
            await refused(client, "evaluate", run=run.id)
            await refused(client, "episode", run=run.id, play=True)
            await refused(client, "config", run=run.id)
            text = await refused(client, "diagnose", run=run.id, environment=True)
            assert "not trained here" in text and "--trust" not in text
            found = await ask(client, "diagnose", run=run.id)
            assert any("settings" in each for each in found["not_checked"])
            await ask(client, "digest", run=run.id)

    asyncio.run(scenario())


def test_with_trust_a_package_may_be_named(runs, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import gymnasium as gym\n"
        "gym.register('Mine-v0', entry_point='gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    async def scenario():
        async with at_desk(runs, Terms(trust=True)) as client:
            found = await ask(client, "config", address="mine:Mine-v0")
            assert found["address"] == "mine:Mine-v0:ppo"

    asyncio.run(scenario())
