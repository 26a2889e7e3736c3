"""A question that only memory answers: what was shown in the first step."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Recall(gym.Env):
    """Shows a cue in the first step, noise while it waits, and then asks: 1 for the right answer.

    The answer is one of three choices, the numbers of a Box, or a choice among two that the mask
    leaves. Of the cue nothing is seen when it asks, so without memory a third is right, or a half.
    """

    def __init__(self, delay: int = 4, kind: str = "discrete") -> None:
        self.delay, self.kind = delay, kind
        self.observation_space = spaces.Box(-1, 2, (5,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,)) if kind == "box" else spaces.Discrete(3)
        self.cue = self.t = 0

    def _show(self) -> Any:
        shown = np.zeros(5, np.float32)
        if self.t == 0:
            shown[self.cue] = 1.0
        shown[3] = self.t == self.delay
        shown[4] = self.np_random.uniform(-1, 1)
        return shown

    def _info(self) -> dict[str, Any]:
        if self.kind != "mask":
            return {}
        valid = np.ones(3, bool)
        valid[(self.cue + 1) % 3] = self.t < self.delay
        return {"action_mask": valid}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t, self.cue = 0, int(self.np_random.integers(3))
        return self._show(), self._info()

    def step(self, action):
        ends, reward = self.t == self.delay, 0.0
        if ends and self.kind == "box":
            reward = float(abs(float(np.clip(action[0], -1, 1)) - (self.cue - 1)) < 0.5)
        elif ends:
            reward = float(int(action) == self.cue)
        self.t += 1
        return self._show(), reward, ends, False, self._info()


gym.register("Recall-v0", Recall)
