"""Actions that do not always arrive as sent.

`std` adds Gaussian noise to Box actions; `probability` replaces discrete ones by a uniformly
random action, one that the environment's latest `action_mask` allows.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from gymnasium import spaces as gs
from pydantic import Field, model_validator

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.spaces import encode_mask
from spotter.envs.wrapping import Bools, SeededWrapper, Start, Step, mask_parts
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["action_noise"]
    std: float | None = Field(None, gt=0, description="Box: in the units of the action.")
    probability: float | None = Field(
        None, gt=0, le=1, description="Discrete: of a random action instead of the chosen one."
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.std is None) == (self.probability is None):
            raise ValueError("set one: `std` for Box actions or `probability` for discrete ones")
        return self


def wrap(config: Config, env: Env) -> Env:
    is_box = isinstance(env.action_space, gs.Box)
    if config.std is not None:
        if not is_box:
            raise UserError(
                "action_noise with `std` needs Box actions, but these are "
                f"{env.action_space}; use `probability`"
            )
        return GaussianActions(env, config.std)
    assert config.probability is not None
    if is_box:
        raise UserError(
            "action_noise with `probability` needs discrete actions, but these are "
            f"{env.action_space}; use `std`"
        )
    return RandomActions(env, config.probability)


class GaussianActions(SeededWrapper):
    def __init__(self, env: Env, std: float) -> None:
        super().__init__(env)
        assert isinstance(env.action_space, gs.Box)
        self._space = env.action_space
        self._std = std

    def step(self, action: Any) -> Step:
        noisy = action + self.draw.normal(0.0, self._std, self._space.shape)
        clipped = np.clip(noisy, self._space.low, self._space.high).astype(self._space.dtype)
        obs, reward, terminated, truncated, info = self.env.step(clipped)
        return obs, float(reward), terminated, truncated, info


class RandomActions(SeededWrapper):
    def __init__(self, env: Env, probability: float) -> None:
        super().__init__(env)
        self._parts = mask_parts(env.action_space, "action_noise")
        self._probability = probability
        self._everything = np.ones(sum(self._parts), dtype=np.bool_)
        self._valid = self._everything

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = super().reset(seed=seed, options=options)
        self._valid = self._mask(info)
        return obs, info

    def step(self, action: Any) -> Step:
        if self.draw.random() < self._probability:
            action = self._random_action()
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._valid = self._mask(info)
        return obs, float(reward), terminated, truncated, info

    def _mask(self, info: Mapping[str, object]) -> Bools:
        if "action_mask" not in info:
            return self._everything
        return encode_mask(info["action_mask"]).astype(np.bool_)

    def _random_action(self) -> object:
        space = self.env.action_space
        if isinstance(space, gs.MultiBinary):
            pressed = self.draw.integers(0, 2, len(self._parts)) & self._valid
            return pressed.reshape(space.shape).astype(np.int8)
        choices = np.split(self._valid, np.cumsum(self._parts)[:-1])
        drawn = [self.draw.choice(np.flatnonzero(valid)) for valid in choices]
        if isinstance(space, gs.Discrete):
            return int(drawn[0] + space.start)
        assert isinstance(space, gs.MultiDiscrete)
        return np.array(drawn).reshape(space.nvec.shape) + space.start
