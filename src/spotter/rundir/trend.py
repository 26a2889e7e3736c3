"""Where a curve comes from and where it is going, in a few numbers.

Metrics of reinforcement learning are noisy: slopes and plateaus are judged on means over stretches
of env steps, and a change counts only where it stands out from the noise between neighbours.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from spotter.rundir.history import Doubles

Direction = Literal["rising", "falling", "flat"]

_STRETCHES: Final = 32
_LATE: Final = 0.25
"""The last part of the env steps, which slope and direction are about."""
_LATE_STRETCHES: Final = 16
_SMALL: Final = 0.05
"""Part of the whole range that is no change worth a word."""
_SURE: Final = (63.7, 9.9, 5.8, 4.6, 4.0, 3.7)
"""Standard errors beyond which a slope is hardly chance, by points more than two: Student's t."""
_SURE_OF_MANY: Final = 3.5
_FEWEST_LATE: Final = 4
_FEWEST: Final = 8
"""Points below which nothing is called a plateau."""
_NEIGHBOURS: Final = 5


@dataclass(frozen=True)
class Trend:
    """A curve in numbers; positions are env steps."""

    points: int
    first: float
    last: float
    least: float
    least_at: float
    greatest: float
    greatest_at: float
    slope: float
    """Per 1,000 env steps, over the last quarter of the steps."""
    direction: Direction
    """Of the last quarter; flat where the change is small or no more than noise."""
    plateau_since: float | None
    """Since when it has stayed in a narrow band; None if that is less than a quarter of it."""


def trend(x: Doubles, y: Doubles) -> Trend | None:
    """Of the points that are finite, `x` ascending; None if there is none."""
    there = np.isfinite(x) & np.isfinite(y)
    x, y = x[there], y[there]
    if not y.size:
        return None
    low, high = int(y.argmin()), int(y.argmax())
    size = float(np.abs(y).max()) or 1.0  # sums of huge values would not be finite
    means_x, means_y = _means(x, y / size, _STRETCHES)
    slope, direction = _late(x, y / size, float(np.ptp(means_y)))
    return Trend(
        points=len(y),
        first=float(y[0]),
        last=float(y[-1]),
        least=float(y[low]),
        least_at=float(x[low]),
        greatest=float(y[high]),
        greatest_at=float(x[high]),
        slope=slope * size * 1000,
        direction=direction,
        plateau_since=_plateau(means_x, means_y) if len(y) >= _FEWEST else None,
    )


def bucket(x: Doubles, count: int) -> npt.NDArray[np.intp]:
    """Which of so many buckets each position along the axis falls into."""
    start, stop = float(x.min()), float(x.max())
    share = (x - start) / ((stop - start) or 1.0)
    return np.minimum((share * count).astype(np.intp), count - 1)


def _means(x: Doubles, y: Doubles, stretches: int) -> tuple[Doubles, Doubles]:
    """The mean position and value of each stretch of env steps that holds a point."""
    place = bucket(x, stretches)
    count = np.bincount(place, minlength=stretches)
    used = count > 0
    return tuple(  # type: ignore[return-value]
        np.bincount(place, values, stretches)[used] / count[used] for values in (x, y)
    )


def _late(x: Doubles, y: Doubles, span: float) -> tuple[float, Direction]:
    """The slope of the last quarter per env step, and what to call it."""
    late = x >= x[-1] - _LATE * (x[-1] - x[0])
    late[-_FEWEST_LATE:] = True
    x, y = _means(x[late], y[late], _LATE_STRETCHES)
    width = float(x[-1] - x[0])
    if len(x) < 2 or width == 0:
        return 0.0, "flat"
    spare = len(x) - 2
    away = x - x.mean()
    squares = float((away**2).sum())
    slope = float((away * (y - y.mean())).sum()) / squares
    rest = y - y.mean() - slope * away
    if spare == 0:
        return slope, "flat"  # any two points make a line
    error = math.sqrt(float((rest**2).sum()) / spare / squares)
    sure = _SURE[spare - 1] if spare <= len(_SURE) else _SURE_OF_MANY
    if abs(slope) * width <= _SMALL * span or abs(slope) <= sure * error:
        return slope, "flat"
    return slope, "rising" if slope > 0 else "falling"


def _plateau(x: Doubles, y: Doubles) -> float | None:
    """Walk back from the end while the smoothed curve stays in its band."""
    if len(y) < _FEWEST:
        return None
    calm = _smoothed(y)
    noise = float(np.diff(y).std()) / math.sqrt(2 * _NEIGHBOURS)
    band = max(2 * _SMALL * float(np.ptp(calm)), 5 * noise)
    low, high, since = calm[-1], calm[-1], len(calm) - 1
    for place in range(len(calm) - 1, -1, -1):
        low, high = min(low, calm[place]), max(high, calm[place])
        if high - low > band:
            break
        since = place
    start = float(x[since])
    is_long = x[-1] - start >= _LATE * (x[-1] - x[0])
    return start if is_long else None


def _smoothed(y: Doubles) -> Doubles:
    """Mean over neighbours; over fewer of them at both ends."""
    weights = np.ones(_NEIGHBOURS)
    sums = np.convolve(y, weights, mode="same")
    counts = np.convolve(np.ones(len(y)), weights, mode="same")
    return np.asarray(sums / counts, dtype=np.float64)
