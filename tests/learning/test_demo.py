"""A long way with one reward at its end: PPO learns it from a demonstration, and not without."""

import pytest

from spotter.training.run import train
from tests.envs import chain

pytestmark = pytest.mark.learning
PPO = {"name": "ppo", "lr": 1e-2, "steps": 32, "minibatch": 0.25, "gamma": 0.99, "entropy": 0.01}


def score(make_config, demo):
    config = make_config(
        chain.ID,
        PPO,
        env={"demo": demo, "threshold": 9.5, "count": 16},
        policy={"hidden": [32]},
        eval={"every_steps": 4000, "episodes": 50},
        budget={"env_steps": 60_000},
        seed=7,
    )
    return train(config).score


def test_starting_points_that_move_back(make_config):
    assert score(make_config, chain.demo(back=0.05)) >= 9.5


def test_without_them_there_is_nothing_to_learn_from(make_config):
    assert score(make_config, None) == 0.0
