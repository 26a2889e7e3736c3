"""Every environment of every family: playable, repeatable, described truly, drawable (TEST-01)."""

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, recipes
from spotter.envs.base import family
from spotter.envs.families import bandit, box2d, classic, toy_text
from spotter.envs.make import make_vector
from spotter.testing.families import check_family, check_picture

IDS = [
    *((env_id, "classic") for env_id in classic._INFO),
    *((env_id, "toy_text") for env_id in toy_text._INFO),
    *((env_id, "box2d") for env_id in box2d._INFO),
    (bandit.ID, "bandit"),
]
VARIATIONS = [
    EnvConfig(id="CartPole-v1", family="classic", kwargs={"sutton_barto_reward": True}),
    EnvConfig(id="CartPole-v1", family="classic", time_limit=200),
    EnvConfig(id="LunarLander-v3", family="box2d", kwargs={"continuous": True}),
    EnvConfig(id="CarRacing-v3", family="box2d", kwargs={"continuous": False}),
    EnvConfig(id="BipedalWalker-v3", family="box2d", kwargs={"hardcore": True}),
    EnvConfig(id="FrozenLake-v1", family="toy_text", kwargs={"map_name": "8x8"}),
    EnvConfig(id="FrozenLake-v1", family="toy_text", kwargs={"is_slippery": False}),
    EnvConfig(id="CliffWalking-v1", family="toy_text", kwargs={"is_slippery": True}),
    EnvConfig(id="Taxi-v4", family="toy_text", kwargs={"is_rainy": True}),
    EnvConfig(id="Blackjack-v1", family="toy_text", kwargs={"natural": True, "sab": False}),
    EnvConfig(id="Bandit-v0", family="bandit", kwargs={"means": [1, -1, 0.5], "pulls": 3}),
]
ENVS = [EnvConfig(id=env_id, family=name) for env_id, name in IDS] + VARIATIONS

old_versions_are_fine = pytest.mark.filterwarnings("ignore:.*out of date")


def name(env: EnvConfig) -> str:
    return env.id + "".join(f",{key}={value}" for key, value in env.kwargs.items())


@old_versions_are_fine
@pytest.mark.parametrize("env", ENVS, ids=name)
def test_family(env):
    check_family(env)


@old_versions_are_fine
@pytest.mark.parametrize("env", ENVS, ids=name)
def test_our_own_families_describe_everything(env):
    info = family(env).describe(env)
    assert info.description.endswith(".") and "\n" not in info.description
    assert info.action_names and info.observation_names and info.score_range


@old_versions_are_fine
@pytest.mark.parametrize("env", ENVS[: len(IDS)], ids=name)
def test_smoke_through_make_vector(env):
    draw = np.random.default_rng(0)
    with make_vector(env, RewardConfig(), count=2) as vector:
        vector.reset([1, 2])
        for _ in range(50):
            vector.step(random_action(vector, draw))
        for leaf in vector.buffers.obs.values():
            assert np.isfinite(leaf).all()


def random_action(vector, draw):
    action = vector.spaces.action
    if action.kind == "box":
        return draw.uniform(-1, 1, vector.buffers.action.shape)
    if vector.buffers.mask is not None:
        return np.array([draw.choice(np.flatnonzero(row)) for row in vector.buffers.mask])
    return draw.integers(0, action.nvec[0], vector.count)


@old_versions_are_fine
@pytest.mark.parametrize("env", ENVS[: len(IDS)], ids=name)
def test_picture(env):
    check_picture(env)


@pytest.mark.parametrize(("env_id", "expected"), IDS)
def test_the_family_file_covers_the_id(env_id, expected):
    assert recipes.family_of(env_id) == expected
    assert recipes.family(expected).section("base")["env"]["count"] >= 1


def test_no_environment_of_gymnasium_is_left_out():
    """A new version of Gymnasium may bring a new game; then it wants a description."""
    homes = {"classic_control": "classic", "toy_text": "toy_text", "box2d": "box2d"}
    for env_id, spec in gym.registry.items():
        parts = str(spec.entry_point).split(".")
        if parts[:2] == ["gymnasium", "envs"] and parts[2] in homes:
            assert (env_id, homes[parts[2]]) in IDS
