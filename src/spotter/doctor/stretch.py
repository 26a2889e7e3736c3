"""Numbers about a stretch of a curve."""

import math

import numpy as np

from spotter.rundir.history import Doubles


def stretch(values: Doubles, begin: float, end: float) -> Doubles:
    """A stretch of a curve by shares of its length; never empty where the curve is not."""
    first = min(int(begin * len(values)), max(0, len(values) - 1))
    return values[first : max(first + 1, math.ceil(end * len(values)))]


def mean(values: Doubles) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def median(values: Doubles) -> float:
    return float(np.median(values)) if len(values) else math.nan


def is_constant(values: Doubles) -> bool:
    return len(values) > 0 and float(np.ptp(values)) <= 1e-9 * max(1.0, float(abs(values[0])))
