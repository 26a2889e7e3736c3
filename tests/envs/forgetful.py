"""An environment whose state lies in a generator, where no snapshot reaches."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


def _hidden() -> Iterator[float]:
    value = 0.5
    while True:
        value = 3.9 * value * (1 - value)
        yield value


class Forgetful(gym.Env[Any, Any]):
    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self._stream = _hidden()

    def _obs(self) -> Any:
        return np.array([next(self._stream)], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._obs(), {}

    def step(self, action: int) -> Any:
        obs = self._obs()
        return obs, float(obs[0] > 0.5), bool(obs[0] > 0.9), False, {}


gym.register("Forgetful-v0", Forgetful, max_episode_steps=50)
