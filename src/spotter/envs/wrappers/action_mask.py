"""Forbid actions for good: a fixed valid-action mask, joined with the environment's own.

The action space stays as it is, so a policy can later be trained on with more actions allowed.
"""

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.spaces import encode_mask
from spotter.envs.wrapping import Start, Step, mask_parts
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["action_mask"]
    valid: tuple[Whole, ...] = Field(
        strict=False,
        min_length=1,
        description="Actions that stay allowed, counted from 0; for MultiDiscrete, entries of the "
        "flat mask (all choices of the first part, then of the second, …); for MultiBinary, "
        "buttons that may be pressed.",
    )


def wrap(config: Config, env: Env) -> Env:
    return ActionMask(env, config.valid)


class ActionMask(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Env, valid: tuple[int, ...]) -> None:
        super().__init__(env)
        parts = mask_parts(env.action_space, "action_mask")
        size = sum(parts)
        outside = [index for index in valid if not 0 <= index < size]
        if outside:
            raise UserError(f"action_mask: {outside[0]} is not one of the actions 0 to {size - 1}")
        self._mask = np.zeros(size, dtype=np.bool_)
        self._mask[list(valid)] = True
        self._check_every_part(parts)

    def _check_every_part(self, parts: list[int]) -> None:
        """A button may stay unpressed, but every other part needs a choice."""
        for index, part in enumerate(np.split(self._mask, np.cumsum(parts)[:-1])):
            if len(part) > 1 and not part.any():
                raise UserError(f"action_mask leaves no choice for part {index} of the action")

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._masked(info)

    def step(self, action: object) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, float(reward), terminated, truncated, self._masked(info)

    def _masked(self, info: Mapping[str, object]) -> dict[str, object]:
        mask = self._mask.copy()
        if "action_mask" in info:
            mask &= encode_mask(info["action_mask"]).astype(np.bool_)
        return {**info, "action_mask": mask}
