"""Curves as plain text: bars in a line, and charts with axes.

Charts are ASCII, which models read cheaply; bars cost up to three tokens each and are kept short
by their callers. The live table draws its own means with `sparkline`.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from spotter.charts.chart import Chart
from spotter.rundir.history import Curve, Doubles
from spotter.rundir.trend import bucket
from spotter.text.numbers import short

WIDTH: Final = 24
"""Bars on a page: enough to see a shape, few enough for a token budget."""
_BARS: Final = "▁▂▃▄▅▆▇█"
_ROUNDING: Final = 1e-12


def sparkline(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    span = high / 2 - low / 2  # halves, because two huge values may be an infinity apart
    if span <= _ROUNDING * max(abs(low), abs(high)):
        span = 0.0

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return " "
        return _BARS[round((value / 2 - low / 2) / span * (len(_BARS) - 1))] if span else _BARS[0]

    return "".join(bar(value) for value in values)


def spark(y: Doubles, width: int = WIDTH) -> str:
    """A line of at most `width` bars: means, but the least and greatest value as they are."""
    if not y.size:
        return ""
    finite = np.isfinite(y)
    if not finite.any():
        return " " * min(width, len(y))
    edges = np.linspace(0, len(y), min(width, len(y)) + 1).astype(np.intp)
    bars = [_mean(y[start:end]) for start, end in pairwise(edges.tolist())]
    middle = _mean(y)
    extremes = [
        int(np.where(finite, y, np.inf).argmin()),
        int(np.where(finite, y, -np.inf).argmax()),
    ]
    for place in sorted(extremes, key=lambda place: abs(y[place] - middle)):
        bars[int(np.searchsorted(edges, place, side="right")) - 1] = float(y[place])
    return sparkline(bars)


def _mean(values: Doubles) -> float:
    there = values[np.isfinite(values)]
    return float((there / there.size).sum()) if there.size else float("nan")


def drawn(chart: Chart, named: bool) -> list[str]:
    """A text for each line, under the title of its panel, and its own name if `named`."""
    return [
        plot(line.x, line.y, title=f"{panel.title} {line.name}" if named else panel.title)
        for panel in chart.panels
        for line in panel.lines
    ]


def plot(x: Doubles, y: Doubles, *, title: str = "", width: int = 72, height: int = 12) -> str:
    """A curve with axes: `*` the mean of each column, `:` between its least and greatest value."""
    x, y = Curve(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)).finite()
    head = [title] if title else []
    if not y.size:
        return "\n".join([*head, "(no finite value)"])
    labels = _labels(float(y.min()), float(y.max()), height)
    margin = max(map(len, labels))
    columns = max(8, width - margin - 2)
    lines = [
        f"{label:>{margin}} |{row}".rstrip()
        for label, row in zip(labels, _drawn(x, y, columns, height), strict=True)
    ]
    foot = f"{'':>{margin}} +{'-' * columns}"
    return "\n".join([*head, *lines, foot, _ruler(x, margin + 2, columns)])


def _drawn(x: Doubles, y: Doubles, columns: int, height: int) -> list[str]:
    """The rows of the chart, top first."""
    place = bucket(x, columns)
    low, high = float(y.min()), float(y.max())
    half = high / 2 - low / 2  # halves: two huge values may be an infinity apart
    level = (y / 2 - low / 2) / half if half else np.full(len(y), 0.5)
    grid = np.full((height, columns), " ")
    top = height - 1
    for column in np.unique(place).tolist():
        levels = level[place == column]
        least, mean, greatest = (
            round(float(value) * top) for value in (levels.min(), levels.mean(), levels.max())
        )
        grid[top - greatest : top - least + 1, column] = ":"
        grid[top - mean, column] = "*"
    return ["".join(row) for row in grid.tolist()]


def _labels(low: float, high: float, height: int) -> list[str]:
    """A number at the top, in the middle and at the foot."""
    at = {0: high, height - 1: low}
    if high > low and height >= 5:
        middle = (height - 1) // 2
        part = 1 - middle / (height - 1)
        at[middle] = low * (1 - part) + high * part
    if high == low:
        at = {height - 1 - round(0.5 * (height - 1)): low}
    return [short(at[row]) if row in at else "" for row in range(height)]


def _ruler(x: Doubles, indent: int, columns: int) -> str:
    """First, middle and last position below the axis."""
    first, last = float(x[0]), float(x[-1])
    if first == last:
        return " " * indent + short(first)
    start, middle, end = (short(v) for v in (first, (first + last) / 2, last))
    middle += " env steps"
    room = columns - len(start) - len(end)
    if room < len(middle) + 4:
        return f"{'':{indent}}{start}{end:>{max(columns - len(start), len(end) + 1)}}"
    return f"{'':{indent}}{start}{middle:^{room}}{end}"
