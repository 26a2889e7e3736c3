"""metrics.jsonl, read by this module alone: every metric as a column, or one of them by search.

`History` parses every row. `Search` looks for one name in the bytes and parses nothing, for pages
that show one metric of many runs. Both read on from where the last look ended; a file that was cut
by a resume, thinned or written again is read again.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from spotter.rundir.files import line_object
from spotter.rundir.lines import Tail, Unread
from spotter.rundir.thinning import NOTE, held, updates

Doubles = npt.NDArray[np.float64]

AXES: Final = ("update", "env_steps", "vector_steps")
"""What every row has besides its metrics."""

_MOST_NUMBERS: Final = 40_000_000
"""Of all columns together, 320 MB; beyond, no column is begun. A run has a tenth of it."""
_TOGETHER: Final = 1024
"""Rows added at once: their columns are built together."""


class Curve(NamedTuple):
    """One metric of one run."""

    env_steps: Doubles
    values: Doubles

    @property
    def last(self) -> float:
        return float(self.values[-1])

    @property
    def varies(self) -> bool:
        return bool((self.values != self.values[:1]).any())

    def finite(self) -> "Curve":
        kept = np.isfinite(self.values) & np.isfinite(self.env_steps)
        return Curve(self.env_steps[kept], self.values[kept])


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

    def curve(self, key: str, axis: str = "env_steps") -> Curve:
        """The points of a metric that are finite, along `env_steps` or another column."""
        return Curve(*self._aligned(axis, key)).finite()

    def written(self, key: str, axis: str = "env_steps") -> Curve:
        """Every point of a metric; infinity where it was not a finite number."""
        x, y = self._aligned(axis, key)
        there = np.isfinite(x) & ~np.isnan(y)
        return Curve(x[there], y[there])

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

    def _add(self, rows: Sequence[dict[str, object]]) -> None:
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

    def _count_alerts(self, rows: Sequence[dict[str, object]]) -> None:
        done = self.updates
        for place, row in enumerate(rows, self.rows):
            done += updates(row)
            for name, times in held(row).items():
                known = self.alerts.setdefault(name, Held(0, place, 0))
                known.updates += times
                known.last_update = done


def _alike(data: bytes, unread: Unread) -> Iterator[list[dict[str, object]]]:
    """The rows of some lines, in runs that have the same keys; what is no row is passed over."""
    rows: list[dict[str, object]] = []
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


def _number(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    if value in ("nan", "inf", "-inf"):
        return math.inf
    return None


# --- by search -----------------------------------------------------------------------------------

_STEPS: Final = b'"env_steps":'
_MANY, _FEW = 20, 4
"""Rows at either end that are looked at for names, and five times as many of the longest: those
with something rare in them, such as an evaluation, are longer."""


class Search:
    """One metric of a run, found in the bytes of its rows: a sixtieth of what parsing them costs.

    Rows begin with `update` and `env_steps`, and numbers stand behind their names; nothing else is
    assumed. `with_names`: the names of all metrics are collected on the way.
    """

    def __init__(self, path: Path, key: str, with_names: bool = False) -> None:
        self._tail = Tail(path)
        self._name = orjson.dumps(key) + b":"
        self._with_names = with_names
        self.version = 0
        """Grows whenever there is something new to draw."""
        self._restart()

    def _restart(self) -> None:
        self.curve = Curve(np.empty(0), np.empty(0))
        """Its finite points."""
        self.last_row: dict[str, object] = {}
        self.names: dict[str, None] = {}
        """In their order; one that was written in a few short rows only may be missed."""

    def refresh(self) -> "Search":
        again, blocks = self._tail.read()
        self.version += again
        if again:
            self._restart()
        for block in blocks:
            self.version += 1
            both = zip(self.curve, _points(block, self._name), strict=True)
            self.curve = Curve(*map(np.concatenate, both))
            self.last_row = line_object(block[block.rfind(b"\n", 0, -1) + 1 :]) or self.last_row
            if self._with_names:
                self.names |= _names(block, bool(self.names))
        return self


def _points(block: bytes, name: bytes) -> Curve:
    """Env steps and value of each line that has the name, where both are finite."""
    numbers = array("d")
    find, at = block.find, block.find(name)
    while at >= 0:
        end = find(b"\n", at)
        steps = find(_STEPS, block.rfind(b"\n", 0, at) + 1, end)
        if steps >= 0:
            for start in (steps + len(_STEPS), at + len(name)):
                comma = find(b",", start, end)
                text = block[start : comma if comma >= 0 else end]
                try:
                    numbers.append(float(text))
                except ValueError:  # the last of its row, or not finite, which is written as text
                    numbers.append(_float(text))
        at = find(name, end)
    return Curve(*np.array(numbers).reshape(-1, 2).T).finite()


def _float(text: bytes) -> float:
    try:
        return float(text.strip(b' "}\r'))
    except ValueError:
        return math.nan


def _names(block: bytes, known: bool) -> dict[str, None]:
    """Of the metrics in a sample of rows; a smaller one where most are `known`."""
    lines, few = block.splitlines(), _FEW if known else _MANY
    sample = [*lines[:few], *lines[-few:], *sorted(lines, key=len)[-5 * few :]]
    rows = [row for rows in _alike(b"\n".join(sample), Unread(Path())) for row in rows]
    return {key: None for row in rows for key in row if _number(row[key]) is not None}
