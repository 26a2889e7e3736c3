"""What the batch back-end declines, and why."""

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.batch.vector import BatchVector, reason_against
from spotter.envs.backends.slices import EnvError
from spotter.types import UserError
from tests.envs.backends.batch.helpers import batch, config

NOISE = {"name": "sticky_actions"}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (EnvConfig(id="CartPole-v1", family="atari"), "family atari may make something else"),
        (EnvConfig(id="BipedalWalker-v3", family="box2d"), "no batch version of BipedalWalker-v3"),
        (config("LunarLander-v3", {"enable_wind": True}), "wind is separate in each env"),
        (EnvConfig(id="NoSuch-v0", family="gymnasium"), "there is no batch version of NoSuch-v0"),
        (EnvConfig(id="no_package:NoSuch-v0", family="gymnasium"), "there is no batch version"),
        (config("CartPole-v1", wrappers=[NOISE]), "wrapper sticky_actions works on one env"),
        (config("CartPole-v1", {"render_mode": "rgb_array"}), "renders"),
        (config("FrozenLake-v1", {"map_name": None}), "a random map of its own"),
        (config("Taxi-v4", {"fickle_passenger": True}), "fickle passengers"),
        (config("Pendulum-v1", {"g": float("nan")}), "env.kwargs.g is too large or not a number"),
        (config("FrozenLake-v1", {"reward_schedule": [1, 0, float("inf")]}), "reward_schedule"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.id,
)
def test_reasons_against(env, words):
    assert words in reason_against(env, RewardConfig())
    with pytest.raises(UserError, match="backend: batch cannot run"):
        BatchVector(env, RewardConfig(), 1)


def test_signals_are_declined_in_training():
    reward = RewardConfig(signals=[{"source": "step_penalty"}])
    assert "reward signals" in reason_against(config("CartPole-v1"), reward)
    assert not reason_against(config("CartPole-v1"), RewardConfig())


def test_train_only_wrappers_matter_in_training_only():
    env = config("CartPole-v1", wrappers=[{**NOISE, "train_only": True}])
    assert reason_against(env, RewardConfig())
    assert not reason_against(env, None)


def test_an_id_that_somebody_registered_anew_is_not_taken_for_the_original(monkeypatch):
    spec = gym.spec("CartPole-v1")
    monkeypatch.setattr(spec, "entry_point", "somebody:CartPole")
    assert "there is no batch version" in reason_against(config("CartPole-v1"), RewardConfig())


@pytest.mark.parametrize("action", [2, -1])
def test_an_impossible_action_is_named(action):
    with batch(config("CartPole-v1"), 2) as vector:
        vector.reset((1, 2))
        with pytest.raises(EnvError, match=f"1 was given {action}, which is not an action"):
            vector.step(np.array([0, action]))


def test_an_action_that_is_no_number_is_named():
    with batch(config("Pendulum-v1"), 2) as vector:
        vector.reset((1, 2))
        with pytest.raises(EnvError, match=r"0 was given \[nan\], which is not an action"):
            vector.step(np.array([[np.nan], [0.5]], np.float32))
