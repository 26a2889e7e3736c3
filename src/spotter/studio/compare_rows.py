"""One metric of many runs, quickly: metrics.jsonl is searched for it instead of being parsed.

A page that draws one metric of twenty runs needs a sixtieth of what their files hold. Rows begin
with `update` and `env_steps`, and numbers stand behind their names; nothing else is assumed.
"""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from spotter.rundir.lines import Tail
from spotter.rundir.run import Run
from spotter.studio.groups import Curve

_REMEMBERED: Final = 64
_LONGEST: Final = 100  # rows with something rare in them, such as an evaluation, are longer
_ENDS: Final = 20
_STEPS: Final = b'"env_steps":'


class Rows:
    """The rows a file held at one moment."""

    def __init__(self, path: Path, version: tuple[int, int]) -> None:
        self._path = path
        self.version = version
        self._curves: dict[str, Curve] = {}
        self._keys: list[str] | None = None

    def prepare(self, key: str) -> None:
        """Look up a metric and all names in one go: reading the file takes most of the time."""
        if key not in self._curves or self._keys is None:
            lines = self._lines()
            self._keys, self._curves[key] = _keys(lines), _curve(lines, key)

    @property
    def keys(self) -> list[str]:
        """Names of metrics; one that was written in a few short rows only may be missed."""
        if self._keys is None:
            self._keys = _keys(self._lines())
        return self._keys

    def __contains__(self, key: str) -> bool:
        return self.curve(key).values.size > 0

    def curve(self, key: str) -> Curve:
        if key not in self._curves:
            self._curves[key] = _curve(self._lines(), key)
        return self._curves[key]

    def _lines(self) -> list[bytes]:
        _, blocks = Tail(self._path).read()
        return [line for block in blocks for line in block.splitlines()]


def _keys(lines: list[bytes]) -> list[str]:
    told = [*lines[:_ENDS], *lines[-_ENDS:], *sorted(lines, key=len)[-_LONGEST:]]
    found: dict[str, None] = {}
    for line in told:
        try:
            row = orjson.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found |= dict.fromkeys(key for key, value in row.items() if _is_number(value))
    return list(found)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or value in ("nan", "inf", "-inf")


def _curve(lines: list[bytes], key: str) -> Curve:
    name = orjson.dumps(key) + b":"
    steps: list[float] = []
    values: list[float] = []
    for line in lines:
        value = _number(line, name)
        if value is not None:
            at = _number(line, _STEPS)
            if at is not None:
                steps.append(at)
                values.append(value)
    return Curve(np.array(steps), np.array(values)).finite()


def _number(line: bytes, name: bytes) -> float | None:
    """What stands behind a name, up to the next comma or the end of the row."""
    start = line.find(name)
    if start < 0:
        return None
    start += len(name)
    end = line.find(b",", start)
    text = line[start : end if end >= 0 else line.rfind(b"}")]
    try:
        return float(text.strip(b' "'))
    except ValueError:
        return None


class Shelf:
    """Rows of the runs that were looked at lately; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: OrderedDict[Path, Rows] = OrderedDict()

    def of(self, run: Run) -> Rows:
        """The run's rows as they are now."""
        try:
            stat = run.metrics_path.stat()
            version = (stat.st_size, stat.st_mtime_ns)
        except OSError:
            version = (0, 0)
        with self._lock:
            rows = self._rows.pop(run.metrics_path, None)
            if rows is None or rows.version != version:
                rows = Rows(run.metrics_path, version)
            self._rows[run.metrics_path] = rows
            while len(self._rows) > _REMEMBERED:
                self._rows.popitem(last=False)
        return rows
