"""`spotter blackbox`: what it prints, and its exit codes."""

import numpy as np
import pytest

from spotter.envs.make import make_vector
from spotter.testing.scripted import FAULTY_ID
from spotter.training import blackbox


@pytest.fixture
def box(make_config, tmp_path):
    env = {"id": FAULTY_ID, "count": 1, "kwargs": {"seed": 5, "step": 2, "lengths": [4]}}
    config = make_config(FAULTY_ID, env=env)
    with make_vector(config.env, config.reward) as vector:
        vector.reset([5])
        vector.step(np.array([1]))
        vector.step(np.array([2]))
        (fault,) = vector.take_faults()
    return blackbox.write(tmp_path / "blackbox", fault, config)


def test_a_reproduced_failure_is_0(spotter, box):
    ran = spotter("blackbox", str(box))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "step 1: action 1, reward 1\nstep 2: action 2\nit raised RuntimeError again at step 2\n"
    )


def test_one_that_does_not_happen_again_is_1(spotter, box):
    path = box / "fault.json"
    path.write_text(path.read_text().replace("RuntimeError: the", "KeyError: the"))
    ran = spotter("blackbox", str(box))
    assert ran.code == 1
    assert "it raised RuntimeError at step 2 of 2; at the time, environment 0" in ran.out


def test_mistakes_are_one_sentence(spotter, box, tmp_path):
    ran = spotter("blackbox", str(tmp_path))
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "is no black box: there is no fault.json in it" in ran.err
    ran = spotter("blackbox", str(box), "--timeout", "soon")
    assert ran.code == 2
    assert ran.err == "spotter: --timeout should be a number of seconds above 0, got 'soon'\n"
