"""Which metrics have left the bounds they cannot leave if the code is right."""

import math
from collections import deque
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

from spotter.metrics.spec import Catalogue

_WINDOW: Final = 5
_SLACK: Final = 1e-4
"""Relative to the bound, or absolute for small ones: single-precision sums are not exact."""

Limits = tuple[float, float]


class Bounds:
    """Follows only metrics that were outside lately; in a sound run that is none."""

    def __init__(self, catalogue: Catalogue, derived: Mapping[str, Limits]) -> None:
        self._catalogue = catalogue
        self._derived = derived
        self._limits: dict[str, Limits | None] = {}
        self._suspects: dict[str, deque[float]] = {}

    def note(self, metrics: Mapping[str, float]) -> None:
        """Take one row in."""
        limits = self._limits
        for key, value in metrics.items():
            limit = limits[key] if key in limits else self._find(key)
            if limit is not None and not limit[0] <= value <= limit[1] and math.isfinite(value):
                self._suspects.setdefault(key, deque(maxlen=_WINDOW))
        if self._suspects:
            self._follow(metrics)

    def outside(self) -> list[tuple[str, float, Limits]]:
        """Metrics whose last five values are outside on average: name, mean, bounds."""
        found = []
        for key, values in self._suspects.items():
            mean = fmean(values) if values else 0.0
            if len(values) == _WINDOW and not self._holds(key, mean):
                found.append((key, mean, self._declared(key)))
        return found

    def _follow(self, metrics: Mapping[str, float]) -> None:
        for key, values in list(self._suspects.items()):
            value = metrics.get(key)
            if value is None or not math.isfinite(value):
                continue
            values.append(value)
            if len(values) == _WINDOW and all(self._holds(key, each) for each in values):
                del self._suspects[key]

    def _holds(self, key: str, value: float) -> bool:
        limit = self._limits[key] if key in self._limits else self._find(key)
        return limit is None or limit[0] <= value <= limit[1]

    def _find(self, key: str) -> Limits | None:
        """The bounds with their slack; None where there are none."""
        low, high = self._declared(key)
        limits = None
        if math.isfinite(low) or math.isfinite(high):
            limits = low - _SLACK * max(1.0, abs(low)), high + _SLACK * max(1.0, abs(high))
        self._limits[key] = limits
        return limits

    def _declared(self, key: str) -> Limits:
        if key in self._derived:
            return self._derived[key]
        spec = self._catalogue.find(key)
        low = None if spec is None else spec.low
        high = None if spec is None else spec.high
        return -math.inf if low is None else low, math.inf if high is None else high

    def state(self) -> dict[str, object]:
        return {key: list(values) for key, values in self._suspects.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._suspects = {key: deque(values, maxlen=_WINDOW) for key, values in state.items()}
