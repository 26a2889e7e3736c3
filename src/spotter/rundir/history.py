"""Every metric of a run as a column: metrics.jsonl read once and followed, and curves thinned.

Thinning keeps the least and the greatest value of every stretch, so that no spike gets lost. A file
is read on from where the last look ended; one that was cut by a resume, thinned or written again is
read again.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from spotter.rundir.lines import Tail, Unread
from spotter.rundir.thinning import NOTE, held, updates

Doubles = npt.NDArray[np.float64]

MOST_POINTS: Final = 500
_MOST_NUMBERS: Final = 40_000_000
"""Of all columns together, 320 MB; beyond, no column is begun. A run has a tenth of it."""
_TOGETHER: Final = 1024
"""Rows taken up at once: their columns are built in one go."""


@dataclass(slots=True)
class Held:
    """In which updates an alert held."""

    updates: int
    first_row: int
    last_update: int
    """Counted from the first row on; with those left out behind the last row that names it."""


class History:
    """Every metric of one run as a column; NaN where a row lacks it, infinity where it broke."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._columns: dict[str, array[float]] = {}
        self._numbers = 0
        self.rows = 0
        self.updates = 0
        """More than rows where the file was thinned."""
        self.alerts: dict[str, Held] = {}
        self.version = 0
        """Grows whenever there is something new to draw."""

    def refresh(self) -> "History":
        again, blocks = self._tail.read()
        if again:
            self._columns, self._numbers, self.rows, self.updates = {}, 0, 0, 0
            self.alerts = {}
        self.version += again
        for block in blocks:
            for rows in _alike(block, self._tail.unread):
                self._add(rows)
            self.version += 1
            if self._tail.unread.is_too_much:
                break
        return self

    @property
    def problem(self) -> str:
        """A sentence about what could not be read; empty if all of it was."""
        return self._tail.unread.sentence()

    @property
    def keys(self) -> list[str]:
        return list(self._columns)

    def __contains__(self, key: str) -> bool:
        return key in self._columns

    def column(self, key: str) -> Doubles:
        """[rows]"""
        rows, known = self.rows, self._columns.get(key)
        values = np.full(rows, math.nan)
        if known is not None:
            part = known[:rows]  # a copy: another thread may be adding to the column meanwhile
            values[: len(part)] = part
        return values

    def curve(self, key: str, axis: str = "env_steps") -> tuple[Doubles, Doubles]:
        """The points of a metric that are finite, along `env_steps` or another column."""
        x, y = self._aligned(axis, key)
        there = np.isfinite(x) & np.isfinite(y)
        return x[there], y[there]

    def written(self, key: str, axis: str = "env_steps") -> tuple[Doubles, Doubles]:
        """Every point of a metric; infinity where it was not a finite number."""
        x, y = self._aligned(axis, key)
        there = np.isfinite(x) & ~np.isnan(y)
        return x[there], y[there]

    def broken(self, key: str, axis: str = "env_steps") -> Doubles:
        """Where a metric was written, but was not a finite number."""
        x, y = self._aligned(axis, key)
        return x[np.isinf(y)]

    def _aligned(self, *keys: str) -> list[Doubles]:
        """Columns of one length, though rows may be coming in."""
        columns = [self.column(key) for key in keys]
        rows = min(map(len, columns))
        return [column[:rows] for column in columns]

    def last(self, key: str) -> float:
        """NaN if it was never written."""
        values = self.column(key)
        there = values[~np.isnan(values)]
        return float(there[-1]) if there.size else math.nan

    def _add(self, rows: list[dict[str, Any]]) -> None:
        """Rows with the same keys in the same order: a whole column at a time."""
        for key, values in zip(rows[0], zip(*map(dict.values, rows), strict=True), strict=True):
            numbers = _numbers(values)
            if numbers is None:
                continue
            column = self._columns.get(key)
            if column is None:
                if self._numbers + self.rows > _MOST_NUMBERS:
                    continue
                column = self._columns[key] = array("d")
            before = len(column)
            if before < self.rows:
                column.extend([math.nan] * (self.rows - before))
            column.extend(numbers)
            self._numbers += len(column) - before
        if {NOTE, "alerts"} & rows[0].keys():
            self._count_alerts(rows)
        self.rows += len(rows)
        self.updates += sum(map(updates, rows)) if NOTE in rows[0] else len(rows)

    def _count_alerts(self, rows: list[dict[str, Any]]) -> None:
        done = self.updates
        for place, row in enumerate(rows, self.rows):
            done += updates(row)
            for name, times in held(row).items():
                known = self.alerts.setdefault(name, Held(0, place, 0))
                known.updates += times
                known.last_update = done


def _alike(data: bytes, unread: Unread) -> Iterator[list[dict[str, Any]]]:
    """The rows of some lines, in runs that have the same keys; what is no row is passed over."""
    rows: list[dict[str, Any]] = []
    keys: list[str] = []
    for line in data.splitlines():
        try:
            row = orjson.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            unread.add(line)
            continue
        if rows and (len(rows) >= _TOGETHER or list(row) != keys):
            yield rows
            rows = []
        if not rows:
            keys = list(row)
        rows.append(row)
    if rows:
        yield rows


def _numbers(values: Sequence[Any]) -> "array[float] | None":
    """None if not one of them is a number."""
    try:
        return array("d", values)
    except TypeError:
        found = [_number(value) for value in values]
        if all(number is None for number in found):
            return None
        return array("d", [math.nan if number is None else number for number in found])


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    if value in ("nan", "inf", "-inf"):
        return math.inf
    return None


def smooth(y: Doubles, weight: float) -> Doubles:
    """Exponential moving average, without the pull towards zero at the beginning."""
    if not 0 < weight < 1:
        return y
    smoothed, mean, debt = np.empty_like(y), 0.0, 1.0
    for place, value in enumerate(y.tolist()):
        mean = weight * mean + (1 - weight) * value
        debt *= weight
        smoothed[place] = mean / (1 - debt)
    return smoothed


def downsample(x: Doubles, y: Doubles, points: int = MOST_POINTS) -> tuple[Doubles, Doubles]:
    """At most about `points` of them: the least and greatest of each stretch, first and last.

    `x` ascends. Points stay where they were; none is invented.
    """
    if len(x) <= points:
        return x, y
    stretches = max(1, points // 2 - 1)
    share = (x - x[0]) / ((x[-1] - x[0]) or 1.0)
    place = np.minimum((share * stretches).astype(np.intp), stretches - 1)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    ends = [*starts[1:].tolist(), len(x)]
    kept = {0, len(x) - 1}
    for start, end in zip(starts.tolist(), ends, strict=True):
        part = y[start:end]
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    chosen = np.array(sorted(kept), dtype=np.intp)
    return x[chosen], y[chosen]
