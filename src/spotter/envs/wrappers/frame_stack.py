"""Show the last k observations at once, so that one observation holds motion.

Vectors are joined along their last axis, images along their channels; a gray [H, W] image becomes
[H, W, k]. The newest observation comes last. The stack an episode ends with is its true last one:
clearing happens in `reset`, never at the end.
"""

from collections import deque
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import RGB_AXES, Start, Step, is_channels_first, needs_box


class Config(WrapperConfig):
    name: Literal["frame_stack"]
    count: Whole = Field(4, ge=1, le=1000, description="How many observations.")
    padding: Literal["reset", "zero"] = Field(
        "reset", description="What fills the first stack: the first observation repeated, or zeros."
    )


def wrap(config: Config, env: Env) -> Env:
    return FrameStack(env, config)


class FrameStack(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Env, config: Config) -> None:
        super().__init__(env)
        space = needs_box(env, "frame_stack")
        self._adds_axis = len(space.shape) == RGB_AXES - 1 and space.dtype == np.uint8
        self._axis = 0 if is_channels_first(space.shape) else -1
        self._zero_padded = config.padding == "zero"
        self._count = config.count
        self._frames: deque[object] = deque()
        self._zeros = np.zeros(space.shape, space.dtype)
        self.observation_space = self._stacked_space(space)

    def _stacked_space(self, space: gs.Box) -> gs.Box:
        low, high = space.low, space.high
        if self._zero_padded:
            low, high = np.minimum(low, self._zeros), np.maximum(high, self._zeros)
        low, high = self._join([low] * self._count), self._join([high] * self._count)
        return gs.Box(low, high, dtype=space.dtype.type)

    def _join(self, frames: list[Any]) -> Any:
        """Always a new array: callers may keep what they get."""
        if self._adds_axis:
            return np.stack(frames, axis=-1)
        return np.concatenate(frames, axis=self._axis)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        first = np.array(obs)
        padding = self._zeros if self._zero_padded else first
        self._frames = deque([padding] * self._count, maxlen=self._count)
        self._frames.append(first)
        return self._join(list(self._frames)), info

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._frames.append(np.array(obs))
        return self._join(list(self._frames)), float(reward), terminated, truncated, info
