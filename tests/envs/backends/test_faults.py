"""Environments that raise, return nan, hang or take their process along; in real processes.

tests/conformance holds what every back-end must do; here are the ways to fail, one by one.
"""

import signal
import threading
import time

import numpy as np
import pytest

from spotter.config import RewardConfig
from spotter.envs.backends.logbook import next_seed
from spotter.envs.backends.slices import EnvError
from spotter.envs.make import make_vector
from spotter.testing.scripted import EXIT_CODE
from tests.envs.helpers import both_backends, config, vector, zeros

SEEDS = [11, 22, 33]
SEGFAULT = f"exit code {-signal.SIGSEGV} (SIGSEGV)"


def faulty(failure, restarts=1, **kwargs):
    """In the second step of the copy with seed 22, unless told otherwise."""
    point = {"seed": 22, "step": 2, "lengths": [4], **kwargs}
    timeout_s = 1.0 if failure == "hangs" else 60.0
    point["failure"] = failure
    return config("Faulty-v0", kwargs=point, restarts=restarts, timeout_s=timeout_s)


def fresh(seed):
    """The seed after this one, as an observation of 32-bit numbers shows it."""
    return int(np.float32(next_seed(seed)))


def shown(vec):
    return vec.buffers.obs["obs"].astype(int).tolist()


@both_backends
@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        ("raises", "raised", "raised RuntimeError: the wheels came off"),
        ("nan reward", "not finite", "returned a reward of nan"),
        ("nan observation", "not finite", "returned an observation with inf at place 0 of obs"),
    ],
)
def test_a_failing_copy_is_replaced_and_the_others_play_on(backend, failure, kind, words):
    with vector(faulty(failure), backend, workers=2) as vec:
        vec.reset(SEEDS)
        vec.step(zeros(vec))
        vec.step(zeros(vec))
        new = fresh(22)
        assert shown(vec) == [[11, 0, 2, 0], [new, 0, 0, -1], [33, 0, 2, 0]]
        assert vec.buffers.lost.tolist() == [False, True, False]
        assert vec.buffers.reward.tolist() == [2, 0, 2]
        (fault,) = vec.take_faults()
        assert (fault.env, fault.kind) == (1, kind)
        assert fault.text.startswith("environment 1 (seed 22, ") and words in fault.text
        assert len(fault.replay_log.actions) == 2 and fault.replay_log.seed == 22
        vec.step(zeros(vec))
        assert shown(vec) == [[11, 0, 3, 0], [new, 0, 1, 0], [33, 0, 3, 0]]
        assert not vec.buffers.lost.any()


@both_backends
@pytest.mark.parametrize("failure", ["raises", "nan observation"])
def test_an_episode_that_ends_badly_is_not_reported(backend, failure):
    """In the last step, and in the reset that follows it."""
    for point in ({"step": 4}, {"episode": 1, "step": 0}):
        with vector(faulty(failure, **point), backend) as vec:
            vec.reset(SEEDS)
            ended = [vec.step(zeros(vec)) for _ in range(4)][-1]
            assert [episode.env for episode in ended] == [0, 2]
            assert vec.buffers.lost.tolist() == [False, True, False]
            assert vec.buffers.terminated.tolist() == [True, False, True]
            assert shown(vec)[1] == [fresh(22), 0, 0, -1]
            assert len(vec.take_faults()) == 1


@both_backends
def test_a_copy_that_fails_in_its_first_reset_gets_another_seed(backend):
    with vector(faulty("raises", step=0), backend) as vec:
        vec.reset(SEEDS)
        assert shown(vec)[1] == [fresh(22), 0, 0, -1]
        assert not vec.buffers.lost.any(), "nothing was lost: nothing had been done"
        assert [fault.env for fault in vec.take_faults()] == [1]


@both_backends
def test_without_restarts_the_first_failure_ends_it(backend):
    with vector(faulty("raises", restarts=0, seed=33, step=3), backend, workers=2) as vec:
        vec.reset(SEEDS)
        for action in ([0, 0, 1], [0, 0, 0]):
            vec.step(np.array(action))
        with pytest.raises(EnvError) as caught:
            vec.step(np.array([0, 0, 1]))
    text = str(caught.value)
    assert "environment 2 (seed 33, 2 steps into its episode" in text
    assert "last actions [1, 0, 1]" in text
    assert "RuntimeError: the wheels came off" in text
    assert "in _spoilt" in text, "the traceback leads into the environment's own code"
    assert [int(action) for action in caught.value.fault.replay_log.actions] == [1, 0, 1]


def test_a_copy_that_cannot_be_replaced_uses_up_the_restarts():
    def broken():
        raise OSError("no parts left")

    with vector(faulty("raises", restarts=3)) as vec:
        vec.reset(SEEDS)
        vec.step(zeros(vec))
        vec._slices[0]._build = broken
        with pytest.raises(
            EnvError, match=r"0 steps into its episode, last actions \[\]\) raised OSE"
        ):
            vec.step(zeros(vec))
        words = [fault.text.rpartition(": ")[2] for fault in vec.take_faults()]
        assert words == ["the wheels came off", *["no parts left"] * 3]


@both_backends
def test_the_limit_counts_all_copies(backend):
    with vector(faulty("raises", restarts=2, seed=None), backend, workers=2) as vec:
        vec.reset(SEEDS)
        vec.step(zeros(vec))
        with pytest.raises(EnvError):
            vec.step(zeros(vec))


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        ("crashes", "died", f"died with {SEGFAULT}"),
        ("exits", "died", f"died with exit code {EXIT_CODE}"),
        ("hangs", "hung", "has not answered for 1 s"),
    ],
)
def test_a_lost_worker_is_replaced_with_all_its_copies(failure, kind, words):
    with vector(faulty(failure), "process", workers=2) as vec:
        vec.reset(SEEDS)
        vec.step(np.array([0, 1, 0]))
        began = time.monotonic()
        assert vec.step(zeros(vec)) == []
        assert time.monotonic() - began < 120
        assert shown(vec) == [[11, 0, 2, 0], [fresh(22), 0, 0, -1], [fresh(33), 0, 0, -1]]
        assert vec.buffers.lost.tolist() == [False, True, True]
        assert vec.buffers.reward.tolist() == [2, 0, 0]
        (fault,) = vec.take_faults()
        assert (fault.env, fault.kind) == (1, kind)
        assert fault.text == (
            f"worker 1 (envs 1 to 2) {words}; env 1 (seed 22, last actions [1, 0]) was in step()"
        )
        assert fault.replay_log.seed == 22 and fault.replay_log.start["layers"]
        assert [int(action) for action in fault.replay_log.actions] == [1, 0]
        vec.step(zeros(vec))
        assert not vec.buffers.lost.any()
        assert shown(vec)[1] == [fresh(22), 0, 1, 0]
        assert vec.threads() == [1, 1]


def test_a_worker_that_dies_too_often_ends_it():
    env = faulty("exits", restarts=1, seed=None)
    with vector(env, "process", count=1) as vec:
        vec.reset([11])
        vec.step(zeros(vec))
        vec.step(zeros(vec))
        assert vec.buffers.lost.all()
        vec.step(zeros(vec))
        with pytest.raises(EnvError, match=r"worker 0 \(env 0\) died with exit code"):
            vec.step(zeros(vec))
        assert len(vec.take_faults()) == 2


def test_a_worker_lost_while_playing_tapes_begins_new_episodes():
    env = faulty("exits", restarts=1)
    with vector(env, "process", workers=2) as vec:
        vec.reset(SEEDS)
        vec.step(zeros(vec))
        replay_logs = vec.replay_logs()
        replay_logs[1] = type(replay_logs[1])(
            replay_logs[1].start, replay_logs[1].seed, replay_logs[1].actions * 2
        )
        assert vec.replay(replay_logs).tolist() == [True, False, False]
        assert shown(vec)[0] == [11, 0, 1, 0]
        assert shown(vec)[1][1:] == shown(vec)[2][1:] == [0, 0, -1]
        assert not vec.buffers.lost.any()


@both_backends
def test_a_tape_that_raises_begins_a_new_episode(backend):
    with vector(faulty("raises"), backend) as vec:
        vec.reset(SEEDS)
        vec.step(zeros(vec))
        replay_logs = vec.replay_logs()
        replay_logs[1] = type(replay_logs[1])(
            replay_logs[1].start, replay_logs[1].seed, replay_logs[1].actions * 2
        )
        assert vec.replay(replay_logs).tolist() == [True, False, True]
        assert shown(vec) == [[11, 0, 1, 0], [fresh(22), 0, 0, -1], [33, 0, 1, 0]]
        assert not vec.take_faults(), "an old failure is no new one"


def test_signals_of_a_replacement_are_those_of_its_start():
    env = faulty("raises")
    reward = RewardConfig(signals=[{"source": "state_count", "low": [0] * 4, "high": [9] * 4}])
    with make_vector(env, reward, count=3) as vec:
        vec.reset(SEEDS)
        for _ in range(2):
            vec.step(zeros(vec))
        assert vec.buffers.lost[1]
        assert (vec.buffers.signals[1] == vec.buffers.signals_start[1]).all()
        assert (vec.buffers.signals[0] != vec.buffers.signals_start[0]).all()


def test_a_signal_that_is_no_number_is_a_fault():
    reward = RewardConfig(signals=[{"source": "info", "key": "half"}])
    with make_vector(config("Informed-v0", restarts=1), reward, count=2) as vec:
        vec.reset([1, 2])
        vec._slices[0].instances[1].meter.signals[0].step = lambda *_: float("nan")
        vec.step(zeros(vec))
        assert vec.buffers.lost.tolist() == [False, True]
        (fault,) = vec.take_faults()
        assert "gave reward signals of [nan]" in fault.text


def test_a_hang_in_this_process_is_named(capsys):
    """It cannot be cured, but somebody should know where it is."""
    told = threading.Event()
    sentences = []
    with vector(config("Faulty-v0", kwargs={"seed": 1}, timeout_s=0.1)) as vec:
        vec.note = lambda sentence: (sentences.append(sentence), told.set())
        vec.reset(SEEDS)
        game = vec._slices[0].instances[2].env.unwrapped
        step = game.step
        game.step = lambda action: (told.wait(60), step(action))[1]
        vec.step(zeros(vec))
    assert sentences == ["environment 2 has not returned from step() for 0.1 s"]
    assert capsys.readouterr().err == f"spotter: {sentences[0]}\n"


def test_the_first_reset_of_all_that_raises_is_an_environments_error():
    with pytest.raises(EnvError, match=r"environment 0 .* raised RuntimeError: the wheels"):
        vector(config("Faulty-v0", kwargs={"step": 0, "episode": 0}))
