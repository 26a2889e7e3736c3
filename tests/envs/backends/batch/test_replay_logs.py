"""Copies go on where others stood, bit for bit, whichever back-end either of them has."""

from dataclasses import replace

import numpy as np
import pytest

from spotter.types import ReplayLog
from tests.envs.backends.batch.helpers import (
    Player,
    assert_same,
    batch,
    config,
    step_both,
    sync,
    written_and_read,
)

IDS = ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1", "FrozenLake-v1", "Taxi-v4"]
SEEDS = (3, 1, 2)


@pytest.mark.parametrize(
    ("recorded", "played"), [(batch, batch), (batch, sync), (sync, batch)], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("steps", [7, 1300])
@pytest.mark.parametrize("env_id", [*IDS, "Bandit-v0", "Acrobot-v1", "LunarLander-v3"])
def test_others_go_on_from_a_tape(env_id, steps, recorded, played):
    """1300 steps are more than one tape: it then begins within a random stream."""
    steps = min(steps, 300) if env_id == "Acrobot-v1" else steps
    env = config(env_id, time_limit=25)
    player = Player(env)
    with recorded(env, 3) as first, played(env, 3) as second:
        first.reset(SEEDS)
        for _ in range(steps):
            first.step(player.act(first))
        replay_logs = [written_and_read(replay_log) for replay_log in first.replay_logs()]
        assert any(replay_log.seed is None for replay_log in replay_logs) == (steps > 1000)
        second.reset((7, 8, 9))
        second.step(player.act(second))
        for _ in range(2):  # what was played to a point can be played to it again
            assert second.replay(replay_logs).all()
            assert not second.buffers.reward.any() and not second.buffers.terminated.any()
            for path, leaf in first.buffers.obs.items():
                assert leaf.tobytes() == second.buffers.obs[path].tobytes()
        step_both(first, second, player, 60)
        for a, b in zip(first.replay_logs(), second.replay_logs(), strict=True):
            assert a.seed == b.seed and np.array_equal(a.actions, b.actions)


def test_both_backends_keep_tapes_of_the_same_length():
    env = config("FrozenLake-v1")
    with sync(env, 3) as first, batch(env, 3) as second:
        first.reset(SEEDS)
        second.reset(SEEDS)
        for _ in range(3):
            step_both(first, second, Player(env), 450)
            lengths = [[len(t.actions) for t in vector.replay_logs()] for vector in (first, second)]
            assert lengths[0] == lengths[1]
            assert [t.seed for t in first.replay_logs()] == [t.seed for t in second.replay_logs()]


def test_a_tape_with_resting_copies_holds_only_their_own_steps():
    env = config("CartPole-v1")
    with batch(env, 3) as first, batch(env, 3) as second:
        first.reset(SEEDS)
        player = Player(env)
        for _ in range(40):
            first.step(player.act(first), player.rest(3))
        assert len({len(replay_log.actions) for replay_log in first.replay_logs()}) > 1
        assert second.replay(first.replay_logs()).all()
        step_both(first, second, player, 40)


def test_begin_anew_starts_a_new_tape_of_the_same_stream():
    env = config("CartPole-v1")
    with batch(env, 2) as first, sync(env, 2) as second:
        first.reset((1, 2))
        second.reset((1, 2))
        step_both(first, second, Player(env), 10)
        first.begin_again()
        second.begin_again()
        assert [(replay_log.seed, replay_log.actions) for replay_log in first.replay_logs()] == [
            (None, ())
        ] * 2
        episodes = step_both(first, second, Player(env), 100)
        assert min(episode.length for episode in episodes) > 7, "lengths count from the new start"


def test_unknown_tapes():
    """A tape without a beginning starts a new episode; one with a seed alone starts at the seed."""
    env = config("CartPole-v1")
    replay_logs = [
        ReplayLog({}, 77, ()),
        ReplayLog({}, None, ()),
        ReplayLog({}, 88, (np.array(1), np.array(0))),
    ]
    with batch(env, 3) as first, sync(env, 3) as second:
        first.reset(SEEDS)
        second.reset(SEEDS)
        arrived = [vector.replay(replay_logs).tolist() for vector in (first, second)]
        assert arrived == [[True, False, True]] * 2
        assert_same(first, second)
        assert not first.take_faults()
        step_both(first, second, Player(env), 30)


def _spoil(replay_log: ReplayLog, how: str) -> ReplayLog:
    start = {**replay_log.start, "layers": [dict(layer) for layer in replay_log.start["layers"]]}
    if how == "another game":
        start["layers"][-1]["class"] = "AcrobotEnv"
    elif how == "no stream":
        start["layers"][-1]["streams"] = {}
    elif how == "another stream":
        state = np.random.Philox(1).state
        start["layers"][-1]["streams"] = {"_np_random": {"kind": "Generator", "state": state}}
    actions = {"no such action": (np.array(2),), "action of another shape": (np.zeros((3, 2)),)}
    return replace(replay_log, start=start, actions=actions.get(how, replay_log.actions))


@pytest.mark.parametrize(
    "how",
    ["another game", "no stream", "another stream", "no such action", "action of another shape"],
)
def test_a_spoilt_tape_begins_a_new_episode(how):
    env = config("CartPole-v1")
    with batch(env, 2) as first, batch(env, 2) as second:
        first.reset((1, 2))
        first.begin_again()
        good = first.replay_logs()
        assert second.replay([_spoil(good[0], how), good[1]]).tolist() == [False, True]
        assert np.abs(second.buffers.obs["obs"][0]).max() <= 0.05, "the beginning of an episode"
        assert (second.buffers.obs["obs"][1] == first.buffers.obs["obs"][1]).all()
        assert second.replay_logs()[0].seed is not None
        second.step(np.zeros(2, dtype=np.int64))
