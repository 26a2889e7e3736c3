"""Repeat each action for several raw frames: decisions become fewer and further apart.

Rewards of the skipped frames add up, an episode's end stops the repetition, and with `pool` the
observation is the brighter of the last two raw frames (things that flicker every other frame stay
visible). Score and reward signals sit below and see every frame.
"""

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import SeededWrapper, Start, Step, needs_box


class Config(WrapperConfig):
    name: Literal["frame_skip"]
    skip: Whole | Annotated[tuple[Whole, Whole], Field(strict=False)] = Field(
        4, description="Raw frames per decision; [min, max] draws the number for each decision."
    )
    pool: bool = Field(False, description="Maximum over the last two raw frames.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.bounds
        if not 1 <= low <= high:
            raise ValueError("`skip` is at least 1, or [min, max] with min up to max")
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        return self.skip if isinstance(self.skip, tuple) else (self.skip, self.skip)


def wrap(config: Config, env: Env) -> Env:
    return FrameSkip(env, config)


class FrameSkip(SeededWrapper):
    def __init__(self, env: Env, config: Config) -> None:
        super().__init__(env)
        if config.pool:
            needs_box(env, "frame_skip with pool")
        self._pools = config.pool
        self._low, self._high = config.bounds
        self._before_last: Any = None
        self._last: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = super().reset(seed=seed, options=options)
        if self._pools:
            self._before_last = self._last = np.array(obs)
        return obs, info

    def step(self, action: Any) -> Step:
        total = 0.0
        for _ in range(self._frames()):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if self._pools:
                self._before_last, self._last = self._last, np.array(obs)
            if terminated or truncated:
                break
        if self._pools:
            obs = np.maximum(self._before_last, self._last)
        return obs, total, terminated, truncated, info

    def _frames(self) -> int:
        if self._low == self._high:
            return self._low
        return int(self.draw.integers(self._low, self._high + 1))
