"""Show the last k observations at once, so that one observation holds motion.

Vectors are joined along their last axis, images along their channels; a gray [H, W] image becomes
[H, W, k], a Discrete of n a MultiDiscrete of k times n; every part of a Dict is a stack of its own.
The newest observation comes last. The stack an episode ends with is its true last one: clearing
happens in `reset`, never at the end.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.spaces import Space
from spotter.envs.wrapping import RGB_AXES, Start, Step, is_channels_first
from spotter.types import UserError

Join = Callable[[Sequence[Any]], Any]


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
        self._frames: deque[object] = deque(maxlen=config.count)
        self._zeros = _zeros(env) if config.padding == "zero" else None
        self.observation_space, self._join = _stacked(env.observation_space, config)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        first = _copied(obs)
        padding = first if self._zeros is None else self._zeros
        self._frames.extend([padding] * (self._frames.maxlen or 0))
        self._frames.append(first)
        return self._join(list(self._frames)), info

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._frames.append(_copied(obs))
        return self._join(list(self._frames)), float(reward), terminated, truncated, info


def _copied(obs: Any) -> Any:
    """Environments may write into the array that they have handed out."""
    if isinstance(obs, dict):
        return {key: _copied(part) for key, part in obs.items()}
    return np.array(obs)


def _zeros(env: Env) -> object:
    space = env.observation_space
    if isinstance(space, gs.Box):
        return np.zeros(space.shape, space.dtype)
    raise UserError(
        f"frame_stack.padding: zero is for Box observations, and this one is {space}; use reset"
    )


def _stacked(space: Space, config: Config) -> tuple[Space, Join]:
    """The space of stacks, and what makes one of frames: always new arrays, which may be kept."""
    if isinstance(space, gs.Dict):
        parts = {key: _stacked(part, config) for key, part in space.items()}
        joins = {key: join for key, (_, join) in parts.items()}
        return gs.Dict({key: part for key, (part, _) in parts.items()}), lambda frames: {
            key: join([frame[key] for frame in frames]) for key, join in joins.items()
        }
    if isinstance(space, gs.Discrete | gs.MultiDiscrete):
        return _stacked_choices(space, config.count)
    if isinstance(space, gs.Box) and space.shape:
        return _stacked_numbers(space, config)
    raise UserError(
        "frame_stack needs Box, Discrete or MultiDiscrete observations, or a Dict of these, "
        f"but this one is {space}"
    )


def _stacked_choices(space: gs.Discrete | gs.MultiDiscrete, count: int) -> tuple[Space, Join]:
    choices = int(space.n) if isinstance(space, gs.Discrete) else space.nvec.ravel()
    nvec, start = (np.tile(x, count) for x in (choices, np.ravel(space.start)))
    joined = gs.MultiDiscrete(nvec, start=start)
    return joined, lambda frames: np.concatenate([np.ravel(frame) for frame in frames])


def _stacked_numbers(space: gs.Box, config: Config) -> tuple[Space, Join]:
    adds_axis = len(space.shape) == RGB_AXES - 1 and space.dtype == np.uint8
    axis = 0 if is_channels_first(space.shape) else -1

    def join(frames: Sequence[Any]) -> Any:
        return np.stack(frames, axis=-1) if adds_axis else np.concatenate(frames, axis=axis)

    low, high = space.low, space.high
    if config.padding == "zero":
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    low, high = join([low] * config.count), join([high] * config.count)
    return gs.Box(low, high, dtype=space.dtype.type), join
