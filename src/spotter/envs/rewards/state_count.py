"""Which region of state space this is, for rewarding rarely visited ones.

A Discrete observation is its own region. Floats are cut into `bins` slices per dimension between
the space's bounds, or between `low` and `high` where it has none. Whole numbers, such as the tiles
of a grid world, count as they are. Of a Dict, `leaves` names the entries that matter.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import CountConfig, Whole
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.plugins import did_you_mean
from spotter.types import UserError

_UNBOUNDED: Final = 1e6  # as in envs/spaces.py: Gymnasium writes "no bound" as inf or max float
_MOST_CELLS: Final = 2**53  # cells travel as floats, exact up to here
_BINS: Final = 10

Bins = Annotated[Whole, Field(ge=1)]
Bounds = tuple[float | None, ...]
Reader = Callable[[Any], bytes]
"""What makes bytes of one entry of an observation."""


class Config(CountConfig):
    source: Literal["state_count"]
    bins: Bins | Annotated[tuple[Bins, ...], Field(strict=False)] | None = Field(
        None,
        description=(
            "Slices per dimension; a list gives each dimension its own; null: 10 for floats, "
            "whole numbers as they are."
        ),
    )
    low: Bounds | None = Field(
        None, strict=False, description="Lower ends, one per dimension; null entries: the space's."
    )
    high: Bounds | None = Field(
        None, strict=False, description="Upper ends, one per dimension; null entries: the space's."
    )
    leaves: tuple[str, ...] | None = Field(
        None, strict=False, min_length=1, description="Entries of a Dict that count; null: all."
    )


def make(config: Config, env: Env) -> Signal:
    space = env.observation_space
    if config.leaves is not None and not isinstance(space, gs.Dict):
        raise UserError(
            f"reward signal state_count: `leaves` needs a Dict observation, not {space}"
        )
    if isinstance(space, gs.Discrete):
        return OwnState(int(space.start))
    if isinstance(space, gs.Box) and not _is_whole(config, space):
        grid = Grid(config, space)
        return grid if grid.cells <= _MOST_CELLS else Hashed({"": grid.slices})
    return Hashed(_readers(config, space))


def _readers(config: Config, space: gs.Space[Any]) -> dict[str, Reader]:
    """What makes bytes of each entry that counts; a space that is no Dict has one, without name."""
    if not isinstance(space, gs.Dict):
        return {"": _reader(config, space, "")}
    if config.low is not None or config.high is not None or isinstance(config.bins, tuple):
        raise UserError(
            "reward signal state_count: `low`, `high` and a list of `bins` are for one Box; of a "
            "Dict observation count the entries that have bounds (`leaves`)"
        )
    names = tuple(space.spaces) if config.leaves is None else config.leaves
    for name in names:
        if name not in space.spaces:
            hint = did_you_mean(name, space.spaces)
            raise UserError(f"reward signal state_count: the observation has no '{name}'{hint}")
    return {name: _reader(config, space.spaces[name], name) for name in names}


def _reader(config: Config, space: gs.Space[Any], name: str) -> Reader:
    if isinstance(space, gs.Box):
        return _whole if _is_whole(config, space) else Grid(config, space, name).slices
    if isinstance(space, gs.Discrete | gs.MultiDiscrete | gs.MultiBinary):
        return _whole
    if isinstance(space, gs.Text):
        return _text
    where = f"entry '{name}' is {space}; leave it out with `leaves`" if name else f"not {space}"
    raise UserError(f"reward signal state_count needs a Box, Discrete or Dict observation; {where}")


def _is_whole(config: Config, space: gs.Box) -> bool:
    return config.bins is None and np.issubdtype(space.dtype, np.integer)


def _whole(obs: Any) -> bytes:
    return np.ascontiguousarray(obs, np.int64).tobytes()


def _text(obs: Any) -> bytes:
    return str(obs).encode()


class OwnState:
    kind: Kind = "cell"

    def __init__(self, first: int) -> None:
        self._first = first

    def start(self, obs: Any, info: Mapping[str, object]) -> float:
        return float(obs - self._first)

    def step(self, obs: Any, action: object, reward: float, info: Mapping[str, object]) -> float:
        return float(obs - self._first)


class Hashed:
    """Observations with more cells than a number can name: 53 bits of a hash name them.

    Of a million cells, two share a name with a probability of 1 in 18,000.
    """

    kind: Kind = "cell"

    def __init__(self, readers: Mapping[str, Reader]) -> None:
        self._readers = readers

    def start(self, obs: Any, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def step(self, obs: Any, action: object, reward: float, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def _cell(self, obs: Any) -> float:
        parts = [read(obs[name] if name else obs) for name, read in self._readers.items()]
        digest = hashlib.blake2b(b"\0".join(parts), digest_size=8).digest()
        return float(int.from_bytes(digest, "little") >> 11)


class Grid:
    kind: Kind = "cell"

    def __init__(self, config: Config, space: gs.Box, name: str = "") -> None:
        size = int(np.prod(space.shape))
        wish = _BINS if config.bins is None else config.bins
        bins = wish if isinstance(wish, tuple) else (wish,) * size
        _check_length("bins", bins, size)
        low, high = (
            _ends("low", config.low, space.low, name),
            _ends("high", config.high, space.high, name),
        )
        for index in range(size):
            if not low[index] < high[index]:
                raise UserError(
                    f"reward signal state_count: low {low[index]:g} is not below high "
                    f"{high[index]:g} in dimension {index}"
                )
        self.cells = math.prod(bins)
        self._low, self._width = low, (high - low) / np.array(bins)
        self._last = np.array(bins) - 1
        if self.cells <= _MOST_CELLS:
            self._place_values = np.cumprod([1, *bins[:-1]], dtype=np.int64)

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def step(self, obs: Any, action: object, reward: float, info: Mapping[str, object]) -> float:
        return self._cell(obs)

    def slices(self, obs: Any) -> bytes:
        """In which slice each dimension is, to be hashed."""
        return bytes(self._slices(obs).tobytes())

    def _cell(self, obs: Any) -> float:
        return float(self._slices(obs) @ self._place_values)

    def _slices(self, obs: Any) -> Any:
        slices = np.clip(np.floor((np.ravel(obs) - self._low) / self._width), 0, self._last)
        return slices.astype(np.int64)


def _check_length(field: str, values: tuple[object, ...], size: int) -> None:
    if len(values) != size:
        raise UserError(
            f"reward signal state_count: {field} has {len(values)} entries, "
            f"but the observation has {size} numbers"
        )


def _ends(field: str, given: Bounds | None, bounds: Any, name: str) -> Any:
    """The space's bounds, replaced by what is given."""
    ends = np.ravel(bounds).astype(np.float64)
    if given is not None:
        _check_length(field, given, len(ends))
        ends = np.array(
            [own if mine is None else mine for mine, own in zip(given, ends, strict=True)]
        )
    for index in np.flatnonzero(~(np.abs(ends) < _UNBOUNDED)):
        entry = f"entry '{name}'" if name else "the observation"
        remedy = "leave it out with `leaves`" if name else f"give `{field}` a number for it"
        raise UserError(
            f"reward signal state_count: dimension {index} of {entry} is unbounded; {remedy}"
        )
    return ends
