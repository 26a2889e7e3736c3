"""Dict observations in which one leaf says what to do and the others say nothing."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

_PLACES = 3


class Leaves(gym.Env):
    """Pays 1 for the action that the leaf `informs` shows; the other leaves are noise.

    `picture`: which of three columns is brightest; `vector`: which of three numbers is largest;
    `far`: the same in numbers of another size; `number`: the action itself.
    """

    def __init__(
        self, leaves: tuple[str, ...] = ("picture", "vector"), informs: str = "vector", side=15
    ) -> None:
        self.informs, self.side = informs, side
        every = {
            "picture": spaces.Box(0, 255, (side, side, 3), np.uint8),
            "vector": spaces.Box(0, 1, (_PLACES,), np.float32),
            "far": spaces.Box(-np.inf, np.inf, (_PLACES,), np.float32),
            "number": spaces.Discrete(_PLACES),
        }
        self.observation_space = spaces.Dict({leaf: every[leaf] for leaf in leaves})
        self.action_space = spaces.Discrete(_PLACES)
        self.shown = self.t = 0

    def _show(self) -> dict[str, Any]:
        draw, side = self.np_random, self.side
        numbers = draw.random(_PLACES).astype(np.float32)
        picture = draw.integers(0, 256, (side, side, 3), dtype=np.uint8)
        shown = {
            "picture": picture,
            "vector": numbers,
            "far": 500 + 100 * draw.random(_PLACES).astype(np.float32),
            "number": int(draw.integers(_PLACES)),
        }
        if self.informs == "picture":
            self.shown = int(draw.integers(_PLACES))
            columns = slice(self.shown * side // _PLACES, (self.shown + 1) * side // _PLACES)
            picture[:, columns] = picture[:, columns] // 2 + 128
        elif self.informs == "number":
            self.shown = shown["number"]
        else:
            self.shown = int(np.argmax(shown[self.informs]))
        return {leaf: shown[leaf] for leaf in self.observation_space.spaces}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t = 0
        return self._show(), {}

    def step(self, action):
        reward = float(int(action) == self.shown)
        self.t += 1
        return self._show(), reward, self.t == 10, False, {}


gym.register("Leaves-v0", Leaves)
