"""MiniGrid: ids known without the package's name before them, codes as choices, a smaller view."""

import sys

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import recipes, resolve
from spotter.envs.families import minigrid
from spotter.envs.make import EnvBuilder
from spotter.types import UserError
from tests.envs.helpers import config

MEMORY = "MiniGrid-MemoryS7-v0"


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("minigrid")


def built(**settings):
    return EnvBuilder(resolve(MEMORY, {f"env.{k}": v for k, v in settings.items()}).config.env)


@pytest.mark.parametrize("env_id", [MEMORY, f"minigrid:{MEMORY}"])
def test_it_is_known_with_and_without_its_package(env_id):
    env = resolve(env_id).config.env
    assert (env.family, env.id) == ("minigrid", env_id)
    instance = EnvBuilder(env).build()
    assert instance.env.spec.id == MEMORY
    assert len(minigrid.describe(env).action_names) == instance.spaces.action.nvec[0]


def test_each_code_is_a_choice_and_the_same_as_the_package_shows():
    bare, instance = gym.make(MEMORY), built().build()
    raw, _ = bare.reset(seed=3)
    obs, _ = instance.env.reset(seed=3)
    for action in (2, 0, 2, 1, 1, 2):
        assert set(obs) == {"image", "direction"}
        assert np.array_equal(obs["image"], raw["image"]) and obs["direction"] == raw["direction"]
        assert instance.env.observation_space.contains(obs)
        (raw, *_), (obs, *_) = bare.step(action), instance.env.step(action)
    leaf = instance.spaces.observation["image"]
    assert (leaf.kind, leaf.nvec[:3], len(leaf.nvec)) == ("multi_discrete", (11, 6, 3), 147)


def test_a_smaller_view():
    instance = built(view=3).build()
    assert len(instance.spaces.observation["image"].nvec) == 3 * 3 * 3
    with pytest.raises(UserError, match=r"env.view=4 should be odd.*nearest: 3"):
        built(view=4).build()


def test_the_mission_may_be_dropped_by_name_as_elsewhere():
    instance = built(drop=["mission"]).build()
    assert set(instance.spaces.observation) == {"image", "direction"}
    assert set(built(drop=["direction"]).build().spaces.observation) == {"image"}


@pytest.mark.parametrize("env_id", ["MiniGrid-DoorKey-5x5-v0", "BabyAI-GoToRedBall-v0"])
def test_every_observation_of_other_worlds_is_in_its_space(env_id):
    assert recipes.family_of(env_id) == "minigrid"
    env = minigrid.make(config(env_id, "minigrid"))
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(200):
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(obs)
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize(
    ("package", "env_id"),
    [("minigrid", "MiniGrid-Nowhere-v0"), ("popgym", "popgym-NowhereEasy-v0")],
)
def test_without_its_package_an_id_says_what_to_install(package, env_id, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    with pytest.raises(UserError, match=rf"{package} is not installed: .*\[{package}\]"):
        resolve(env_id)
