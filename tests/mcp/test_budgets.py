"""What a run may spend: the request's, the config's, the usual, or what is left; mistakes first."""

import asyncio

import pytest

from spotter.launch.ledger import Limits
from spotter.mcp import safe
from spotter.mcp.budgets import begun, gone_on
from spotter.mcp.desk import Desk, Terms
from spotter.rundir.files import write_json
from spotter.types import UserError
from tests.mcp.making import at_desk, refused
from tests.studio.making import make_run


def stopped(runs, minutes=None, at=128):
    """A run with a checkpoint, and with a budget of minutes in its config."""
    run = make_run(runs, updates=2)
    (run.folder / "checkpoints" / f"step-{at:09d}").mkdir(parents=True)
    settings = run.settings()
    write_json(
        run.folder / "config.yaml",
        settings | {"budget": settings["budget"] | {"minutes": minutes}},
    )
    return run


def more(runs, run, most=240.0, steps=None, minutes=None, overrides=()):
    desk = Desk(runs, Terms(limits=Limits(most_minutes=most)))
    config = safe.resumed(run, overrides, trust=False)
    return gone_on(desk, run, config, steps, minutes)[0]


@pytest.mark.parametrize(
    ("of_config", "most", "asked", "minutes", "source"),
    [
        (2.0, 10.0, None, 2.0, "config"),
        (None, 10.0, None, 10.0, "what is left"),
        (None, 240.0, None, 30.0, "usual"),
        (2.0, 10.0, 5.0, 5.0, "request"),
    ],
    ids=["config", "left", "usual", "request"],
)
def test_the_minutes_of_a_resume(runs, of_config, most, asked, minutes, source):
    budget = more(runs, stopped(runs, of_config), most, minutes=asked)
    assert budget.minutes == pytest.approx(minutes, abs=0.1) and budget.minutes_from == source
    assert budget.until_steps == 512 and budget.steps == 384


def test_a_new_run_takes_no_more_than_is_left(runs):
    desk = Desk(runs, Terms(limits=Limits(most_minutes=10)))
    budget = begun(desk, "CartPole-v1:ppo", [], None, None)
    assert (budget.minutes, budget.minutes_from) == (10, "what is left")
    budget = begun(desk, "CartPole-v1:ppo", ["budget.minutes=2"], None, None)
    assert (budget.minutes, budget.minutes_from) == (2, "config")


def test_a_budget_that_is_spent_is_told(runs):
    run = stopped(runs, minutes=1e-9)
    with pytest.raises(UserError, match="spent its budget of 1e-09 minutes; give `minutes`"):
        more(runs, run)
    assert more(runs, run, minutes=3).minutes == 3
    with pytest.raises(UserError, match="spent its budget of 512 env steps; give `steps`"):
        more(runs, stopped(runs, at=512), minutes=3)
    assert more(runs, run, minutes=3, overrides=["budget.env_steps=1024"]).until_steps == 1024


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("seed=7", "seed cannot change in a resumed run; a fork"),
        ("policy.hidden=[8]", "policy.hidden cannot change"),
        ("algo.lrr=1", "overrides: algo.lrr is not a setting; did you mean algo.lr?"),
    ],
    ids=["seed", "net", "typo"],
)
def test_what_cannot_be_comes_before_what_is_left(runs, override, sentence):
    run = stopped(runs)

    async def scenario():
        async with at_desk(runs, Terms(limits=Limits(0, 0, 0))) as client:
            asked = {"run": run.id, "reason": "another one", "overrides": [override]}
            assert sentence in await refused(client, "resume", **asked)

    asyncio.run(scenario())


def test_a_solved_run_is_told_how_it_goes_on(runs):
    run = stopped(runs)
    write_json(run.folder / "run.json", run.info() | {"solved": True})
    with pytest.raises(UserError, match=r"is solved; .* override eval\.stop_when_solved=false"):
        more(runs, run)
