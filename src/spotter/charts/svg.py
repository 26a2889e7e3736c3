"""Panels as SVG, written by hand: axes with round numbers, a grid, hover texts. Colours are CSS.

Every panel is drawn in its own pixels and scaled by the page.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np

from spotter.charts.axes import labels, room, round_step, ticks
from spotter.charts.chart import Level, Line, Mark, Panel, Point, Span
from spotter.charts.points import downsample
from spotter.rundir.history import Doubles
from spotter.text.markup import Markup, el, join
from spotter.text.numbers import count

T = TypeVar("T")

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 26
_BEYOND: Final = 0.02  # a little room, so that nothing sits on the edge
_BESIDE: Final = 9
_MOST_MARKS: Final = 60
_MOST_BROKEN: Final = 100
_COLOURS: Final = 8  # classes c1 to c8
_LETTER: Final = 6.4  # width of a small letter, to keep labels apart


def drawn(panel: Panel, size: tuple[int, int]) -> Markup:
    """`panel.y` is widened to round numbers; without it, the lines decide."""
    plot = Plot.around(size, panel.x or _reach(panel), _height(panel))
    areas = plot.stack(panel.lines) if panel.stacked else ""
    lines = () if panel.stacked else tuple(plot.line(line) for line in panel.lines)
    return plot.svg(
        panel.title,
        *map(plot.level, panel.levels),
        areas,
        plot.spreads(panel.points),
        *lines,
        plot.hover(panel.hovers),
        plot.points(panel.points),
        plot.marks(panel.marks),
    )


def _reach(panel: Panel) -> Span:
    return room(x for line in panel.lines for x in line.x.tolist())


def _height(panel: Panel) -> Span:
    if panel.y[0] is not None and panel.y[1] is not None:
        return panel.y[0], panel.y[1]
    return room(end for line in panel.lines for end in line.span)


@dataclass(frozen=True)
class Plot:
    """A size, and the numbers its corners stand for."""

    width: int
    height: int
    x_range: Span
    y_range: Span
    x_ticks: list[float] = field(default_factory=list)
    y_ticks: list[float] = field(default_factory=list)
    left: int = _LEFT

    @classmethod
    def around(cls, size: tuple[int, int], x: Span, y: Span) -> "Plot":
        """Axes that end at round numbers above and below, and at the data left and right."""
        width, height = size
        y_low, y_high = room(y)
        y_step = round_step(y_low, y_high, max(3, height // 50))
        y_low = math.floor(y_low / y_step + 1e-9) * y_step
        y_high = math.ceil(y_high / y_step - 1e-9) * y_step
        y_ticks = ticks(y_low, y_high, y_step)
        x_low, x_high = x if x[1] > x[0] else (x[0] - 1, x[0] + 1)
        x_ticks = ticks(x_low, x_high, round_step(x_low, x_high, max(2, width // 110)))
        x_high += (x_high - x_low) * _BEYOND
        return cls(width, height, (x_low, x_high), (y_low, y_high), x_ticks, y_ticks)

    def px(self, x: float) -> float:
        low, high = self.x_range
        return self.left + (x - low) / (high - low) * (self.width - self.left - _RIGHT)

    def py(self, y: float) -> float:
        low, high = self.y_range
        share = y / 2 / (high / 2 - low / 2) - low / 2 / (high / 2 - low / 2)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)

    def svg(self, label: str, *layers: object) -> Markup:
        return el(
            "svg",
            self._axes(),
            *layers,
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_label=label,
            xmlns="http://www.w3.org/2000/svg",
        )

    def _axes(self) -> Markup:
        parts: list[Markup] = []
        bottom = self.height - _BOTTOM
        for y, text in zip(self.y_ticks, labels(self.y_ticks), strict=True):
            at = f"{self.py(y):.1f}"
            parts.append(
                el("line", x1=self.left, x2=self.width - _RIGHT, y1=at, y2=at, class_="grid")
            )
            parts.append(el("text", text, x=self.left - 6, y=at, dy="0.32em", class_="tick end"))
        for x, text in zip(self.x_ticks, labels(self.x_ticks), strict=True):
            at = f"{self.px(x):.1f}"
            parts.append(el("line", x1=at, x2=at, y1=bottom, y2=bottom + 4, class_="axis"))
            near_edge = self.px(x) + len(text) * _LETTER / 2 > self.width
            where = "tick end" if near_edge else "tick middle"
            shown_at = f"{self.width - 2:.1f}" if near_edge else at
            parts.append(el("text", text, x=shown_at, y=bottom + 17, class_=where))
        parts.append(
            el("line", x1=self.left, x2=self.width - _RIGHT, y1=bottom, y2=bottom, class_="axis")
        )
        return join(*parts)

    def path(self, x: Doubles, y: Doubles) -> str:
        """A line with gaps where a value is missing or the run went back to an older step."""
        words: list[str] = []
        before = math.inf
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            if not math.isfinite(value):
                before = math.inf
                continue
            words.append(f"{'M' if at < before else 'L'}{self.px(at):.1f} {self.py(value):.1f}")
            before = at
        return "".join(words)

    def line(self, line: Line) -> Markup:
        parts: list[Markup] = []
        colour = f"c{line.colour % _COLOURS + 1}"
        if line.low is not None and line.high is not None:
            corners = self._corners(line.x, line.high, line.low)
            parts.append(el("polygon", points=corners, class_=f"band {colour}"))
        if np.isfinite(line.y).sum() == 1:
            only = int(np.flatnonzero(np.isfinite(line.y))[0])
            at = (self.px(line.x[only]), self.py(line.y[only]))
            parts.append(el("circle", cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=3, class_=colour))
        parts.append(el("path", d=self.path(line.x, line.y), class_=f"line {colour}"))
        for at_x in thinned(line.broken, _MOST_BROKEN):
            foot = f"{self.px(at_x):.1f}"
            reported = el("title", f"not finite at {count(round(at_x))} env steps")
            parts.append(
                el("path", reported, d=f"M{foot} {_TOP}V{self.height - _BOTTOM}", class_="broken")
            )
        return join(*parts)

    def level(self, level: Level) -> Markup:
        at = self.py(level.y)
        above = at - 5 if at - 5 > _TOP else at + 13
        return join(
            el(
                "line",
                x1=self.left,
                x2=self.width - _RIGHT,
                y1=f"{at:.1f}",
                y2=f"{at:.1f}",
                class_="level",
            ),
            el("text", level.text, x=self.left + 6, y=f"{above:.1f}", class_="note"),
        )

    def spreads(self, points: Sequence[Point]) -> Markup:
        """Thin from the least to the greatest episode, thick for the middle half.

        Single episodes may lie beyond the axes: their lines end at the edge.
        """
        parts: list[Markup] = []
        thick = max(2.0, min(6.0, 0.35 * self.width / max(1, len(points))))
        for point in points:
            colour = "c4" if point.is_test else "c2"
            marks = np.clip(np.quantile(point.scores, [0, 0.25, 0.75, 1]), *self.y_range)
            low, first, third, high = marks.tolist()
            for top, bottom, kind, wide in (
                (high, low, "whisker", 1),
                (third, first, "box", thick),
            ):
                reach = f"M{self._beside(point):.1f} {self.py(top):.1f}V{self.py(bottom):.1f}"
                parts.append(el("path", d=reach, stroke_width=wide, class_=f"{kind} {colour}"))
        return join(*parts)

    def points(self, points: Sequence[Point]) -> Markup:
        """A dot for the mean of each, and a line through them."""
        parts: list[Markup] = []
        trail = [(p.x, p.y) for p in points if not p.is_test]
        if len(trail) > 1:
            x, y = np.array(trail).T
            parts.append(el("path", d=self.path(x, y), class_="line trail c2"))
        for point in points:
            x_at, y_at = self._beside(point), self.py(point.y)
            title = el("title", point.text)
            if point.is_test:
                gem = f"M{x_at:.1f} {y_at - 6:.1f}l6 6l-6 6l-6-6z"
                parts.append(el("path", title, d=gem, class_="dot c4"))
            else:
                at = {"cx": f"{x_at:.1f}", "cy": f"{y_at:.1f}"}
                parts.append(el("circle", title, **at, r=3.5, class_="dot c2"))
        return join(*parts)

    def _beside(self, point: Point) -> float:
        """A test stands beside the evaluation of the same weights, which it would hide."""
        return self.px(point.x) + (_BESIDE if point.is_test else 0)

    def marks(self, marks: Sequence[Mark]) -> Markup:
        """A line each, and a flag on top that says what it is when pointed at."""
        parts = []
        for mark in thinned(marks, _MOST_MARKS):
            x = f"{self.px(mark.x):.1f}"
            line = f"M{x} {_TOP}V{self.height - _BOTTOM}"
            parts.append(el("path", d=line, class_=f"mark {mark.kind}"))
            flag = f"M{x} {_TOP + 2}l-5-9h10z"
            parts.append(el("path", el("title", mark.text), d=flag, class_=f"flag {mark.kind}"))
        return join(*parts)

    def hover(self, texts: Sequence[tuple[float, str]]) -> Markup:
        """Invisible columns that speak when pointed at."""
        parts = []
        places = [self.px(x) for x, _ in texts]
        edges = [self.left, *((a + b) / 2 for a, b in itertools.pairwise(places))]
        edges.append(self.width - _RIGHT)
        for (_, text), left, right in zip(texts, edges, edges[1:], strict=False):
            parts.append(
                el(
                    "rect",
                    el("title", text),
                    x=f"{left:.1f}",
                    y=_TOP,
                    width=f"{max(0.0, right - left):.1f}",
                    height=self.height - _TOP - _BOTTOM,
                    class_="hover",
                )
            )
        return join(*parts)

    def stack(self, lines: Sequence[Line]) -> Markup:
        """Areas on top of each other; the first lies at the bottom."""
        areas: list[Markup] = []
        base = np.zeros(len(lines[0].x)) if lines else np.zeros(0)
        for line in lines:
            top = base + line.y
            kind = f"area c{line.colour % _COLOURS + 1}"
            corners = self._corners(line.x, top, base)
            areas.append(el("polygon", el("title", line.name), points=corners, class_=kind))
            base = top
        return join(*areas)

    def _corners(self, x: Doubles, top: Doubles, base: Doubles) -> str:
        """Of the area between two lines: along the one and back along the other."""
        corners = [*zip(x, top, strict=True), *zip(x[::-1], base[::-1], strict=True)]
        return " ".join(f"{self.px(a):.1f},{self.py(b):.1f}" for a, b in corners)


def dot_plot(
    scores: Sequence[float], level: Level | None, mean: Level, size: tuple[int, int]
) -> Markup:
    """Every episode a dot, stacked where scores are alike; the mean and the threshold as lines."""
    width, height = size
    ends = [*scores, mean.y, *([level.y] if level else [])]
    low, high = room(ends)
    marks = ticks(low, high, round_step(low, high, max(2, width // 90)))
    low, high = low - (high - low) * _BEYOND, high + (high - low) * _BEYOND
    plot = Plot(width, height, (low, high), (0.0, 1.0), marks, left=_RIGHT)
    across = width - 2 * _RIGHT
    radius = 4.0
    bins = np.round((np.array(scores) - low) / (high - low) * across / (2 * radius + 1))
    tallest = max(np.unique(bins, return_counts=True)[1])
    pitch = min(2 * radius + 1, (height - _TOP - _BOTTOM - 22) / tallest)
    seen: dict[float, int] = {}
    dots = []
    for score, place in zip(scores, bins.tolist(), strict=True):
        above = seen[place] = seen.get(place, 0) + 1
        cy = height - _BOTTOM - radius - (above - 1) * pitch - 2
        cx = plot.left + place * (2 * radius + 1)
        text = el("title", f"score {score!r}")
        dots.append(
            el("circle", text, cx=f"{cx:.1f}", cy=f"{cy:.1f}", r=radius, class_="dot c4 soft")
        )
    lines = [(mean, "mean"), *([(level, "level")] if level else [])]
    upright = [
        el("path", d=f"M{plot.px(at.y):.1f} {_TOP}V{height - _BOTTOM}", class_=kind)
        for at, kind in lines
    ]
    higher = level is None or mean.y >= level.y
    notes = [_beside(plot, mean, _TOP + 9, higher)]
    if level:
        notes.append(_beside(plot, level, _TOP + 23, not higher))
    return plot.svg("score of every test episode", *upright, *notes, *dots)


def _beside(plot: Plot, level: Level, y: int, to_the_right: bool) -> Markup:
    """The text of an upright line, on the side where no other line is, if it fits there."""
    at = plot.px(level.y)
    room = len(level.text) * _LETTER + 6
    is_right = at + room < plot.width if to_the_right else at < room
    x = at + 6 if is_right else at - 6
    return el("text", level.text, x=f"{x:.1f}", y=y, class_="note" if is_right else "note end")


def polyline(values: Doubles, points: int = 40) -> str:
    """The `points` attribute of an SVG polyline in a 100 × 24 box; empty for fewer than two."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return ""
    x, y = downsample(np.arange(len(finite), dtype=np.float64), finite, points)
    low, high = float(y.min()), float(y.max())
    height = (high - low) or 1.0
    return " ".join(_dots(x / x[-1] * 100, 22 - (y - low) / height * 20))


def _dots(x: Doubles, y: Doubles) -> Iterator[str]:
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        yield f"{a:.1f},{b:.1f}"


def thinned(items: Sequence[T], most: int) -> Sequence[T]:
    """First, last, and evenly between."""
    if len(items) <= most:
        return items
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
