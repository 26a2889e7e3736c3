"""A game with a picture, switches for actions, numbers in `info`, and a screen that can break."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

ID = "tests.episodes.odd:Odd-v0"
ACTIONS = {"switches": gs.MultiBinary(3), "dials": gs.MultiDiscrete([2, 3]), "two": gs.Discrete(2)}


class Odd(gym.Env):
    """Ten steps; `breaks_at`: render() fails from that step on; `drifts`: no seed is obeyed."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012

    def __init__(
        self,
        actions: str = "switches",
        breaks_at: int = 1000,
        drifts: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = gs.Box(0, 255, (40, 40, 3), np.uint8)
        self.action_space = ACTIONS[actions]
        self.render_mode = render_mode
        self.breaks_at, self.drifts = breaks_at, drifts
        self.t = 0
        self._own = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t = 0
        return self._picture(), {}

    def step(self, action):
        self.t += 1
        info = {"fuel": 1.0 - self.t / 10, "_hidden": 1, "name": "odd"}
        if self.t == 3:
            info["bonus"] = True
        return self._picture(), float(np.sum(action)), self.t >= 10, False, info

    def _picture(self):
        draw = self._own if self.drifts else self.np_random
        return draw.integers(0, 255, (40, 40, 3), np.uint8)

    def render(self):
        if self.t >= self.breaks_at:
            raise RuntimeError("the lamp\nhas gone out")
        return np.full((30, 20, 3), 10 * self.t, np.uint8)


gym.register("Odd-v0", Odd)
