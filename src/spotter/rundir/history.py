"""Every metric of a run as a column: metrics.jsonl read once, followed, and thinned.

Thinning keeps the least and the greatest value of every stretch, so that no spike gets lost. A file
is read on from where the last look ended; one that was shortened by a resume is read anew.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

Doubles = npt.NDArray[np.float64]

MOST_POINTS: Final = 500
_CHECKED_BYTES: Final = 64
_TOGETHER: Final = 1024
"""Rows taken up at once: their columns are built in one go."""


class Tail:
    """The complete lines a file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._before = b""
        """The last bytes read: if they changed, the file is another one."""

    def read(self) -> tuple[bool, bytes]:
        """Whether to begin anew, and the new lines. A file that is gone reads as empty."""
        try:
            with self._path.open("rb") as file:
                anew = not self._goes_on(file)
                if anew:
                    self._offset, self._before = 0, b""
                file.seek(self._offset)
                data = file.read()
        except OSError:
            anew, self._offset, self._before = self._offset > 0, 0, b""
            return anew, b""
        data = data[: data.rfind(b"\n") + 1]
        if data:
            self._offset += len(data)
            self._before = (self._before + data[-_CHECKED_BYTES:])[-_CHECKED_BYTES:]
        return anew, data

    def _goes_on(self, file: Any) -> bool:
        file.seek(self._offset - len(self._before))
        return bool(file.read(len(self._before)) == self._before)


class History:
    """Every metric of one run as a column; NaN where a row lacks it, infinity where it broke."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._columns: dict[str, array[float]] = {}
        self.rows = 0
        self.version = 0
        """Grows whenever there is something new to draw."""

    def refresh(self) -> "History":
        anew, data = self._tail.read()
        if anew:
            self._columns, self.rows = {}, 0
        for rows in _alike(data):
            self._add(rows)
        self.version += bool(anew or data)
        return self

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
                column = self._columns[key] = array("d")
            if len(column) < self.rows:
                column.extend([math.nan] * (self.rows - len(column)))
            column.extend(numbers)
        self.rows += len(rows)


def _alike(data: bytes) -> Iterator[list[dict[str, Any]]]:
    """The rows of some lines, in runs that have the same keys; what is no row is passed over."""
    rows: list[dict[str, Any]] = []
    keys: list[str] = []
    for line in data.splitlines():
        try:
            row = orjson.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
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
