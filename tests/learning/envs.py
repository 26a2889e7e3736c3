"""Tiny environments whose right answers are known in closed form."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Steady(gym.Env):
    """Pays 1 per step; the observation says nothing. Ends by its time limit only."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        return np.ones(1, np.float32), 1.0, False, False, {}


class Countdown(gym.Env):
    """Pays 1 per step for five steps, then terminates; the observation is the step."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(6)
        self.action_space = spaces.Discrete(2)
        self.t = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def step(self, action):
        self.t += 1
        return self.t, 1.0, self.t == 5, False, {}


class Match(gym.Env):
    """Pays 1 for repeating what the observation shows; any space, masks if asked."""

    def __init__(self, kind: str = "discrete", mask: bool = False) -> None:
        self.kind, self.mask = kind, mask
        self.observation_space = {
            "discrete": spaces.Discrete(4),
            "multi_discrete": spaces.MultiDiscrete([3, 2]),
            "binary": spaces.MultiBinary(3),
            "box": spaces.Box(-1, 1, (2,), np.float32),
            "pixels": spaces.Box(0, 255, (36, 40, 3), np.uint8),
        }[kind]
        self.action_space = {
            kind: self.observation_space,
            "box": spaces.Box(-3, 5, (2,)),
            "pixels": spaces.Discrete(2),
        }[kind]
        self.shown: Any = None
        self.t = 0

    def _show(self):
        if self.kind == "pixels":
            return self._picture()
        self.shown = self.observation_space.sample()
        return self.shown

    def _picture(self):
        """A bright block in the left or the right half, over noise."""
        self.shown = int(self.np_random.integers(2))
        picture = self.np_random.integers(0, 60, (36, 40, 3), dtype=np.uint8)
        picture[10:26, 4 + 20 * self.shown : 16 + 20 * self.shown] += 150
        return picture

    def _info(self) -> dict[str, Any]:
        if not self.mask:
            return {}
        valid = np.zeros(4, bool)
        valid[[self.shown, (self.shown + 1) % 4]] = True
        return {"action_mask": valid}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self._show(), self._info()

    def step(self, action):
        if self.kind == "box":
            wanted = 1 + 4 * np.asarray(self.shown)
            reward = float(1 - np.abs(np.asarray(action) - wanted).mean() / 4)
        else:
            reward = float(np.mean(np.asarray(action) == np.asarray(self.shown)))
        self.t += 1
        return self._show(), reward, self.t == 8, False, self._info()


gym.register("Steady-v0", Steady, max_episode_steps=5)
gym.register("Countdown-v0", Countdown)
gym.register("Match-v0", Match)
