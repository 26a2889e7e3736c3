"""Curves for the browser: the histories that pages share, and numbers as charts want them."""

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from spotter.rundir.alerts import Raised
from spotter.rundir.files import line_object
from spotter.rundir.history import Doubles, History, downsample
from spotter.rundir.lines import Tail
from spotter.rundir.run import Run
from spotter.rundir.view import fps_of, wall_fps_of

SCORE: Final = "train/score"
AXES: Final = {
    "env steps": "env_steps",
    "vector steps": "vector_steps",
    "time": "time/elapsed_s",
}
_REMEMBERED: Final = 32
"""Whole histories kept in memory; a run of 5,000 updates takes 3 MB."""
_SCORES: Final = re.compile(rb'"train/score": ?([-0-9.eE+]+)')
_ABOUT_ALERTS: Final = re.compile(rb'"event": ?"(?:alerts?|resume)"')


class Histories:
    """The histories of the runs looked at lately; shared by all pages, safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: OrderedDict[Path, History] = OrderedDict()
        self._glances: dict[Path, _Glances] = {}

    def of(self, run: Run) -> History:
        """The run's metrics as they are now."""
        with self._lock:
            history = self._histories.pop(run.metrics_path, None) or History(run.metrics_path)
            self._histories[run.metrics_path] = history
            while len(self._histories) > _REMEMBERED:
                self._histories.popitem(last=False)
            return history.refresh()

    def glance(self, run: Run) -> "Glance":
        """The little a list of many runs shows of each: reads without parsing."""
        with self._lock:
            return self._glances.setdefault(run.folder, _Glances(run)).refresh()


@dataclass(frozen=True)
class Glance:
    """A run as a list shows it."""

    scores: Doubles
    fps: float | None
    wall_fps: float | None
    alerts: tuple[str, ...]


class _Glances:
    """Follows `train/score`, the last row, and the alerts of one run."""

    def __init__(self, run: Run) -> None:
        self._rows, self._events = Tail(run.metrics_path), Tail(run.events_path)
        self._scores: array[float] = array("d")
        self._row: Mapping[str, Any] = {}
        self._alerts = Raised()

    def refresh(self) -> Glance:
        again, blocks = self._rows.read()
        if again:
            self._scores, self._row = array("d"), {}
        for block in blocks:
            self._scores.extend(_floats(_SCORES.findall(block)))
            self._row = line_object(block[block.rfind(b"\n", 0, -1) + 1 :]) or self._row
        again, blocks = self._events.read()
        if again:
            self._alerts = Raised()
        for block in blocks:
            for line in block.splitlines():
                if _ABOUT_ALERTS.search(line) and (event := line_object(line)):
                    self._alerts.add(event)
        rates = fps_of(self._row), wall_fps_of(self._row)
        return Glance(np.array(self._scores), *rates, tuple(self._alerts.ids))


def _floats(found: list[bytes]) -> Iterator[float]:
    for text in found:
        with suppress(ValueError):
            yield float(text)


def pairs(x: Doubles, y: Doubles) -> list[list[float]]:
    """As ECharts wants it; six digits are more than a screen shows, and travel faster."""
    return [
        [float(f"{a:.9g}"), float(f"{b:.6g}")] for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def sparkline(values: Doubles, points: int = 40) -> str:
    """The `points` attribute of an SVG polyline in a 100 × 24 box; empty for fewer than two."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return ""
    x, y = downsample(np.arange(len(finite), dtype=np.float64), finite, points)
    low, high = float(y.min()), float(y.max())
    height = (high - low) or 1.0
    return " ".join(_dots(x / x[-1] * 100, 22 - (y - low) / height * 20))


def _dots(x: Doubles, y: Doubles) -> Iterator[str]:
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        yield f"{a:.1f},{b:.1f}"
