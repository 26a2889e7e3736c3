"""EnvPool keeps our contract, and what it plays are Gymnasium's environments."""

from collections import Counter, defaultdict

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, recipes
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.logbook import UNKNOWN
from spotter.envs.backends.pool import SAME, PoolVector, reason_against
from spotter.envs.make import EnvBuilder
from spotter.types import UserError

pytest.importorskip("envpool")

SEEDS = (11, 2**31 - 5, 33, 44)


def config(env_id, **fields):
    return EnvConfig(id=env_id, family=recipes.family_of(env_id), **fields)


def pool(env_id, count=4, **fields):
    return PoolVector(config(env_id, **fields), RewardConfig(), count)


def put_cart(game, obs):
    game.state = obs.astype(np.float64)
    game.steps_beyond_terminated = None


def put_car(game, obs):
    game.state = obs.astype(np.float64)


def put_float_car(game, obs):
    game.state = obs.copy()


def put_arm(game, obs):
    c1, s1, c2, s2, *speeds = obs.astype(np.float64)
    game.state = np.array([np.arctan2(s1, c1), np.arctan2(s2, c2), *speeds])


# How to put an observation into Gymnasium's game, and a way to play that gets somewhere.
PHYSICS = {
    "CartPole-v1": (put_cart, lambda obs: (obs[:, 2] + 0.3 * obs[:, 3] > 0).astype(np.int64)),
    "MountainCar-v0": (put_car, lambda obs: np.where(obs[:, 1] >= 0, 2, 0)),
    "MountainCarContinuous-v0": (
        put_float_car,
        lambda obs: np.where(obs[:, 1:] >= 0, 1, -1).astype(np.float32),
    ),
    "Acrobot-v1": (put_arm, lambda obs: np.where(obs[:, 4] > 0, 0, 2)),
}


def sometimes_random(vector, way, step, draw):
    """The good way, but for stretches of chance."""
    action = vector.spaces.action
    if step % 60 < 45:
        return way(vector.buffers.obs["obs"])
    if action.kind == "box":
        return draw.uniform(-1, 1, vector.buffers.action.shape).astype(np.float32)
    return draw.integers(0, action.nvec[0], vector.count)


def after(vector, row):
    buffers = vector.buffers
    ended = buffers.terminated[row] or buffers.truncated[row]
    return (buffers.final_obs if ended else buffers.obs)["obs"][row]


@pytest.mark.parametrize("env_id", PHYSICS)
def test_every_step_is_gymnasiums(env_id):
    """From the state EnvPool shows, Gymnasium gets to the same next state, reward and end."""
    put, way = PHYSICS[env_id]
    game = gym.make(env_id).unwrapped
    game.reset(seed=0)
    draw, ends = np.random.default_rng(0), 0
    with pool(env_id) as vector:
        vector.reset(SEEDS)
        for step in range(400):
            before = vector.buffers.obs["obs"].copy()
            action = sometimes_random(vector, way, step, draw)
            vector.step(action)
            for row in range(vector.count):
                put(game, before[row])
                obs, reward, terminated, _, _ = game.step(action[row])
                assert np.allclose(obs, after(vector, row), atol=3e-6)
                assert vector.buffers.reward[row] == pytest.approx(reward, rel=1e-6, abs=3e-6)
                assert vector.buffers.terminated[row] == terminated
                ends += terminated
    assert ends > 0 or env_id == "CartPole-v1"


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1"])
def test_outcomes_are_those_of_gymnasiums_table(env_id):
    table = gym.make(env_id).unwrapped.P
    seen = defaultdict(Counter)
    draw = np.random.default_rng(0)
    with pool(env_id, 32) as vector:
        vector.reset(range(32))
        for _ in range(600):
            before = vector.buffers.obs["obs"].tolist()
            action = draw.integers(0, 4, 32)
            vector.step(action)
            for row in range(32):
                outcome = (
                    int(after(vector, row)),
                    float(vector.buffers.reward[row]),
                    bool(vector.buffers.terminated[row]),
                )
                seen[before[row], int(action[row])][outcome] += 1
    for (state, action), outcomes in seen.items():
        chances = Counter()
        for chance, state_after, reward, ended in table[state][action]:
            chances[int(state_after), float(reward), bool(ended)] += chance
        total = sum(outcomes.values())
        assert outcomes.keys() <= chances.keys()
        for outcome, chance in chances.items():
            spread = 5 * np.sqrt(total * chance * (1 - chance)) + 1e-9
            assert abs(outcomes[outcome] - total * chance) <= spread


def play(vector, episodes):
    """Scores and lengths of the first episodes of idle copies: no choice of episodes by length."""
    vector.reset(range(100, 100 + vector.count))
    action = np.zeros_like(vector.buffers.action)
    results = {}
    while len(results) < episodes:
        for episode in vector.step(action):
            results.setdefault(episode.env, (episode.score, episode.length))
    return np.array([results[row] for row in range(episodes)])


@pytest.mark.parametrize(
    ("env_id", "limit"),
    [("LunarLander-v3", None), ("LunarLanderContinuous-v3", None), ("BipedalWalker-v3", 80)],
)
def test_physics_with_chance_is_alike(env_id, limit):
    """Random terrain and pushes cannot be copied over, so means are compared, within 4 σ."""
    env = config(env_id, time_limit=limit)
    with PoolVector(env, None, 200) as vector:
        ours = play(vector, 200)
    with LocalVector(EnvBuilder(env).build, 60) as vector:
        theirs = play(vector, 60)
    for a, b in zip(ours.T, theirs.T, strict=True):
        spread = np.sqrt(a.var() / len(a) + b.var() / len(b))
        assert abs(a.mean() - b.mean()) <= 4 * spread


def test_each_is_shown_to_be_the_same():
    tables = {"FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1"}
    chance = {"LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"}
    assert SAME.keys() == PHYSICS.keys() | tables | chance


def test_spaces_are_gymnasiums():
    for env_id in SAME:
        env = config(env_id)
        instance = EnvBuilder(env).build()
        with PoolVector(env, None, 1) as vector:
            assert vector.spaces == instance.spaces
            assert (
                vector.reset([1]).obs["obs"].shape[1:] == instance.spaces.observation["obs"].shape
            )
        instance.close()


def test_p01_last_observations_are_true_and_new_episodes_begin_in_the_same_step():
    """A cart that fell shows where it fell, and stands upright in `obs`."""
    with pool("CartPole-v1") as vector:
        vector.reset(SEEDS)
        ends = 0
        for _ in range(120):
            episodes = vector.step(np.ones(4, np.int64))
            buffers = vector.buffers
            assert [e.env for e in episodes] == np.flatnonzero(buffers.terminated).tolist()
            for episode in episodes:
                ends += 1
                assert abs(buffers.final_obs["obs"][episode.env][2]) > 0.2
                assert np.abs(buffers.obs["obs"][episode.env]).max() <= 0.05
                assert episode.score == episode.length == episode.reward
        assert ends > 20 and (buffers.reward == 1).all()


def test_time_limits_truncate_once_and_exactly():
    with pool("MountainCar-v0", time_limit=7) as vector:
        vector.reset(SEEDS)
        for step in range(1, 29):
            episodes = vector.step(np.ones(4, np.int64))
            assert vector.buffers.truncated.all() == (step % 7 == 0)
            assert vector.buffers.truncated.any() == (step % 7 == 0)
            assert not vector.buffers.terminated.any()
            assert [(e.length, e.score, e.terminated) for e in episodes] == (
                [(7, -7.0, False)] * 4 if step % 7 == 0 else []
            )


def test_p05_termination_wins_on_the_last_allowed_step():
    """EnvPool itself would call it truncated."""
    with pool("CartPole-v1") as vector:
        vector.reset(SEEDS)
        lengths = {}
        while len(lengths) < 4:
            for episode in vector.step(np.ones(4, np.int64)):
                lengths.setdefault(episode.env, episode.length)
    for row, length in lengths.items():
        with pool("CartPole-v1", time_limit=length) as vector:
            vector.reset(SEEDS)
            for _ in range(length - 1):
                vector.step(np.ones(4, np.int64))
            vector.step(np.ones(4, np.int64))
            assert vector.buffers.terminated[row] and not vector.buffers.truncated[row]


def test_inactive_copies_stand_still():
    with pool("CartPole-v1") as vector:
        vector.reset(SEEDS)
        vector.step(np.ones(4, np.int64))
        before = vector.buffers.obs["obs"].copy()
        vector.step(np.zeros(4, np.int64), np.array([True, False, True, False]))
        moved = (vector.buffers.obs["obs"] != before).any(axis=1)
        assert moved.tolist() == [True, False, True, False]
        assert vector.buffers.reward.tolist() == [1, 0, 1, 0]
        before = vector.buffers.obs["obs"].copy()
        assert vector.step(np.zeros(4, np.int64), np.zeros(4, np.bool_)) == []
        assert (vector.buffers.obs["obs"] == before).all() and not vector.buffers.reward.any()


def test_waiting_does_not_change_what_a_copy_does():
    """Stepping some copies now and the others later gives what stepping all together gives."""
    draw = np.random.default_rng(3)
    actions = draw.integers(0, 4, (80, 4))
    even = np.array([True, False, True, False])
    with pool("LunarLander-v3") as together, pool("LunarLander-v3") as apart:
        together.reset(SEEDS)
        apart.reset(SEEDS)
        expected, got = [], []
        for action in actions:
            expected += together.step(action)
            got += apart.step(action, even)
        for action in actions:
            got += apart.step(action, ~even)
        assert (together.buffers.obs["obs"] == apart.buffers.obs["obs"]).all()
        assert sorted(got, key=str) == sorted(expected, key=str)


def test_copies_have_their_own_streams():
    with pool("LunarLander-v3", 4) as four, pool("LunarLander-v3", 2) as two:
        four.reset(SEEDS)
        two.reset(SEEDS[2:])
        for action in np.random.default_rng(0).integers(0, 4, (150, 4)):
            four.step(action)
            two.step(action[2:])
            assert (four.buffers.obs["obs"][2:] == two.buffers.obs["obs"]).all()
        assert (four.buffers.obs["obs"][0] != four.buffers.obs["obs"][1]).any()


def test_box_actions_are_clipped():
    with pool("MountainCarContinuous-v0", 2) as vector:
        vector.reset((5, 5))
        vector.step(np.array([[1.0], [9.0]], np.float32))
        assert vector.buffers.reward.tolist() == pytest.approx([-0.1, -0.1])
        assert (vector.buffers.obs["obs"][0] == vector.buffers.obs["obs"][1]).all()


def test_tapes_are_unknown_and_playing_them_begins_new_episodes():
    with pool("CartPole-v1") as vector:
        start = vector.reset(SEEDS).obs["obs"].copy()
        vector.step(np.ones(4, np.int64))
        replay_logs = vector.replay_logs()
        assert replay_logs == [UNKNOWN] * 4
        assert not vector.replay(replay_logs).any()
        shown = vector.buffers.obs["obs"]
        assert np.abs(shown).max() <= 0.05 and (shown != start).all(), "other ones than at first"


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (config("Taxi-v4"), "nothing that does the same as Taxi-v4"),
        (config("Pendulum-v1"), "nothing that does the same as Pendulum-v1"),
        (config("LunarLander-v3", kwargs={"gravity": -5.0}), "env.kwargs"),
        (config("CartPole-v1", wrappers=({"name": "frame_stack"},)), "frame_stack"),
    ],
)
def test_reasons_against(env, says):
    assert says in reason_against(env, RewardConfig())
    with pytest.raises(UserError, match=r"env\.backend: envpool cannot run this"):
        PoolVector(env, RewardConfig(), 2)


@pytest.mark.filterwarnings("ignore:.*precision lowered")
def test_pendulum_still_differs():
    """EnvPool lets the angle follow a speed above the limit; should that end, it can be added."""
    envpool = pytest.importorskip("envpool")
    single = gym.make("Pendulum-v1").unwrapped
    single.reset(seed=0)
    theirs = envpool.make("Pendulum-v1", env_type="gymnasium", num_envs=1, num_threads=1, seed=1)
    obs, _ = theirs.reset()
    furthest = 0.0
    for _ in range(150):
        single.state = np.array([np.arctan2(obs[0, 1], obs[0, 0]), obs[0, 2]], np.float64)
        torque = np.full((1, 1), 2.0 if obs[0, 2] > 0 else -2.0, np.float32)
        expected, *_ = single.step(torque[0])
        obs, *_ = theirs.step(torque)
        furthest = max(furthest, float(np.abs(obs[0] - expected).max()))
    assert furthest > 1e-3
