"""Copies in threads keep the contract of every back-end and equal copies in one loop."""

import os
import signal
import threading

import numpy as np
import pytest

from spotter.config import RewardConfig
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.slices import EnvError
from spotter.envs.families import vizdoom
from spotter.envs.games.doom.threads import thread_vector
from spotter.envs.make import EnvBuilder
from spotter.testing import backends
from spotter.types import UserError
from tests.envs.families.test_vizdoom_process import children
from tests.envs.helpers import config

SEEDS = (11, 22, 33)
CHECKS = [name for name in dir(backends) if name.startswith("check_") and name != "check_backend"]


def threaded(env, count, threads=2):
    return thread_vector(EnvBuilder(env).build, count, env.restarts, env.timeout_s, threads)


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    getattr(backends, check)(threaded)


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_contract_with_other_numbers_of_threads(threads):
    backends.check_transitions(lambda env, count: threaded(env, count, threads))


def doom(name="Basic", **settings):
    settings = {"stack": 2, **settings}
    return vizdoom.Config(id=f"VizDoom/{name}", family="vizdoom", **settings)


@pytest.mark.parametrize(
    ("env", "parts"),
    [
        (doom(tic_cap=60), ()),
        (
            doom("DeadlyCorridor", actions="groups", variables=["health"], tic_cap=60),
            ("ammo", "distance"),
        ),
    ],
    ids=["plain", "groups, variables and signals"],
)
def test_equals_single_copies_step_by_step(env, parts):
    pytest.importorskip("vizdoom")
    parts = [{"name": part, "source": "doom", "what": part} for part in parts]
    recipe = EnvBuilder(env, RewardConfig(signals=parts).signals)
    with thread_vector(recipe.build, 2, threads=2) as ours, LocalVector(recipe.build, 2) as truth:
        assert ours.spaces == truth.spaces and ours.signal_kinds == truth.signal_kinds
        ours.reset(SEEDS[:2])
        truth.reset(SEEDS[:2])
        draw, ended, nvec = np.random.default_rng(0), 0, truth.spaces.action.nvec
        for _ in range(45):
            same_buffers(ours.buffers, truth.buffers)
            action = draw.integers(0, nvec, (2, len(nvec))).reshape(truth.buffers.action.shape)
            episodes = truth.step(action)
            assert ours.step(action) == episodes
            ended += len(episodes)
        same_buffers(ours.buffers, truth.buffers)
        assert ended >= 4


def same_buffers(a, b):
    ended = b.terminated | b.truncated
    for leaf in b.obs:
        assert (a.obs[leaf] == b.obs[leaf]).all()
        assert (a.final_obs[leaf][ended] == b.final_obs[leaf][ended]).all()
    for name in ("reward", "terminated", "truncated", "signals"):
        assert (getattr(a, name) == getattr(b, name)).all(), name


def test_resting_copies_and_tapes_work_with_games():
    """What ale-py's own vector cannot do: copies that stand still, and going back."""
    pytest.importorskip("vizdoom")
    env = doom("DefendTheCenter", variables=["angle"])
    with threaded(env, 2) as vector:
        vector.reset(SEEDS[:2])
        only_first = np.array([True, False])
        for _ in range(5):
            vector.step(np.array([1, 1]), only_first)
        turned = vector.buffers.obs["variables"][:, 0]
        assert turned[0] > 0 and turned[1] == 0
        there = vector.buffers.obs["picture"].copy()
        replay_logs = vector.replay_logs()
        vector.reset((1, 2))
        assert vector.replay(replay_logs).all()
        assert (vector.buffers.obs["picture"] == there).all()


def test_a_game_that_dies_is_replaced():
    pytest.importorskip("vizdoom")
    with threaded(doom(restarts=1), 2) as vector:
        vector.reset(SEEDS[:2])
        before = children()
        os.kill(before[0], signal.SIGKILL)
        vector.step(np.array([0, 0]))
        assert vector.buffers.lost.sum() == 1
        (fault,) = vector.take_faults()
        assert fault.kind == "raised" and "ViZDoom" in fault.text
        vector.step(np.array([0, 0]))
        assert not vector.buffers.lost.any() and (vector.buffers.reward == -4).all()
        os.kill(children()[0], signal.SIGKILL)
        with pytest.raises(EnvError, match="environment "):
            vector.step(np.array([0, 0]))
    assert not children()


def test_mistakes_in_a_config_come_through_as_they_are():
    pytest.importorskip("vizdoom")
    with pytest.raises(UserError, match="did you mean 'ATTACK'"):
        threaded(doom(buttons=["ATACK"]), 2)


def test_threads_end_with_the_vector():
    before = threading.active_count()
    with threaded(config("CartPole-v1"), 3) as vector:
        vector.reset(SEEDS)
        assert threading.active_count() > before
    assert threading.active_count() == before or _only_watchdogs_left()


def _only_watchdogs_left():
    return not any("spotter envs" in thread.name for thread in threading.enumerate())
