"""`--verify` proves what it says, and notices what is not so."""

import numpy as np
import pytest

from spotter.origins import fork, resume
from spotter.rundir.run import Run
from spotter.training import train
from spotter.types import UserError
from spotter.verify import _differences, verify


def test_a_kill_and_a_resume_change_nothing(make_config):
    config = make_config("CartPole-v1", eval={"every_steps": 128, "episodes": 2})
    proof = verify(config)
    assert proof.holds, proof.differences
    assert proof.rows == 8
    assert "bit for bit" in proof.lines()[1]


def test_a_run_that_exists_is_verified_from_where_it_is(make_config):
    config = make_config("CartPole-v1", budget={"env_steps": 300}, video={"when": None})
    result = train(config, new_run=lambda: Run.create(config, "x"))
    before = sorted(path.name for path in result.run.folder.iterdir())
    origin = resume(result.run.id, ["budget.env_steps=3000"])
    proof = verify(origin.config, origin)
    assert proof.holds, proof.differences
    assert sorted(path.name for path in result.run.folder.iterdir()) == before
    with pytest.raises(UserError, match="does not go with --from"):
        verify(config, fork(result.run.id))


def test_an_environment_that_cannot_be_replayed_is_found_out(make_config):
    """Its state hides where no snapshot reaches: the proof must fail."""
    config = make_config("tests.envs.forgetful:Forgetful-v0")
    proof = verify(config)
    assert not proof.holds
    assert "not exact" in proof.lines()[0]
    assert "episode boundary" in proof.lines()[1]


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
        ({"x": 1}, {}, ["x"]),
    ],
)
def test_differences_are_found_to_the_last_bit(a, b, paths):
    assert list(_differences(a, b, "")) == paths
