"""Black boxes: written for every kind of failure, and played again in a process of their own."""

import json
import signal

import numpy as np
import pytest

from spotter.envs.backends.slices import EnvError
from spotter.envs.make import make_vector
from spotter.testing.scripted import FAULTY_ID
from spotter.training import blackbox
from spotter.types import Fault, ReplayLog, UserError

SEEDS = (11, 22, 33)
STEPS = 7  # the second step of the third episode


def failing(make_config, failure, backend="sync", **env):
    point = {"seed": 22, "episode": 2, "step": 2, "lengths": [3, 2, 4]}
    workers = 2 if backend == "process" else None
    timeout_s = 1.0 if failure == "hangs" else 60.0
    settings = {"count": 3, "backend": backend, "workers": workers, "timeout_s": timeout_s, **env}
    return make_config(
        FAULTY_ID, env={"id": FAULTY_ID, "kwargs": {"failure": failure, **point}, **settings}
    )


def the_fault(config):
    """Of a vector that is stepped until it happens."""
    with make_vector(config.env, config.reward) as vector:
        vector.reset(SEEDS)
        for step in range(STEPS):
            vector.step(np.full(3, step % 3))
        (fault,) = vector.take_faults()
    return fault


def test_a_box_holds_what_happened(make_config, tmp_path):
    config = failing(make_config, "raises")
    fault = the_fault(config)
    boxes = [blackbox.write(tmp_path / "blackbox", fault, config) for _ in range(2)]
    assert [box.name for box in boxes] == ["001-copy1-raised", "002-copy1-raised"]
    assert {path.name for path in boxes[0].iterdir()} == {
        "fault.json",
        "traceback.txt",
        "README.txt",
    }
    assert f"spotter blackbox {boxes[0]}" in (boxes[0] / "README.txt").read_text()
    text = (boxes[0] / "traceback.txt").read_text()
    assert "environment 1 (seed 22" in text and 'raise RuntimeError("the wheels' in text
    read = blackbox.read(boxes[0])
    assert read.config == config and read.training
    assert (read.fault.env, read.fault.kind, read.fault.text) == (1, "raised", fault.text)
    assert [int(action) for action in read.fault.replay_log.actions] == [0, 1, 2, 0, 1, 2, 0]
    assert read.fault.replay_log.seed == fault.replay_log.seed == 22
    assert json.loads((boxes[0] / "fault.json").read_text())["fault"]["versions"]["numpy"]


@pytest.mark.parametrize(
    ("failure", "backend", "again"),
    [
        ("raises", "sync", "it raised RuntimeError again at step 7"),
        ("nan reward", "sync", "it returned what is not finite again at step 7"),
        (
            "crashes",
            "process",
            f"it died with exit code {-signal.SIGSEGV} (SIGSEGV) again at step 7",
        ),
        ("hangs", "process", "it did not return for 2 s again at step 7"),
    ],
)
def test_a_failure_is_reproduced(make_config, tmp_path, failure, backend, again):
    config = failing(make_config, failure, backend)
    box = blackbox.write(tmp_path, the_fault(config), config)
    said = []
    verdict = blackbox.replay(box, 2.0 if failure == "hangs" else 60.0, said.append)
    assert verdict == blackbox.Verdict(True, again), verdict.sentence
    assert said[:2] == ["step 1: action 0, reward 1", "step 2: action 1, reward 2"]
    assert said[-1] == "step 7: action 0"


def test_a_failure_that_does_not_happen_again_is_told(make_config, tmp_path):
    config = failing(make_config, "raises")
    fault = the_fault(config)
    sane = failing(make_config, "raises", kwargs={"seed": 99, "lengths": [3, 2, 4]})
    box = blackbox.write(tmp_path, fault, sane)
    # the tape brings its own attributes along, so the old point to fail at has to go from it
    data = json.loads((box / "fault.json").read_text())
    data["fault"]["tape"]["start"]["layers"][-1]["values"]["bad_seed"] = 99
    (box / "fault.json").write_text(json.dumps(data))
    verdict = blackbox.replay(box, say=lambda line: None)
    assert not verdict.reproduced
    assert verdict.sentence.startswith("nothing failed in 7 steps; at the time, environment 1")


def test_another_failure_is_not_the_same(make_config, tmp_path):
    """At another step, or of another kind."""
    config = failing(make_config, "raises")
    fault = the_fault(config)
    replay_log = ReplayLog(
        fault.replay_log.start, fault.replay_log.seed, (*fault.replay_log.actions, np.array(1))
    )
    late = Fault(1, "raised", fault.text, "", replay_log)
    box = blackbox.write(tmp_path, late, config)
    verdict = blackbox.replay(box, say=lambda line: None)
    assert not verdict.reproduced
    assert verdict.sentence.startswith("it raised RuntimeError at step 7 of 8; at the time, env")


def test_the_last_straw_can_be_boxed_as_well(make_config, tmp_path):
    config = failing(make_config, "raises", restarts=0)
    with pytest.raises(EnvError) as caught:
        the_fault(config)
    box = blackbox.write(tmp_path, caught.value.fault, config)
    assert len(blackbox.read(box).fault.replay_log.actions) == STEPS


def test_a_failure_in_the_first_reset(make_config, tmp_path):
    env = {"seed": 22, "episode": 0, "step": 0, "failure": "raises"}
    config = make_config(FAULTY_ID, env={"id": FAULTY_ID, "kwargs": env})
    box = blackbox.write(
        tmp_path, Fault(1, "raised", ") raised RuntimeError: x", "", ReplayLog({}, 22, ())), config
    )
    verdict = blackbox.replay(box, say=lambda line: None)
    assert verdict == blackbox.Verdict(True, "it raised RuntimeError again at step 0")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: data.clear(), "cannot be read: KeyError"),
        (lambda data: data.update(format=99), "has format 99; update Spotter"),
        (lambda data: data["fault"].update(tape=[]), "cannot be read"),
        (lambda data: data["fault"]["tape"].update(start={"$pickle": "gA=="}), "cannot be read"),
        (lambda data: next(iter(data["arrays"].values())).update(dtype="O"), "cannot be read"),
        (lambda data: data["arrays"].clear(), "cannot be read"),
        (lambda data: data["fault"]["config"]["env"].update(count="many"), "env.count"),
    ],
)
def test_a_spoilt_box_is_refused_in_one_sentence(make_config, tmp_path, spoil, sentence):
    config = failing(make_config, "raises")
    box = blackbox.write(tmp_path, the_fault(config), config)
    data = json.loads((box / "fault.json").read_text())
    spoil(data)
    (box / "fault.json").write_text(json.dumps(data))
    with pytest.raises(UserError) as caught:
        blackbox.read(box)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_a_box_without_a_tape_says_so(make_config, tmp_path):
    config = failing(make_config, "raises")
    for replay_log in (None, ReplayLog({}, None, ())):
        box = blackbox.write(tmp_path, Fault(0, "died", "gone", "", replay_log), config)
        with pytest.raises(UserError, match="holds no replay log"):
            blackbox.replay(box)
