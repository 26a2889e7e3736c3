"""What every reward term contributed, over any number of episodes.

Shows a term that swamps the others, one that is always 0, and single steps with far more than
usual: the first things to look at when a policy learns something strange.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.episodes.format import Trace

MOST_OUTLIERS: Final = 20
TOTAL: Final = "training reward"
"""The name of the sum as the algorithm would have got it: scaled and clipped."""
_FAR: Final = 3.0  # interquartile ranges beyond the quartiles of the nonzero steps
_FEW: Final = 8  # payments; quartiles of fewer say nothing
_BINS: Final = 30


@dataclass(frozen=True)
class Outlier:
    trace: int
    """Its place in the sequence that was audited."""
    step: int
    value: float


@dataclass(frozen=True)
class Part:
    """One reward part over all steps of all traces."""

    name: str
    steps: int
    mean: float
    std: float
    minimum: float
    maximum: float
    total: float
    """Mean sum per episode."""
    steps_paid: float
    """The fraction of steps in which it was not 0."""
    share: float
    """This term's share of the sum of absolute rewards."""
    outliers: tuple[Outlier, ...]
    """The strangest first."""
    counts: tuple[int, ...]
    edges: tuple[float, ...]
    """Histogram: edges are one more than counts."""


def audit(traces: Sequence[Trace]) -> list[Part]:
    """Every reward part by name, then the game's own reward where no part is it, then the sum."""
    names = list(dict.fromkeys(name for trace in traces for name in trace.meta.parts))
    columns = {name: [_part(trace, name) for trace in traces] for name in names}
    paid = sum(float(np.abs(x).sum()) for column in columns.values() for x in column)
    parts = [_examine(name, column, paid) for name, column in columns.items()]
    whole = [_column(trace, "training_reward") for trace in traces]
    return [*parts, _examine(TOTAL, whole, 0.0)] if traces else []


def _part(trace: Trace, name: str) -> npt.NDArray[np.float64]:
    if name not in trace.meta.parts:
        return np.zeros(trace.meta.length)
    column: npt.NDArray[np.float64] = trace.columns["part"][:, trace.meta.parts.index(name)]
    return column.astype(np.float64)


def _column(trace: Trace, name: str) -> npt.NDArray[np.float64]:
    there = name if name in trace.columns else "reward"
    column: npt.NDArray[np.float64] = trace.columns[there].astype(np.float64)
    return column


def _examine(name: str, episodes: Sequence[npt.NDArray[np.float64]], paid: float) -> Part:
    values = np.concatenate(episodes)
    counts, edges = _histogram(values)
    absolute = float(np.abs(values).sum())
    return Part(
        name=name,
        steps=len(values),
        mean=float(values.mean()),
        std=float(values.std()),
        minimum=float(values.min()),
        maximum=float(values.max()),
        total=float(values.sum() / len(episodes)),
        steps_paid=float((values != 0).mean()),
        share=absolute / paid if paid else float(absolute > 0),
        outliers=_outliers(episodes, values),
        counts=counts,
        edges=edges,
    )


def _histogram(values: npt.NDArray[np.float64]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    finite = values[np.isfinite(values)]
    counts, edges = np.histogram(finite, bins=_BINS if np.ptp(finite) > 0 else 1)
    return tuple(counts.tolist()), tuple(edges.tolist())


def _outliers(
    episodes: Sequence[npt.NDArray[np.float64]], values: npt.NDArray[np.float64]
) -> tuple[Outlier, ...]:
    """Steps far from the term's usual nonzero value; zeros mean no reward."""
    paid = values[values != 0]
    if len(paid) < _FEW:
        return ()
    low, middle, high = np.percentile(paid, [25, 50, 75])
    # a term that is nearly constant has no spread: half of its value is used, then
    reach = _FAR * (high - low) or abs(middle) / 2
    found = [
        Outlier(i, int(step), float(episode[step]))
        for i, episode in enumerate(episodes)
        for step in np.flatnonzero(
            (episode != 0) & ((episode < low - reach) | (episode > high + reach))
        )
    ]
    found.sort(key=lambda outlier: -abs(outlier.value - middle))
    return tuple(found[:MOST_OUTLIERS])
