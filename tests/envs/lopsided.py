"""Half the seeds give short poor episodes, half long rich ones."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Lopsided(gym.Env):
    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.length, self.t = 1, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if seed is not None:
            self.length = 50 if seed % 2 else 1
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(1, np.float32), 1.0, self.t >= self.length, False, {}


class Endless(Lopsided):
    """No end and no time limit."""

    def step(self, action):
        obs, reward, _, _, info = super().step(action)
        return obs, reward, False, False, info


gym.register("Lopsided-v0", Lopsided)
gym.register("Endless-v0", Endless)
