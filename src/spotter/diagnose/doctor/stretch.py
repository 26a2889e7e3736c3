"""Numbers about a stretch of a curve."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.rundir.history import Doubles

Curve = tuple[Doubles, Doubles]
"""Env steps, and values at them."""
Counts = npt.NDArray[np.int64]
_MOST: Final = 10_000
"""Values a stretch is made of at most, rounded."""


def stretch(curve: Curve, begin: float, end: float) -> Doubles:
    """Values between two shares of a curve's env steps; never empty where the curve is not.

    Of a long run older rows are thinned: a row counts as often as it stands for env steps.
    """
    x, values = curve
    if not len(x):
        return values
    low, high = begin * float(x[-1]), end * float(x[-1])
    # a row is about the env steps before it: the one at `low` belongs to the stretch before
    first = min(int(np.searchsorted(x, low, side="right")) if begin else 0, len(x) - 1)
    last = max(first + 1, int(np.searchsorted(x, high, side="right")))
    return np.repeat(values[first:last], _weights(x[first:last], low))


def _weights(x: Doubles, low: float) -> Counts:
    """Env steps each row stands for, in units of the least that any does."""
    steps = np.diff(x, prepend=min(low, float(x[0])))
    steps[0] = steps[0] if len(steps) < 2 else min(steps[0], np.max(steps[1:]))
    unit = max(float(np.min(steps)), float(np.sum(steps)) / _MOST, 1.0)
    return np.maximum(1, np.rint(steps / unit)).astype(np.int64)


def parts(curve: Curve, number: int) -> list[Doubles]:
    """So many stretches of the same number of env steps, or fewer where there are fewer values."""
    number = min(number, len(curve[1]))
    return [stretch(curve, i / number, (i + 1) / number) for i in range(number)]


def mean(values: Doubles) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def median(values: Doubles) -> float:
    return float(np.median(values)) if len(values) else math.nan


def is_constant(values: Doubles) -> bool:
    return len(values) > 0 and float(np.ptp(values)) <= 1e-9 * max(1.0, float(abs(values[0])))
