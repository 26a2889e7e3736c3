"""The rows of a run as columns, and columns as lines short enough to draw.

A long column is cut into buckets along env steps; each keeps its mean, its least and its greatest
value, so a spike that lasted one update is still seen. Values that are not finite leave a gap and
are counted.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.rundir.history import Doubles, History

MOST_POINTS: Final = 600
_BUCKETS: Final = MOST_POINTS // 3  # each is a mean, a least and a greatest value
_STRETCHES: Final = 12
AXES: Final = {"update", "env_steps", "vector_steps"}


@dataclass(frozen=True)
class Column:
    """One metric: where it was written, and what; infinity where that was not finite."""

    env_steps: Doubles
    values: Doubles

    @property
    def last(self) -> float:
        return float(self.values[-1])

    @property
    def varies(self) -> bool:
        """Whether there is anything to draw."""
        return bool((self.values != self.values[0]).any())


class Curves:
    """The columns of a run's history that hold anything."""

    def __init__(self, history: History) -> None:
        columns = {key: Column(*history.written(key)) for key in history.keys if key not in AXES}
        self._columns = {key: column for key, column in columns.items() if len(column.values)}

    def __contains__(self, key: str) -> bool:
        return key in self._columns

    def __getitem__(self, key: str) -> Column:
        return self._columns[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)


@dataclass(frozen=True)
class Line:
    """What is drawn of a column. `low` and `high` are None where every value is drawn itself."""

    x: Doubles
    y: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    broken: tuple[float, ...] = ()
    """Env steps at which the value was not finite."""

    @property
    def least(self) -> float:
        return _extreme(self.y if self.low is None else self.low, np.fmin)

    @property
    def greatest(self) -> float:
        return _extreme(self.y if self.high is None else self.high, np.fmax)


def _extreme(values: Doubles, pick: np.ufunc) -> float:
    finite = values[np.isfinite(values)]
    return float(pick.reduce(finite)) if finite.size else math.nan


def line(column: Column) -> Line:
    """At most `MOST_POINTS` numbers; short columns are drawn as they are."""
    x, y = column.env_steps, column.values
    finite = np.isfinite(y)
    broken = tuple(x[~finite].tolist())
    if len(y) <= MOST_POINTS:
        return Line(x, np.where(finite, y, math.nan), broken=broken)
    x, y = x[finite], y[finite]
    if not y.size:
        return Line(x, y, broken=broken)
    place = bucket(x)
    count = np.bincount(place, minlength=_BUCKETS)
    low, high = np.full(_BUCKETS, np.inf), np.full(_BUCKETS, -np.inf)
    np.minimum.at(low, place, y)
    np.maximum.at(high, place, y)
    used = count > 0
    part = 1.0 / count[place]  # divided first: sums may overflow
    middle_x = np.bincount(place, x * part, _BUCKETS).astype(np.float64)
    middle_y = np.bincount(place, y * part, _BUCKETS).astype(np.float64)
    return Line(middle_x[used], middle_y[used], low[used], high[used], broken)


def bucket(x: Doubles, count: int = _BUCKETS) -> npt.NDArray[np.intp]:
    """Which of so many buckets each position along the axis falls into."""
    start, stop = float(x.min()), float(x.max())
    share = (x - start) / ((stop - start) or 1.0)
    return np.minimum((share * count).astype(np.intp), count - 1)


def shares(columns: Mapping[str, Column]) -> tuple[Doubles, dict[str, Doubles]]:
    """Each column's part of their sum, in a few stretches; what a row lacks counts as 0.

    Few, because evaluations fall into some rows only, and their time belongs to all of them.
    """
    every = np.unique(np.concatenate([column.env_steps for column in columns.values()]))
    few = len(every) <= _STRETCHES
    place_of = np.arange(len(every)) if few else bucket(every, _STRETCHES)
    width = len(every) if few else _STRETCHES
    sums: dict[str, Doubles] = {}
    for name, column in columns.items():
        place = place_of[np.searchsorted(every, column.env_steps)]
        values = np.nan_to_num(column.values, posinf=0.0, neginf=0.0)
        sums[name] = np.bincount(place, values, width).astype(np.float64)
    count = np.maximum(np.bincount(place_of, minlength=width), 1)
    middle = np.bincount(place_of, every, width) / count
    total = np.sum(list(sums.values()), axis=0)
    used = total > 0
    return middle[used], {name: part[used] / total[used] for name, part in sums.items()}


def sparkline(column: Column, width: int = 24) -> list[float]:
    """So many means along the row numbers; nan where nothing was finite."""
    parts = np.array_split(column.values, min(width, len(column.values)))
    finite = (part[np.isfinite(part)] for part in parts)
    return [float((part / part.size).sum()) if part.size else math.nan for part in finite]
