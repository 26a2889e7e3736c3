"""Every environment of the catalogue against plain Gymnasium, byte by byte."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.config import EnvConfig
from spotter.envs.make import UNLIMITED_CUT
from spotter.testing import backends
from tests.envs.backends.batch.helpers import Player, assert_same, batch, config, step_both, sync

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
BOTH = {True, False}
HOLES = ["SFFF", "FHFH", "SFFF", "HFFG"]
CASES = [  # config, steps, which ends must have been seen: terminated or not
    (config("CartPole-v1"), 250, {True}),
    (config("CartPole-v1", time_limit=20), 120, BOTH),
    (config("CartPole-v0", {"sutton_barto_reward": True}, time_limit=25), 150, BOTH),
    (config("MountainCar-v0"), 700, {True}),
    (config("MountainCar-v0", {"goal_velocity": 0.03}, time_limit=120), 500, BOTH),
    (config("MountainCarContinuous-v0", time_limit=160), 650, BOTH),
    (config("MountainCarContinuous-v0", {"goal_velocity": 0.02}), 900, {True}),
    (config("Acrobot-v1", time_limit=110), 450, BOTH),
    (config("Acrobot-v1"), 600, {True}),
    (config("Pendulum-v1"), 650, {False}),
    (config("Pendulum-v1", {"g": 9.81}, time_limit=30), 120, {False}),
    (config("FrozenLake-v1"), 300, {True}),
    (config("FrozenLake-v1", {"is_slippery": False}, time_limit=7), 100, BOTH),
    (config("FrozenLake-v1", {"success_rate": 0.7, "reward_schedule": [5, -2, -1]}), 200, {True}),
    (config("FrozenLake-v1", {"desc": HOLES}, time_limit=6), 100, BOTH),
    (config("FrozenLake8x8-v1", {"is_slippery": True}), 400, {True}),
    (config("CliffWalking-v1", time_limit=40), 200, {False}),
    (config("CliffWalkingSlippery-v1"), 1600, {False}),
    (config("Taxi-v4", time_limit=100), 400, BOTH),
    (config("Taxi-v4", {"is_rainy": True}, time_limit=90), 350, {False}),
    (config("Taxi-v4", mask=False, time_limit=30), 100, {False}),
    (config("Taxi-v4"), 1500, BOTH),
    (config("LunarLander-v3"), 700, {True}),
    (config("LunarLander-v3", {"gravity": -11.0}, time_limit=75), 350, BOTH),
    (config("LunarLanderContinuous-v3", time_limit=100), 400, BOTH),
    (config("LunarLander-v3", {"continuous": True}), 700, {True}),
    (config("Bandit-v0"), 30, {True}),
    (
        config("Bandit-v0", {"means": [0, 0.5, 2], "std": 0.3, "pulls": 5}, time_limit=4),
        30,
        {False},
    ),
    (config("Bandit-v0", {"pulls": 9}), 60, {True}),
]


def _name(value):
    if isinstance(value, EnvConfig):
        return "-".join([value.id, *value.kwargs, *(["limit"] if value.time_limit else [])])
    return ""


@pytest.mark.parametrize(("env", "steps", "ends"), CASES, ids=_name)
def test_same_bytes_as_gymnasium(env, steps, ends):
    with sync(env, 3) as first, batch(env, 3) as second:
        assert first.spaces == second.spaces
        first.reset((5, 6, 7))
        second.reset((5, 6, 7))
        assert_same(first, second)
        episodes = step_both(first, second, Player(env), steps)
    per_copy = Counter(episode.env for episode in episodes)
    assert min(per_copy[row] for row in range(3)) >= 3
    assert {episode.terminated for episode in episodes} == ends


@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize(
    "env_id",
    [
        *("CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1", "MountainCar-v0"),
        *("FrozenLake-v1", "CliffWalkingSlippery-v1", "Taxi-v4", "Bandit-v0"),
        "LunarLander-v3",
    ],
)
def test_resting_copies_stand_still_and_draw_nothing(env_id, count, rest):
    env = config(env_id, time_limit=12)
    with sync(env, count) as first, batch(env, count) as second:
        first.reset(range(count))
        second.reset(range(count))
        episodes = step_both(first, second, Player(env), 120, rest)
    assert {episode.env for episode in episodes} == set(range(count))


@pytest.mark.parametrize(
    ("env_id", "order"),
    [
        ("CartPole-v1", (0, 2, 1, 3)),
        ("MountainCar-v0", (0, 1)),
        ("Acrobot-v1", (0, 1, 2, 3)),
        ("Pendulum-v1", (0, 1)),
    ],
)
def test_states_agree_where_observations_are_too_coarse_to_tell(env_id, order):
    """A square that is rounded otherwise does not show in 32 bits until much later."""
    env = config(env_id)
    with sync(env, 8) as first, batch(env, 8) as second:
        first.reset(range(8))
        second.reset(range(8))
        for _ in range(150):
            step_both(first, second, Player(env), 1)
            for row, instance in enumerate(first._slices[0].instances):
                state = np.asarray(instance.env.unwrapped.state, np.float64)
                assert second._world.state[list(order), row].tobytes() == state.tobytes()


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "LunarLanderContinuous-v3"])
def test_the_same_bytes_down_to_a_soft_landing(env_id):
    """Legs that touch, a body that comes to rest: what random play never gets to see."""
    env = config(env_id)
    with sync(env, 3) as first, batch(env, 3) as second:
        from gymnasium.envs.box2d.lunar_lander import heuristic

        first.reset((1, 2, 3))
        second.reset((1, 2, 3))
        landings = 0
        for _ in range(500):
            games = [instance.env.unwrapped for instance in first._slices[0].instances]
            action = np.array(
                [heuristic(game, first.buffers.obs["obs"][row]) for row, game in enumerate(games)]
            )
            assert first.step(action) == second.step(action)
            assert_same(first, second)
            landings += int((first.buffers.reward == 100.0).sum())
    assert landings > 0


@pytest.mark.parametrize("count", [7, 33])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
def test_the_number_of_copies_changes_no_bit(env_id, count):
    """NumPy's vectorised functions treat the ends of arrays apart."""
    env = config(env_id, time_limit=30)
    with sync(env, count) as first, batch(env, count) as second:
        first.reset(range(count))
        second.reset(range(count))
        step_both(first, second, Player(env), 70)


@settings(max_examples=20, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=4),
    env_id=st.sampled_from(["CartPole-v1", "FrozenLake-v1", "MountainCarContinuous-v0", "Taxi-v4"]),
    again=st.integers(0, 40),
)
def test_any_seeds_and_a_manual_reset_at_any_time(seeds, env_id, again):
    env = config(env_id, time_limit=15)
    with sync(env, len(seeds)) as first, batch(env, len(seeds)) as second:
        for steps in (again, 40):
            first.reset(seeds)
            second.reset(seeds)
            assert_same(first, second)
            step_both(first, second, Player(env, again), steps)


def test_seeding_conforms():
    backends.check_seeding(batch)


def test_p36_later_episodes_continue_each_copys_own_stream():
    env = config("CartPole-v1", time_limit=3)
    with batch(env, 2) as vector:
        starts = [vector.reset((4, 4)).obs["obs"].copy()]
        for _ in range(9):
            vector.step(np.zeros(2, dtype=np.int64))
            if vector.buffers.truncated.all():
                starts.append(vector.buffers.obs["obs"].copy())
    assert all((start[0] == start[1]).all() for start in starts), "the same seed, the same episodes"
    assert len({start.tobytes() for start in starts}) == 4


def test_time_limit_wrappers_count_too():
    wrappers = [{"name": "time_limit", "steps": 9}, {"name": "time_limit", "steps": 4}]
    env = config("Pendulum-v1", wrappers=wrappers)
    with sync(env, 2) as first, batch(env, 2) as second:
        first.reset((1, 2))
        second.reset((1, 2))
        episodes = step_both(first, second, Player(env), 13)
    assert [episode.length for episode in episodes] == [4] * 6


def test_evaluation_leaves_train_only_wrappers_out():
    env = config("Pendulum-v1", wrappers=[{"name": "time_limit", "steps": 4, "train_only": True}])
    with batch(env, 1, training=False) as vector:
        vector.reset([1])
        episodes = [e for _ in range(200) for e in vector.step(np.zeros((1, 1), np.float32))]
    assert [episode.length for episode in episodes] == [200]


def test_evaluation_cuts_what_would_never_end():
    env = config("CliffWalking-v1", family="gymnasium")
    up = np.zeros(1, dtype=np.int64)
    with batch(env, 1, training=False) as evaluation, batch(env, 1) as training:
        evaluation.reset([1])
        training.reset([1])
        cut = [e.length for _ in range(UNLIMITED_CUT) for e in evaluation.step(up)]
        assert cut == [UNLIMITED_CUT]
        assert not any(training.step(up) for _ in range(UNLIMITED_CUT + 1))


def test_actions_that_rest_need_not_be_valid():
    env = config("FrozenLake-v1")
    with batch(env, 2) as vector:
        vector.reset((1, 2))
        vector.step(np.array([1, 77]), np.array([True, False]))
