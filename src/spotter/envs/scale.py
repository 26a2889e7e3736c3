"""Box actions in the policy's units, [-1, 1], and in the environment's. No Gymnasium here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

UNBOUNDED: Final = 1e6
"""Gymnasium writes "no bound" as inf or as the largest float."""


@dataclass(frozen=True)
class Scale:
    """The way from one to the other; an axis without two finite bounds keeps its numbers."""

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    centre: npt.NDArray[np.float64]
    radius: npt.NDArray[np.float64]
    limit: npt.NDArray[np.float64]
    """Of the policy's numbers."""

    @classmethod
    def between(cls, low: object, high: object) -> Self:
        """Of the bounds of a Box, flat."""
        low, high = (np.ravel(np.asarray(bound, np.float64)) for bound in (low, high))
        bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED)
        with np.errstate(invalid="ignore", over="ignore"):
            centre = np.where(bounded, (low + high) / 2, 0.0)
            radius = np.where(bounded, (high - low) / 2, 1.0)
        return cls(low, high, centre, radius, np.where(bounded, 1.0, np.inf))

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Which axes have two finite bounds."""
        return np.isfinite(self.limit)

    def to_env(self, action: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """[…, axes] of the policy as the environment receives them: clipped, scaled, inside."""
        kept = np.clip(action, -self.limit, self.limit)
        scaled: npt.NDArray[np.float64] = self.centre + self.radius * kept
        return scaled.clip(self.low, self.high)

    def to_policy(self, action: Sequence[float]) -> npt.NDArray[np.float64]:
        """The way back."""
        radius = np.where(self.radius == 0.0, 1.0, self.radius)  # an axis of one value
        back: npt.NDArray[np.float64] = (np.asarray(action, np.float64) - self.centre) / radius
        return back
