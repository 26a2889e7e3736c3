"""Shared by wrappers that draw random numbers."""

import zlib
from typing import Any

import gymnasium as gym
import numpy as np


class SeededWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper with its own random stream, so it never shifts the environment's.

    `reset(seed=…)` starts the stream anew; `reset()` lets it run on.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._name_key = zlib.crc32(type(self).__name__.encode())
        self.draw = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.draw = np.random.default_rng([seed, self._name_key])
        return self.env.reset(seed=seed, options=options)
