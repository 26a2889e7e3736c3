"""How sure a mean is: 95 % confidence intervals of a few values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

FEWEST_SEEDS: Final = 3
"""For an interval over seeds: of two, it would be 13 times as wide as the seeds are apart."""
FEW_SEEDS: Final = f"an interval needs {FEWEST_SEEDS} seeds"
_Z: Final = 1.959963984540054
_T_OF_FEW: Final = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706}


@dataclass(frozen=True)
class Interval:
    """A mean and the half-width of its 95 % confidence interval; None for too few values."""

    mean: float
    half: float | None
    count: int

    @property
    def low(self) -> float:
        """A single value says nothing about its spread: the interval is unbounded."""
        return -math.inf if self.half is None else self.mean - self.half

    @property
    def high(self) -> float:
        return math.inf if self.half is None else self.mean + self.half

    def overlaps(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


def interval(values: Sequence[float]) -> Interval:
    """Student's t; right for the mean of a few values that are roughly bell-shaped.

    Values whose mean is no finite number have no half-width.
    """
    count = len(values)
    try:
        mean = fmean(values)
    except (OverflowError, ValueError):  # sums beyond any float, infinities of both signs
        mean = math.nan
    if count < 2 or not math.isfinite(mean):
        return Interval(mean, None, count)
    return Interval(mean, t_quantile(count - 1) * stdev(values) / math.sqrt(count), count)


def over_seeds(scores: Sequence[float]) -> Interval:
    """The same for one score per seed, from `FEWEST_SEEDS` on; below there is only the mean."""
    found = interval(scores)
    return found if found.count >= FEWEST_SEEDS else Interval(found.mean, None, found.count)


def t_quantile(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's t (Cornish–Fisher, exact to three digits)."""
    if freedom in _T_OF_FEW:
        return _T_OF_FEW[freedom]
    z, n = _Z, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
