"""One metric over a whole run in little memory, and as a line of small bars.

Old points are averaged in pairs, so a run of any length has at most `POINTS` of them.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from spotter.charts.terminal import sparkline

POINTS: Final = 512


class Series:
    """Newest value, statistics of all finite values, and a history that is thinned as it grows."""

    def __init__(self) -> None:
        self.last = math.nan
        self.low = math.inf
        self.high = -math.inf
        self.mean = math.nan
        self.previous = math.nan
        """What was shown before `last`."""
        self._shown = math.nan
        self._is_new = False
        self._count = 0
        self._squares = 0.0
        self._points: list[float] = []
        self._each = 1
        self._open: list[float] = []

    @property
    def std(self) -> float:
        if self.low == self.high:
            return 0.0  # and not what rounding left
        return math.sqrt(self._squares / self._count) if self._count else math.nan

    @property
    def is_empty(self) -> bool:
        return not self._points and not self._open

    def extend(self, values: Sequence[float]) -> None:
        if not values:
            return
        self.last = values[-1]
        self._is_new = True
        self._measure(values)
        self._open.extend(values)
        each = self._each
        whole = len(self._open) // each * each
        self._points.extend(_mean(self._open[at : at + each]) for at in range(0, whole, each))
        del self._open[:whole]
        while len(self._points) >= POINTS:
            self._thin()

    def show(self) -> None:
        """`last` is about to be seen; what was seen before becomes `previous`."""
        if self._is_new:
            self.previous, self._shown, self._is_new = self._shown, self.last, False

    def sparkline(self, width: int) -> str:
        """At most `width` bars from the first value to the last; a gap where nothing was finite."""
        points = [*self._points, _mean(self._open)] if self._open else self._points
        bins = min(width, len(points))
        edges = [at * len(points) // bins for at in range(bins + 1)] if bins else []
        return sparkline([_mean(points[a:b]) for a, b in pairwise(edges)])

    def _measure(self, values: Sequence[float]) -> None:
        """Merge the batch into mean and squares (Chan et al. 1979): no cancellation."""
        batch = np.array(values, dtype=np.float64)
        batch = batch[np.isfinite(batch)]
        if not batch.size:
            return
        self.low = min(self.low, float(batch.min()))
        self.high = max(self.high, float(batch.max()))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(batch.mean())
            self._squares += float(np.square(batch - mean).sum())
        total = self._count + batch.size
        apart = mean - self.mean if self._count else 0.0
        self._squares += apart * apart * self._count * batch.size / total
        self.mean = self.mean + apart * batch.size / total if self._count else mean
        self._count = total

    def _thin(self) -> None:
        odd = [self._points.pop()] * self._each if len(self._points) % 2 else []
        pairs = zip(self._points[::2], self._points[1::2], strict=True)
        self._points = [_mean(pair) for pair in pairs]
        self._open = [*odd, *self._open]
        self._each *= 2


def _mean(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    if math.isfinite(mean):
        return mean
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan
