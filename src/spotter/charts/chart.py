"""A chart as data: panels over one x axis, with lines, bands, levels, points and marks.

What it shows is decided by pages; how it looks by the modules beside this one, which all take the
same `Panel`. A colour is a place in a palette, so that every way to draw has its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from spotter.rundir.history import Doubles

if TYPE_CHECKING:
    from spotter.rundir.curves import Band

Dash = Literal["solid", "dashed", "dotted"]
Weight = Literal["usual", "strong", "faint"]
Span = tuple[float, float]

# Distinguishable for colour-blind eyes, on white and on near-black (Okabe and Ito).
PALETTE: Final = ("#2a8fbd", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7f7f7f",
    "#8a5cd1",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One curve; NaN leaves a gap. `low` and `high` span the band around it."""

    name: str
    x: Doubles
    y: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    broken: tuple[float, ...] = ()
    """Where the value was not finite."""
    colour: int = 0
    dash: Dash = "solid"
    weight: Weight = "usual"

    @classmethod
    def of_band(cls, name: str, band: "Band") -> "Line":
        """The middle over seeds, and its interval."""
        return cls(name, band.env_steps, band.middle, band.low, band.high)

    @property
    def span(self) -> Span:
        """Least and greatest finite value, the band included; NaN without any."""
        sides = [side for side in (self.y, self.low, self.high) if side is not None]
        every = np.concatenate(sides)
        finite = every[np.isfinite(every)]
        return (float(finite.min()), float(finite.max())) if finite.size else (np.nan, np.nan)


@dataclass(frozen=True)
class Level:
    """A horizontal line, such as the threshold."""

    y: float
    text: str
    dash: Dash = "dashed"


@dataclass(frozen=True)
class Mark:
    """Something that happened at a point of the x axis; `kind` says how it looks."""

    x: float
    text: str
    kind: str


@dataclass(frozen=True)
class Point:
    """One evaluation: its mean, how its episodes spread, and what hovering says."""

    x: float
    y: float
    scores: Sequence[float]
    text: str
    is_test: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What is drawn between two axes."""

    title: str
    lines: Sequence[Line] = ()
    stacked: bool = False
    """Lines are shares that stand upon each other, the first at the bottom."""
    levels: Sequence[Level] = ()
    points: Sequence[Point] = ()
    marks: Sequence[Mark] = ()
    hovers: Sequence[tuple[float, str]] = ()
    """What is said where the mouse is, along the x axis."""
    x: Span | None = None
    y: tuple[float | None, float | None] = (None, None)
    """Ends of the axes; None: those of the numbers."""
    x_title: str = ""


@dataclass(frozen=True)
class Chart:
    """Panels below each other; lines of the same name have the same colour in all of them."""

    title: str
    panels: Sequence[Panel]
