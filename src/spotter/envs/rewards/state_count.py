"""Which region of state space this is, for rewarding rarely visited ones.

A Discrete observation is its own region; a Box is cut into `bins` slices per dimension between
the space's bounds, or between `low` and `high` where it has none.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import SignalConfig, Whole
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError

_UNBOUNDED: Final = 1e6  # as in envs/spaces.py: Gymnasium writes "no bound" as inf or max float
_MOST_CELLS: Final = 2**53  # cells travel as floats, exact up to here

Bins = Annotated[Whole, Field(ge=1)]
Bounds = tuple[float | None, ...]


class Config(SignalConfig):
    source: Literal["state_count"]
    bins: Bins | Annotated[tuple[Bins, ...], Field(strict=False)] = Field(
        10, description="Slices per dimension; a list gives each dimension its own."
    )
    low: Bounds | None = Field(
        None, strict=False, description="Lower ends, one per dimension; null entries: the space's."
    )
    high: Bounds | None = Field(
        None, strict=False, description="Upper ends, one per dimension; null entries: the space's."
    )


def make(config: Config, env: Env) -> Signal:
    space = env.observation_space
    if isinstance(space, gs.Discrete):
        return OwnState(int(space.start))
    if isinstance(space, gs.Box):
        return Grid(config, space)
    raise UserError(f"reward signal state_count needs a Box or Discrete observation, not {space}")


class OwnState:
    kind: Kind = "cell"

    def __init__(self, first: int) -> None:
        self._first = first

    def start(self, obs: Any, info: Mapping[str, object]) -> float:
        return float(obs - self._first)

    def step(self, obs: Any, action: object, reward: float, info: Mapping[str, object]) -> float:
        return float(obs - self._first)


class Grid:
    kind: Kind = "cell"

    def __init__(self, config: Config, space: gs.Box) -> None:
        size = int(np.prod(space.shape))
        bins = config.bins if isinstance(config.bins, tuple) else (config.bins,) * size
        _check_length("bins", bins, size)
        low, high = _ends("low", config.low, space.low), _ends("high", config.high, space.high)
        for index in range(size):
            if not low[index] < high[index]:
                raise UserError(
                    f"reward signal state_count: low {low[index]:g} is not below high "
                    f"{high[index]:g} in dimension {index}"
                )
        if math.prod(bins) > _MOST_CELLS:
            raise UserError("reward signal state_count has too many cells; use fewer bins")
        self._low, self._width = low, (high - low) / np.array(bins)
        self._last = np.array(bins) - 1
        self._place_values = np.cumprod([1, *bins[:-1]], dtype=np.int64)

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def step(self, obs: Any, action: object, reward: float, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def _cell(self, obs: Any) -> float:
        slices = np.clip(np.floor((np.ravel(obs) - self._low) / self._width), 0, self._last)
        return float(slices.astype(np.int64) @ self._place_values)


def _check_length(field: str, values: tuple[object, ...], size: int) -> None:
    if len(values) != size:
        raise UserError(
            f"reward signal state_count: {field} has {len(values)} entries, "
            f"but the observation has {size} numbers"
        )


def _ends(field: str, given: Bounds | None, bounds: Any) -> Any:
    """The space's bounds, replaced by what is given."""
    ends = np.ravel(bounds).astype(np.float64)
    if given is not None:
        _check_length(field, given, len(ends))
        ends = np.array(
            [own if mine is None else mine for mine, own in zip(given, ends, strict=True)]
        )
    for index in np.flatnonzero(~(np.abs(ends) < _UNBOUNDED)):
        raise UserError(
            f"reward signal state_count: dimension {index} of the observation is unbounded; "
            f"give `{field}` a number for it"
        )
    return ends
