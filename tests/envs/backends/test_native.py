"""ale-py's vector environment keeps our contract and equals single copies, bit for bit."""

import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.logbook import UNKNOWN
from spotter.envs.backends.native import NativeVector, reason_against
from spotter.envs.families.atari import Config
from spotter.envs.make import EnvBuilder
from spotter.types import UserError

pytest.importorskip("ale_py")

LIMIT = [{"name": "time_limit", "steps": 5, "train_only": True}]
SEEDS = (11, 2**31 - 5, 33, 44)


def atari(game, **settings):
    return Config(id=f"ALE/{game}-v5", family="atari", **settings)


def actions(vector, steps, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(0, vector.spaces.action.nvec[0], (steps, vector.count))


def plain(episodes):
    """Without `info`, which only single copies fill."""
    return [(e.env, e.score, e.length, e.terminated, e.reward) for e in episodes]


def check_same(first, second, taken):
    """One step of both; returns the episodes and how many rows ended."""
    a, b = first.buffers, second.buffers
    ours, theirs = first.step(taken), second.step(taken)
    assert plain(ours) == plain(theirs)
    for name in ("reward", "terminated", "truncated"):
        assert (getattr(a, name) == getattr(b, name)).all(), name
    assert (a.obs["obs"] == b.obs["obs"]).all()
    ended = a.terminated | a.truncated
    assert (a.final_obs["obs"][ended] == b.final_obs["obs"][ended]).all()
    return ours, int(ended.sum())


@pytest.mark.parametrize(
    ("env", "steps"),
    [
        (atari("Pong", time_limit=20), 50),
        (atari("Breakout"), 260),  # sticky actions, idle starts, the fire button
        (atari("Breakout", life_loss=True), 260),
        (atari("Breakout", frame_cap=102), 60),  # ends within a step
        (atari("Breakout", noops=0, fire=False, frame_skip=1, time_limit=30), 70),
        (atari("MsPacman", time_limit=20, pool=False, frame_skip=3, stack=2, size=(64, 84)), 50),
        (atari("SpaceInvaders", time_limit=15, full_actions=True), 40),
        (atari("Pong", time_limit=15, full_actions=True, noop_action=False, mask=False), 20),
        (atari("Pong", time_limit=15, noop_action=False, stack=1), 20),
        (atari("MsPacman", time_limit=15, grey=False, stack=3), 20),
        (atari("Seaquest", time_limit=15, grey=False, stack=1, pool=False), 20),
        (atari("Carnival", time_limit=15, size=None), 20),
        (atari("Breakout", time_limit=15, size=None, grey=False, stack=2), 20),
        (atari("Freeway", time_limit=15, full_actions=True), 20),  # its button does nothing
    ],
    ids=lambda value: value.id[4:-3] if isinstance(value, EnvConfig) else "",
)
def test_equals_single_copies_step_by_step(env, steps):
    with (
        NativeVector(env, RewardConfig(), 2) as ours,
        LocalVector(EnvBuilder(env).build, 2) as truth,
    ):
        assert ours.spaces == truth.spaces
        assert (ours.reset(SEEDS[:2]).obs["obs"] == truth.reset(SEEDS[:2]).obs["obs"]).all()
        masks = ours.buffers.mask, truth.buffers.mask
        assert np.array_equal(*masks) if env.full_actions and env.mask else masks == (None, None)
        episodes = ends = 0
        for taken in actions(ours, steps):
            new, ended = check_same(ours, truth, taken)
            episodes, ends = episodes + len(new), ends + ended
    assert episodes > 0, "nothing is proven about ends otherwise"
    assert (ends > episodes) == env.life_loss, "lost lives end no episode"


def test_p20_life_loss_is_left_out_in_evaluation():
    with NativeVector(atari("Breakout", life_loss=True), None, 2) as vector:
        vector.reset(SEEDS[:2])
        ends = episodes = 0
        for taken in actions(vector, 260):
            episodes += len(vector.step(taken))
            ends += int((vector.buffers.terminated | vector.buffers.truncated).sum())
        assert ends == episodes > 0


def test_p16_score_is_the_unclipped_sum():
    """MsPacman pays tens of points at once; clipping belongs to `reward.clip`."""
    with NativeVector(atari("MsPacman", time_limit=80), RewardConfig(clip=1.0), 2) as vector:
        vector.reset(SEEDS[:2])
        paid, episodes = np.zeros(2), []
        for taken in actions(vector, 80):
            episodes += vector.step(taken)
            paid += vector.buffers.reward
        assert [e.score for e in episodes] == paid.tolist() and max(paid) >= 10
        assert not any(e.terminated for e in episodes)


def test_copies_do_not_depend_on_their_neighbours():
    env = atari("Breakout")
    with NativeVector(env, None, 4) as four, NativeVector(env, None, 2) as two:
        taken = actions(four, 30)
        assert (four.reset(SEEDS).obs["obs"][2:] == two.reset(SEEDS[2:]).obs["obs"]).all()
        for row in taken:
            four.step(row)
            two.step(row[2:])
            assert (four.buffers.obs["obs"][2:] == two.buffers.obs["obs"]).all()


def test_halves_give_the_same_numbers_in_any_order():
    env = atari("Breakout", time_limit=20)
    with NativeVector(env, None, 4) as whole, NativeVector(env, None, 4, halves=2) as halved:
        whole.reset(SEEDS)
        halved.reset(SEEDS)
        for taken in actions(whole, 30):
            expected = whole.step(taken)
            halved.send(0, taken[:2])
            halved.send(1, taken[2:])
            before = halved.buffers.obs["obs"][:2].copy()
            second = halved.recv(1)
            assert (halved.buffers.obs["obs"][:2] == before).all(), "the other half is untouched"
            assert halved.recv(0) + second == expected
            assert (halved.buffers.obs["obs"] == whole.buffers.obs["obs"]).all()
            assert (halved.buffers.truncated == whole.buffers.truncated).all()


def test_same_seeds_same_numbers_after_another_reset():
    with NativeVector(atari("Breakout"), None, 2) as vector:
        taken = actions(vector, 40)
        seen = []
        for _ in range(2):
            vector.reset(SEEDS[:2])
            for row in taken:
                vector.step(row)
            seen.append(vector.buffers.obs["obs"].copy())
        assert (seen[0] == seen[1]).all()


def test_tapes_are_unknown_and_playing_them_begins_new_episodes():
    with NativeVector(atari("Pong"), None, 2) as vector:
        vector.reset(SEEDS[:2])
        for row in actions(vector, 5):
            vector.step(row)
        replay_logs = vector.replay_logs()
        assert replay_logs == [UNKNOWN] * 2
        assert not vector.replay(replay_logs).any()
        assert not vector.buffers.obs["obs"][:, :-1].any(), "a stack that begins"
        assert not vector.buffers.reward.any()


def test_standing_still_is_refused_in_one_sentence():
    with NativeVector(atari("Pong"), None, 2) as vector:
        vector.reset(SEEDS[:2])
        with pytest.raises(UserError, match=r"use env\.backend: sync"):
            vector.step(np.zeros(2, np.int64), np.array([True, False]))
        vector.step(np.zeros(2, np.int64), np.array([True, True]))


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (EnvConfig(id="CartPole-v1", family="classic"), "no vector environment"),
        (EnvConfig(id="ALE/Pong-v5", family="gymnasium"), "no vector environment"),
        (atari("Pong", wrappers=[{"name": "frame_stack"}]), "the wrapper frame_stack"),
        (atari("Pong", mode=1), "env.mode"),
        (atari("Pong", observe="objects"), "env.observe: objects"),
        (atari("Pong", observe="ram"), "env.observe: ram"),
        (atari("Breakout", fire="lives"), "env.fire: lives"),
        (atari("Pong", wrappers=LIMIT), "time_limit"),
    ],
)
def test_reasons_against(env, says):
    assert says in reason_against(env, RewardConfig())
    with pytest.raises(UserError, match=r"env\.backend: native cannot run this"):
        NativeVector(env, RewardConfig(), 2)


def test_a_plain_config_has_the_familys_defaults():
    assert reason_against(EnvConfig(id="ALE/Pong-v5", family="atari"), RewardConfig()) == ""


def test_train_only_wrappers_do_not_count_in_evaluation():
    env = atari("Pong", wrappers=LIMIT)
    assert reason_against(env, None) == ""


def test_signals_read_single_copies():
    reward = RewardConfig(signals=({"name": "slow", "source": "step_penalty"},))
    assert "signal slow" in reason_against(atari("Pong"), reward)
