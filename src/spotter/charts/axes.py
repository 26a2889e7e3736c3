"""Axes: ranges one can divide by, round numbers on them, and their labels."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from spotter.charts.chart import Span

_ROUND: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS: Final = 50


def room(values: Iterable[float]) -> Span:
    """The range of the finite ones, never empty."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if high > low and high / 2 - low / 2 > 1e-9 * max(abs(low), abs(high)):
        return low, high
    margin = abs(low) * 0.1 or 1.0
    return low - margin, high + margin


def round_step(low: float, high: float, about: int) -> float:
    """A round number that divides a range into about so many parts."""
    raw = (high / 2 - low / 2) / about * 2  # halves: two huge values may be an infinity apart
    size = 10.0 ** math.floor(math.log10(raw))
    return size * next(factor for factor in _ROUND if factor >= raw / size * (1 - 1e-9))


def ticks(low: float, high: float, step: float) -> list[float]:
    """Multiples of a step within a range."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, min(last, first + _MOST_TICKS) + 1)]


def labels(values: Sequence[float]) -> list[str]:
    """Ticks of one axis with as few digits as tell them apart."""
    if not values:
        return []
    largest = max(abs(value) for value in values)
    unit, letter = next(
        (pair for pair in ((1e9, "B"), (1e6, "M"), (1e3, "k")) if largest >= 10 * pair[0]),
        (1.0, ""),
    )
    if largest >= 1e15 or 0 < largest < 1e-3:
        return [f"{value:.3g}" if value else "0" for value in values]
    for decimals in range(7):
        texts = [f"{value / unit + 0.0:.{decimals}f}" for value in values]
        exact = all(
            math.isclose(float(text) * unit, value, rel_tol=1e-6, abs_tol=largest * 1e-6)
            for text, value in zip(texts, values, strict=True)
        )
        if exact:
            break
    return [f"{text}{letter}" if float(text) else "0" for text in texts]
