import numpy as np
import pytest

from spotter.envs.base import family
from spotter.envs.families.toy_text import describe, optimum
from spotter.types import UserError
from tests.envs.helpers import config


def toy(env_id, **fields):
    return config(env_id, "toy_text", **fields)


@pytest.mark.parametrize(
    ("env", "best"),
    [
        (toy("Taxi-v4"), 7.93),
        (toy("FrozenLake-v1"), 0.7442),
        (toy("FrozenLake8x8-v1"), 0.9132),
        (toy("FrozenLake-v1", kwargs={"map_name": "8x8"}, time_limit=200), 0.9132),
        (toy("FrozenLake-v1", kwargs={"is_slippery": False}), 1),
        (toy("FrozenLake-v1", kwargs={"is_slippery": False}, time_limit=5), 0),
        (toy("CliffWalking-v1"), -13),
        (toy("CliffWalking-v1", time_limit=4), -4),
    ],
)
def test_the_optimum_is_known_exactly(env, best):
    assert optimum(env) == pytest.approx(best, abs=5e-5)


def test_blackjack_has_no_table():
    with pytest.raises(UserError, match="Blackjack-v1 has no transition table"):
        optimum(toy("Blackjack-v1"))


@pytest.mark.parametrize(
    ("env", "threshold"),
    [
        (toy("FrozenLake-v1"), 0.70),
        (toy("FrozenLake8x8-v1"), 0.85),
        (toy("FrozenLake-v1", kwargs={"is_slippery": False}), 0.94),
        (toy("FrozenLake-v1", kwargs={"map_name": "8x8"}), 0.94 * 0.64072),
        (toy("FrozenLake-v1", kwargs={"map_name": None}), None),
        (toy("CliffWalking-v1"), -13),
        (toy("CliffWalking-v1", kwargs={"is_slippery": True}), None),
        (toy("CliffWalkingSlippery-v1"), None),
        (toy("Taxi-v4"), 7.5),
        (toy("Taxi-v4", kwargs={"fickle_passenger": True}), None),
        (toy("Taxi-v4", kwargs={"is_rainy": True}), 0.94 * 3.95457),
        (toy("Blackjack-v1"), None),
    ],
)
def test_thresholds_fit_the_game_as_it_is_set_up(env, threshold):
    expected = threshold if threshold is None else pytest.approx(threshold, abs=1e-4)
    assert describe(env).threshold == expected


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4"])
def test_no_threshold_is_out_of_reach(env_id):
    assert describe(toy(env_id)).threshold < optimum(toy(env_id))


def test_rewards_of_the_lake_move_its_range():
    info = describe(toy("FrozenLake-v1", kwargs={"reward_schedule": [5, -1, -0.1]}))
    assert info.score_range == pytest.approx((-11, 5))


def test_naturals_pay_more_only_without_the_books_rules():
    assert describe(toy("Blackjack-v1", kwargs={"natural": True})).score_range == (-1, 1)
    naturals = describe(toy("Blackjack-v1", kwargs={"natural": True, "sab": False}))
    assert naturals.score_range == (-1, 1.5)


def test_the_keys_do_what_they_say():
    """Pressing every arrow moves the taxi that way, seen from the middle of the map."""
    moves = {"down": (1, 0), "up": (-1, 0), "right": (0, 1), "left": (0, -1)}
    env = toy("Taxi-v4")
    game = family(env).make(env)
    game.reset(seed=1)
    for key, (down, right) in moves.items():
        game.unwrapped.s = game.unwrapped.encode(2, 2, 0, 1)
        obs, *_ = game.step(describe(env).keys[key])
        assert game.unwrapped.decode(obs)[:2] == (2 + down, 2 + right)


def test_a_walk_that_leads_nowhere_is_cut_off():
    """CliffWalking has no limit of its own; bumping into a wall would last for ever."""
    env = toy("CliffWalking-v1")
    game = family(env).make(env)
    game.reset(seed=1)
    ends = [game.step(3)[3] for _ in range(500)]
    assert ends == [False] * 499 + [True]
    assert np.isclose(describe(env).score_range, (-50_000, -13)).all()
