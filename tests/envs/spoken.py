"""Environments that refuse what is not in their action space; importing this registers them."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs


class Spoken(gym.Env[Any, Any]):
    """Eight steps; pays for the sum of the action's numbers, each step at its own rate."""

    def __init__(self, observation: gs.Space[Any], action: gs.Space[Any]) -> None:
        self.observation_space, self.action_space = observation, action
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.steps += 1
        reward = float(np.sum(action)) * self.steps
        return self.observation_space.sample(), reward, self.steps == 8, False, {}


def in_dict() -> Spoken:
    camera = gs.Box(0, 255, (8, 9, 3), np.uint8)
    leaves = {"camera": camera, "pair": gs.Tuple((gs.Discrete(3, start=4), gs.Box(-1, 1, (2,))))}
    return Spoken(gs.Dict(leaves), gs.Box(np.array([-3, 0], "f"), np.array([1, 5], "f")))


def multi_discrete() -> Spoken:
    return Spoken(gs.MultiDiscrete([3, 4], start=[1, 2]), gs.MultiDiscrete([2, 3], start=[5, 6]))


def shifted() -> Spoken:
    return Spoken(gs.Discrete(6, start=-3), gs.Discrete(3, start=10))


def binary() -> Spoken:
    return Spoken(gs.MultiBinary((2, 2)), gs.MultiBinary((2, 2)))


def in_tuple() -> Spoken:
    leaves = (gs.Discrete(3, start=4), gs.Box(-9, 9, (2,)), gs.MultiDiscrete([2, 3]))
    return Spoken(gs.Tuple(leaves), gs.Box(-3, 5, (2, 2), np.float64))


for name, maker in {
    "Dict": in_dict, "Tuple": in_tuple, "MultiDiscrete": multi_discrete, "Shifted": shifted,
    "Binary": binary,
}.items():  # fmt: skip
    gym.register(f"{name}-v0", entry_point=maker)
