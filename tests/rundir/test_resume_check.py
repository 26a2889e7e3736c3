"""What keeps a run from going on; the same answer on the command line, in Studio and over MCP."""

import pytest

from spotter.config import resolve
from spotter.rundir.resume_check import lacks


def found(reason=None, solved=None, at=100, seconds=0.0, budget=(), **more):
    config = resolve("CartPole-v1:ppo", budget).config
    info = {"reason": reason, "solved": solved}
    return [lack.override for lack in lacks(info, config, at, seconds, **more)]


def test_a_run_that_was_interrupted_lacks_nothing():
    assert found() == []


@pytest.mark.parametrize(("reason", "wanted", "is_done"), [
    ("budget", ["budget.env_steps=200"], False),
    ("interrupted", [], False),
    (None, [], False),
    (None, ["budget.env_steps=200"], True),
])  # fmt: skip
def test_a_spent_budget_is_no_matter_where_only_the_test_is_left(reason, wanted, is_done):
    assert found(reason, budget=["budget.env_steps=100"], is_done=is_done) == wanted


def test_minutes_are_doubled_and_whole():
    spent = ["budget.minutes=1.2"]
    assert found("budget", seconds=72.0, budget=spent) == ["budget.minutes=3"]
    assert found("budget", seconds=71.0, budget=spent) == []


def test_a_solved_run_may_be_told_to_go_on():
    assert found("solved", solved=True) == ["eval.stop_when_solved=false"]
    assert found("solved", solved=True, budget=["eval.stop_when_solved=false"]) == []
