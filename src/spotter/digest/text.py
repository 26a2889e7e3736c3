"""Curves and lengths as plain text: sparklines, charts, and how many tokens a text is worth.

Charts are ASCII, which models read cheaply; sparklines cost up to three tokens a bar and are kept
short by their callers.
"""

import re
from itertools import pairwise
from typing import Final

import numpy as np

from spotter.display.series import sparkline
from spotter.display.words import amount
from spotter.rundir.history import Doubles

_PIECES: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]|[^\sA-Za-z0-9]|\n|[^\S\n]{2,}")
WIDTH: Final = 24
"""Bars of a sparkline on a page: enough to see a shape, few enough to pay for."""
_LETTERS: Final = 4
_LARGE: Final = 1e4


def tokens(text: str) -> int:
    """About how many tokens a language model counts; too many rather than too few.

    A digit, a sign, a line end and a stretch of blanks count one each, a word one per four letters
    begun, anything outside ASCII one per byte. Tokenizers merge more than this.
    """
    return sum(map(_worth, _PIECES.findall(text)))


def _worth(piece: str) -> int:
    if not piece.isascii():
        return len(piece.encode())
    return -(-len(piece) // _LETTERS) if piece.isalpha() else 1


def clip(text: str, most: int) -> str:
    """The beginning of a text, of at most so many tokens; `…` where it was cut."""
    if tokens(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle] + "…") <= most else (low, middle - 1)
    return text[:low] + "…"


def short(value: float) -> str:
    """Any number in about four digits: `0.0123`, `497.5`, `12.4k`."""
    return amount(value, 0) if abs(value) >= _LARGE else f"{value + 0.0:.4g}"


def spark(y: Doubles, width: int = 40) -> str:
    """A line of at most `width` bars: means, but the least and greatest value as they are."""
    y = np.asarray(y, dtype=np.float64)
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


def chart(x: Doubles, y: Doubles, *, title: str = "", width: int = 72, height: int = 12) -> str:
    """A curve with axes: `*` the mean of each column, `:` between its least and greatest value."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    there = np.isfinite(x) & np.isfinite(y)
    x, y = x[there], y[there]
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
    """The rows of the picture, top first."""
    share = (x - x[0]) / ((x[-1] - x[0]) or 1.0)
    place = np.minimum((share * columns).astype(np.intp), columns - 1)
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
