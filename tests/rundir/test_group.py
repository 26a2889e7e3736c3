"""Named groups: seeds, names, members, and what they say together."""

import pytest

from spotter.rundir import group
from spotter.rundir.query import matching, row
from spotter.rundir.registry import listing
from spotter.rundir.run import Run, select
from spotter.types import UserError
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    make = maker(make_config)

    def grouped(name: str, seed: int, **how) -> Run:
        return make(config={"seed": seed}, group=name, **how)

    return grouped


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1-3", [1, 2, 3]), ("7", [7]), ("1,4,9", [1, 4, 9]), ("1-3, 2-4,8", [1, 2, 3, 4, 8])],
)
def test_seeds_are_ranges_and_lists(text, seeds):
    assert group.parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "5-1", "a", "1..3", "-1", "1,,2", "1-2-3"])
def test_seeds_that_are_none(text):
    with pytest.raises(UserError, match="like 1-5 or 1,4,9"):
        group.parse_seeds(text)


def test_far_too_many_seeds():
    with pytest.raises(UserError, match="more than 1000 seeds"):
        group.parse_seeds("1-999999999")


def test_the_name_follows_the_settings_but_not_the_seed(make_config):
    def name(**settings) -> str:
        return group.default_name("CartPole-v1:ppo", make_config("CartPole-v1", **settings))

    assert name(seed=1) == name(seed=2)
    assert name(seed=1).startswith("CartPole-v1-ppo-")
    assert name(seed=1) != name(budget={"env_steps": 7})
    config = make_config("CartPole-v1")
    for address in ("./3d/my recipe.yaml:x", "ALE/Pong-v5:ppo", "é" * 99, "1" * 99):
        assert group.check_name(group.default_name(address, config))


def test_a_name_that_is_taken_gets_a_number(make_run):
    make_run("g", 1)
    make_run("g-2", 1)
    assert group.unused_name("g", listing().infos) == "g-3"
    assert group.unused_name("h", listing().infos) == "h"


def test_runs_of_a_group_are_found_by_its_name(make_run):
    two, one = make_run("g", 2), make_run("g", 1)
    other = make_run("", 3)
    infos = listing().infos
    assert [info["id"] for info in group.members("g", infos)] == [one.id, two.id]
    assert group.members("", infos) == []
    assert {info["id"] for info in matching(infos, ["group=g"])} == {one.id, two.id}
    assert {info["id"] for info in matching(infos, ["g", "seed=2"])} == {two.id}
    assert row(one.info())["group"] == "g"
    assert group.select_all([other.id, "g", one.id]) == [
        select(run.id) for run in (other, one, two)
    ]
    with pytest.raises(UserError, match=r"'g' is a group of 2 runs; name one, such as"):
        select("g")


def test_a_finished_run_stands_for_its_seed(make_run):
    finished = make_run("g", 1)
    make_run("g", 1, status="interrupted")
    there = group.members("g", listing().infos)
    found = group.of_seed(1, there)
    assert found and found["id"] == finished.id
    assert group.of_seed(2, there) is None


def test_other_settings_are_another_group(make_run, make_config):
    run = make_run("g", 1)
    there = group.members("g", listing().infos)
    group.check_alike("g", make_config("CartPole-v1", seed=9), there)
    with pytest.raises(UserError, match=rf"another budget.env_steps \({run.id}\)"):
        group.check_alike("g", make_config("CartPole-v1", budget={"env_steps": 7}), there)


def test_other_weights_at_the_start_are_another_group(make_run, make_config):
    config = make_config("CartPole-v1")
    start = {"run": "a", "checkpoint": "step-000000256"}
    names = [group.default_name("X", config, one) for one in (None, start, start | {"run": "b"})]
    assert len(set(names)) == 3
    run = make_run("g", 1)
    there = group.members("g", listing().infos)
    with pytest.raises(UserError, match=rf"started with other weights \({run.id}\)"):
        group.check_alike("g", config, there, start)


def test_the_verdict_is_over_the_seeds_that_were_tested(make_run):
    make_run("g", 1, score=10.0, solved=False, threshold=15.0)
    make_run("g", 2, score=20.0, solved=True, threshold=15.0)
    make_run("g", 3, best=99.0, status="interrupted")
    found = group.verdict(group.members("g", listing().infos))
    assert found.score and found.score.mean == 15.0 and found.score.count == 2
    assert found.score.half is None, "an interval needs three"
    assert (found.seeds, found.solved, found.threshold) == ((1, 2), 1, 15.0)
    assert group.verdict([]).score is None
