"""A small Tetris whose pieces come from an object of its own, where no snapshot reaches.

Only a reset with a seed brings the pieces back. So a copy in its first episodes can be replayed
from the seed, and a later one, which has gone on without a seed, cannot.
"""

import random
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

COLUMNS, HEIGHT, PIECES = 4, 12, 3


class Pieces:
    """The order in which pieces come: a hidden stream."""

    def __init__(self) -> None:
        self._stream = random.Random(0)

    def seed(self, seed: int) -> None:
        self._stream.seed(seed)

    def draw(self) -> int:
        return self._stream.randrange(1, PIECES + 1)


class Falling(gym.Env[Any, Any]):
    """A piece as high as its number falls on the chosen column; a full row goes and pays 1."""

    observation_space = spaces.Box(0, HEIGHT + PIECES, (COLUMNS + 1,), np.float32)
    action_space = spaces.Discrete(COLUMNS)

    def __init__(self, hidden_after: int = 0) -> None:
        """So many pieces after a seed come from Gymnasium's own stream, which snapshots hold."""
        self._pieces, self._hidden_after = Pieces(), hidden_after
        self._heights, self._piece, self._placed = np.zeros(COLUMNS, np.int64), 1, 0

    def _draw(self) -> int:
        if self._placed < self._hidden_after:
            return int(self.np_random.integers(1, PIECES + 1))
        return self._pieces.draw()

    def _obs(self) -> Any:
        return np.array([*self._heights, self._piece], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self._pieces.seed(seed)
            self._placed = 0
        self._heights = np.zeros(COLUMNS, np.int64)
        self._piece = self._draw()
        return self._obs(), {}

    def step(self, action: int) -> Any:
        self._heights[action] += self._piece
        rows = int(self._heights.min())
        self._heights -= rows
        self._placed += 1
        self._piece = self._draw()
        return self._obs(), float(rows), bool(self._heights.max() > HEIGHT), False, {}


for _id, _kwargs in {"Stacking-v0": {}, "StackingLater-v0": {"hidden_after": 300}}.items():
    gym.register(_id, f"{__name__}:Falling", max_episode_steps=500, kwargs=_kwargs)
