"""A game of three lives: each lasts a few steps and pays one point a step."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

LIVES, STEPS = 3, 4


class Lives(gym.Env[Any, Any]):
    observation_space = spaces.Box(0, 100, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.steps, self.lives = 0, LIVES

    def _shown(self) -> tuple[Any, dict[str, Any]]:
        return np.array([self.steps, self.lives], np.float32), {"lives": self.lives}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.lives = 0, LIVES
        return self._shown()

    def step(self, action: int) -> Any:
        self.steps += 1
        self.lives -= self.steps % STEPS == 0
        obs, info = self._shown()
        return obs, 1.0, self.lives == 0, False, info


gym.register("Lives-v0", Lives, max_episode_steps=1000)
