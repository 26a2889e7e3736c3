"""What several wrappers share: their own random streams, value ranges, and one-sentence refusals.

Not a plug-in itself. A wrapper file holds `Config(WrapperConfig)` and `wrap(config, env)`.
"""

import math
import zlib
from collections.abc import Iterator
from typing import Annotated, Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs
from pydantic import AfterValidator, BeforeValidator, Field

from spotter.envs.base import Env
from spotter.envs.spaces import Space
from spotter.types import UserError

Step = tuple[Any, float, bool, bool, dict[str, Any]]
Start = tuple[Any, dict[str, Any]]
Bools = npt.NDArray[np.bool_]

RGB_AXES: Final = 3


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_pair(value: object) -> object:
    """A single number is the range that holds only it."""
    return (value, value) if is_number(value) else value


def ordered(pair: tuple[float, float]) -> tuple[float, float]:
    if not all(math.isfinite(end) for end in pair) or pair[0] > pair[1]:
        raise ValueError(f"a range is [low, high] with low up to high, not {list(pair)}")
    return pair


Range = Annotated[
    tuple[float, float],
    BeforeValidator(_as_pair, json_schema_input_type=float | tuple[float, float]),
    AfterValidator(ordered),
    Field(strict=False),
]
"""[low, high], or one number for both."""


class SeededWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper with its own random stream, so it never shifts the environment's.

    `reset(seed=…)` reseeds the stream; `reset()` continues it.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        # Two wrappers of one class in a stack must not draw the same numbers.
        twins = sum(type(layer) is type(self) for layer in layers(env))
        self._key = [zlib.crc32(type(self).__name__.encode()), twins]
        self.draw = np.random.default_rng()

    def reseed(self, seed: int | None) -> None:
        if seed is not None:
            self.draw = np.random.default_rng([seed, *self._key])

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        self.reseed(seed)
        return self.env.reset(seed=seed, options=options)


def layers(env: Env) -> Iterator[Env]:
    """The wrappers of a stack from the outside in, then the bare environment."""
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def needs_box(env: Env, wrapper: str) -> gs.Box:
    """The observation space, if it is one array of numbers."""
    space = env.observation_space
    if not isinstance(space, gs.Box) or not space.shape:
        raise UserError(f"{wrapper} needs a Box observation, but this one is {space}")
    return space


def needs_picture(env: Env, wrapper: str) -> gs.Box:
    """The observation space, if it is a uint8 image [H, W] or [H, W, C]."""
    space = env.observation_space
    if isinstance(space, gs.Box) and space.dtype == np.uint8:
        if len(space.shape) == RGB_AXES - 1:
            return space
        if len(space.shape) == RGB_AXES and not is_channels_first(space.shape):
            return space
    raise UserError(
        f"{wrapper} needs uint8 images of shape [height, width] or [height, width, channels], "
        f"but this observation is {space}"
    )


def is_channels_first(shape: tuple[int, ...]) -> bool:
    """The same rule as envs/spaces.py: channels are the shorter outer axis."""
    return len(shape) == RGB_AXES and shape[0] < shape[2]


def mask_parts(space: Space, wrapper: str) -> list[int]:
    """How many mask entries each component of an action has; one entry per button if binary."""
    if isinstance(space, gs.Discrete):
        return [int(space.n)]
    if isinstance(space, gs.MultiDiscrete):
        return [int(n) for n in space.nvec.ravel()]
    if isinstance(space, gs.MultiBinary):
        return [1] * int(np.prod(space.shape))
    raise UserError(f"{wrapper} needs discrete actions, but these are {space}")
