"""Leave numbers out of a vector observation, by index: what is hidden has to be remembered.

Without `indices` 1 and 3 CartPole shows no velocity, so a policy needs `policy.core`, or frames.
"""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import needs_box
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["hide"]
    indices: tuple[Whole, ...] = Field(
        strict=False, min_length=1, description="Which numbers, counted from 0."
    )


def wrap(config: Config, env: Env) -> Env:
    return Hide(env, config.indices)


class Hide(gym.ObservationWrapper[Any, Any, Any]):
    def __init__(self, env: Env, indices: tuple[int, ...]) -> None:
        super().__init__(env)
        space = needs_box(env, "hide")
        if len(space.shape) != 1:
            raise UserError(f"hide needs a vector observation, but this one is {space}")
        size = space.shape[0]
        if beyond := [index for index in indices if not 0 <= index < size]:
            raise UserError(
                f"hide.indices: this observation has no number {beyond[0]}; it has 0 to {size - 1}"
            )
        self._kept = np.setdiff1d(np.arange(size), indices)
        if not len(self._kept):
            raise UserError(f"hide.indices leaves none of the {size} numbers of this observation")
        self.observation_space = gs.Box(
            space.low[self._kept], space.high[self._kept], dtype=space.dtype.type
        )

    def observation(self, observation: Any) -> Any:
        return observation[self._kept]
