"""Fewer points that show the same curve: no spike gets lost, and none is invented."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from spotter.charts.chart import Line
from spotter.rundir.history import Curve, Doubles
from spotter.rundir.trend import bucket

Window = tuple[float, float]
Thin = Callable[[Doubles, Doubles, int], tuple[Doubles, Doubles]]

MOST_POINTS: Final = 500
MOST_NUMBERS: Final = 600
_BUCKETS: Final = MOST_NUMBERS // 3  # each is a mean, a least and a greatest value
_OUTSIDE: Final = 80  # points on either side of a window, to be seen while dragging there


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
    place = bucket(x, stretches)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    ends = [*starts[1:].tolist(), len(x)]
    kept = {0, len(x) - 1}
    for start, end in zip(starts.tolist(), ends, strict=True):
        part = y[start:end]
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    chosen = np.array(sorted(kept), dtype=np.intp)
    return x[chosen], y[chosen]


def evenly(x: Doubles, y: Doubles, points: int) -> tuple[Doubles, Doubles]:
    """Points picked by their place alone: lines that are stacked need the same ones."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(points, len(x))).astype(np.intp))
    return x[chosen], y[chosen]


def thinned(
    x: Doubles, y: Doubles, points: int, window: Window | None, thin: Thin = downsample
) -> tuple[Doubles, Doubles]:
    """Fewer points, most of them where the reader looks."""
    if window is None or len(x) <= points:
        return thin(x, y, points)
    start, end = (int(np.searchsorted(x, place)) for place in window)
    cuts = ((0, start, _OUTSIDE), (start, end, points), (end, len(x), _OUTSIDE))
    parts = [thin(x[a:b], y[a:b], most) for a, b, most in cuts if b > a]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def condensed(name: str, curve: Curve) -> Line:
    """At most `MOST_NUMBERS`; short curves are drawn as they are.

    A long one is cut into buckets along its axis; each keeps its mean, its least and its greatest
    value, so a spike that lasted one update is still seen. What is not finite leaves a gap.
    """
    x, y = curve
    finite = np.isfinite(y)
    broken = tuple(x[~finite].tolist())
    if len(y) <= MOST_NUMBERS:
        return Line(name, x, np.where(finite, y, math.nan), broken=broken)
    x, y = x[finite], y[finite]
    if not y.size:
        return Line(name, x, y, broken=broken)
    place = bucket(x, _BUCKETS)
    count = np.bincount(place, minlength=_BUCKETS)
    low, high = np.full(_BUCKETS, np.inf), np.full(_BUCKETS, -np.inf)
    np.minimum.at(low, place, y)
    np.maximum.at(high, place, y)
    used = count > 0
    part = 1.0 / count[place]  # divided first: sums may overflow
    middle_x = np.bincount(place, x * part, _BUCKETS).astype(np.float64)
    middle_y = np.bincount(place, y * part, _BUCKETS).astype(np.float64)
    return Line(name, middle_x[used], middle_y[used], low[used], high[used], broken)
