"""The process back-end beside its reference. What happens when something fails: test_faults.py."""

import os
import signal

import numpy as np
import pytest

from spotter.envs.backends.slices import EnvError
from spotter.types import UserError
from tests.envs.helpers import config, vector, zeros

STREAMS = {
    "CartPole": config("CartPole-v1", "classic"),
    "LunarLander": config("LunarLander-v3", "box2d"),
    "Taxi": config("Taxi-v4", "toy_text"),
    "dict": config("Scripted-v0", kwargs={"nested": True, "reuses_array": True}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_both_backends_give_the_same_stream_bit_for_bit(name):
    with vector(STREAMS[name], "sync") as a, vector(STREAMS[name], "process", workers=2) as b:
        draw = np.random.default_rng(3)
        a.reset([1, 2, 3])
        b.reset([1, 2, 3])
        assert (a.buffers.mask is not None) == (name == "Taxi")
        ended = 0
        for _ in range(200):
            same_buffers(a.buffers, b.buffers)
            action = some_action(a, draw)
            episodes = a.step(action)
            assert episodes == b.step(action)
            ended += len(episodes)
        same_buffers(a.buffers, b.buffers)
        assert ended > 0 or name == "Taxi"


def some_action(vec, draw):
    if vec.buffers.mask is None:
        return draw.integers(0, vec.spaces.action.nvec[0], vec.count)
    return np.array([draw.choice(np.flatnonzero(row)) for row in vec.buffers.mask])


def same_buffers(a, b):
    for group in ("obs", "final_obs"):
        for leaf, array in getattr(a, group).items():
            assert (array == getattr(b, group)[leaf]).all()
    for name in ("reward", "terminated", "truncated"):
        assert (getattr(a, name) == getattr(b, name)).all()
    if a.mask is not None:
        assert (a.mask == b.mask).all()


def test_a_worker_killed_between_two_steps_is_reported_by_the_next():
    with vector(config("CartPole-v1", restarts=0), "process", count=1) as vec:
        vec.reset([1])
        (worker,) = vec._workers
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(60)
        for _ in range(2):
            with pytest.raises(EnvError, match=r"died with exit code -9 \(SIGKILL\); env 0"):
                vec.step(zeros(vec))


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_workers_leave_signals_to_their_parent():
    """They reach the whole group; what they mean is the parent's business."""
    with vector(config("CartPole-v1"), "process", count=1) as vec:
        vec.reset([1])
        before = vec.buffers.obs["obs"].copy()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(vec._workers[0].pid, number)
        vec.step(zeros(vec))
        assert (vec.buffers.obs["obs"] != before).any()
        assert vec._workers[0].is_alive()


def test_buffers_can_be_read_after_close():
    vec = vector(config("CartPole-v1"), "process", count=1)
    buffers = vec.reset([1])
    before = buffers.obs["obs"].copy()
    vec.close()
    vec.close()
    assert (buffers.obs["obs"] == before).all()


def test_a_users_mistake_is_told_before_any_worker_starts():
    with pytest.raises(UserError, match="unknown environment 'CartPoll-v1'"):
        vector(config("CartPoll-v1"), "process")


def test_more_workers_than_copies_start_only_as_many():
    with vector(config("CartPole-v1"), "process", count=1, workers=4) as vec:
        assert len(vec.threads()) == 1
