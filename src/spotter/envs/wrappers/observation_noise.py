"""Gaussian noise on a vector or float image, clipped to the space's bounds."""

from typing import Any, Literal

import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import SeededWrapper, Start, Step
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["observation_noise"]
    std: float = Field(gt=0, description="In the units of the observation.")


def wrap(config: Config, env: Env) -> Env:
    return ObservationNoise(env, config.std)


class ObservationNoise(SeededWrapper):
    def __init__(self, env: Env, std: float) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gs.Box) or not np.issubdtype(space.dtype, np.floating):
            raise UserError(
                f"observation_noise needs a Box of floats, but this observation is {space}"
            )
        self._space = space
        self._std = std

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = super().reset(seed=seed, options=options)
        return self._noisy(obs), info

    def step(self, action: object) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return self._noisy(obs), float(reward), terminated, truncated, info

    def _noisy(self, obs: Any) -> object:
        noisy = obs + self.draw.normal(0.0, self._std, self._space.shape)
        return np.clip(noisy, self._space.low, self._space.high).astype(self._space.dtype)
