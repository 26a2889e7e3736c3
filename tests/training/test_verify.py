"""`--verify` proves what it says, and notices what is not so."""

import numpy as np
import pytest

from spotter.envs.grade import Grade
from spotter.rundir.run import Run
from spotter.training.resume import fork, resume
from spotter.training.run import train
from spotter.training.training import Training
from spotter.training.verify import UPDATES, Cut, Proof, _differences, verify
from spotter.types import UserError

LONG = {"name": "ppo", "steps": 256}
"""Five rollouts lead every env past the steps that are replayed from its first reset."""
EXACT = Grade("exact", "a fresh env replayed 60 steps")
BOUNDARY = Grade("episode boundary", "a fresh env diverged")


def test_a_kill_and_a_resume_change_nothing(make_config):
    config = make_config("CartPole-v1", LONG, budget={"env_steps": 40_000}, eval={"episodes": 2})
    proof = verify(config)
    assert proof.holds, proof.differences
    assert proof.rows == proof.cut.updates + UPDATES
    assert proof.cut.in_episode and not proof.cut.seeded
    assert "kill -9 in the middle of episodes" in proof.lines()[0]
    assert "bit for bit" in proof.lines()[1]
    assert proof.lines()[-1].startswith("resume grade: exact (")


def test_what_a_policy_remembers_survives_the_kill(make_config):
    memory = {"policy": {"core": "lstm"}}
    config = make_config("CartPole-v1", LONG, **memory, budget={"env_steps": 30_000})
    proof = verify(config)
    assert proof.holds, proof.differences
    assert proof.cut.in_episode and not proof.cut.seeded


def test_a_run_that_exists_is_verified_from_where_it_is(make_config):
    config = make_config("CartPole-v1", budget={"env_steps": 300}, video={"when": None})
    result = train(config, new_run=lambda: Run.create(config, "x"))
    before = sorted(path.name for path in result.run.folder.iterdir())
    origin = resume(result.run.id, ["budget.env_steps=700"])
    proof = verify(origin.config, origin)
    assert proof.holds, proof.differences
    assert proof.cut.updates == 3, "half of the budget that was left"
    assert "4 of 4 envs were replayed from their first, seeded reset" in proof.lines()[2]
    assert sorted(path.name for path in result.run.folder.iterdir()) == before
    with pytest.raises(UserError, match="does not go with --from"):
        verify(config, fork(result.run.id))


@pytest.mark.parametrize("env_id", ["Stacking-v0", "StackingLater-v0"])
def test_an_environment_that_cannot_be_replayed_is_found_out(make_config, env_id):
    """Its pieces hide where no snapshot reaches, and can be replayed from a seed only."""
    env_id = f"tests.envs.falling:{env_id}"
    proof = verify(make_config(env_id, LONG, budget={"env_steps": 40_000}))
    assert proof.differences and not proof.holds
    assert proof.cut.in_episode and not proof.cut.seeded
    first, count, grade = proof.lines()
    assert first.startswith("not exact: ")
    assert f"metrics/{proof.cut.updates}/" in count, "the first row after the kill"
    is_exact = "Later" in env_id  # the quick trial ends before pieces are hidden
    assert grade.startswith(f"resume grade: {'exact' if is_exact else 'episode boundary'} (")
    assert grade.endswith("that short trial did not find what differs here") == is_exact


def test_no_luck_makes_an_episode_boundary_exact():
    proof = Proof(8, (), BOUNDARY, Cut(4, 4, 0, in_episode=False))
    assert not proof.holds
    assert proof.lines() == [
        "not proved: 8 updates at once equal 4, kill -9 between episodes and 4 more, "
        "but other kills will not come out so",
        "resume grade: episode boundary (a fresh env diverged)",
    ]


def test_a_run_resumes_at_episode_boundaries_where_that_is_its_grade(make_config):
    """Even where the observation after a replay happens to be the same."""
    config = make_config("CartPole-v1", video={"when": None}, budget={"env_steps": 256})
    origin = resume(train(config, new_run=lambda: Run.create(config, "x")).run.id,
                    ["budget.env_steps=512"])  # fmt: skip
    for grade, begun in ((EXACT, []), (BOUNDARY, [0, 1, 2, 3])):
        with Training(origin.config, origin.saved.env_steps) as training:
            state = origin.training_state(grade)
            assert training.restore(origin.saved.weights, state) == begun


@pytest.mark.parametrize(
    ("a", "b", "paths"),
    [
        ({"x": 1.0}, {"x": 1.0}, []),
        ({"x": 1.0}, {"x": 1}, ["x"]),
        ({"x": float("nan")}, {"x": float("nan")}, []),
        ({"x": [1, {"y": 2}]}, {"x": [1, {"y": 3}]}, ["x/1/y"]),
        ({"x": np.zeros(2)}, {"x": np.zeros(2, np.float32)}, ["x"]),
        ({"x": np.array([0.0])}, {"x": np.array([-0.0])}, ["x"]),
        ({"time/fps": 1.0}, {"time/fps": 2.0}, []),
        ({"recorder": {"train_s": 1.0}}, {"recorder": {"train_s": 2.0}}, []),
        (
            {"recorder": {"train_steps": 1}},
            {"recorder": {"train_steps": 2}},
            ["recorder/train_steps"],
        ),
        ({"x": 1}, {}, ["x"]),
    ],
)
def test_differences_are_found_to_the_last_bit(a, b, paths):
    assert list(_differences(a, b, "")) == paths
