"""Curves as a small PNG picture, drawn with NumPy; letters are those of the films.

Metrics differ in scale, so each has a panel of its own, one below the other over the same env
steps; runs are told apart by colour, the same in every panel.
"""

import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np

from spotter.digest.text import short
from spotter.rundir.history import Doubles
from spotter.video.overlay import Colour, Image

Curve = tuple[Doubles, Doubles]
Panels = Mapping[str, Mapping[str, Curve]]
"""Metric -> run -> its env steps and values."""

_WIDTH: Final = 800
_LEFT, _RIGHT = 78, 16
_TITLE: Final = 26  # pixels from the top to the legend
_LEGEND_ROW: Final = 20
_NAME: Final = 22  # above each panel
_AXIS: Final = 30  # below the last
_TALL, _SMALL = 340, 130  # a panel alone, and at least
_MOST_TOGETHER: Final = 700
_GROUND: Final = (255, 255, 255)
_GRID: Final = (228, 231, 236)
_WORDS: Final = (70, 76, 88)
_LINES: Final[tuple[Colour, ...]] = (
    (11, 110, 153), (214, 94, 0), (0, 138, 92), (176, 60, 140), (120, 120, 40), (60, 60, 60),
)  # fmt: skip
_LETTERS: Final = 13
_fonts = Lock()  # pygame's are for one thread at a time

Span = tuple[float, float]


@dataclass(frozen=True)
class _Box:
    """Where a panel is drawn: its first row, its height, and what its edges stand for."""

    top: int
    height: int
    across: Span
    up: Span

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def columns(self, x: Doubles) -> Doubles:
        low, high = self.across
        return np.asarray(_LEFT + (x - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT - 1))

    def rows(self, y: Doubles) -> Doubles:
        low, high = self.up
        return np.asarray(self.bottom - 1 - (y - low) / (high - low) * (self.height - 1))


def line_chart(panels: Panels, title: str) -> bytes:
    """A panel per metric, a colour per run; runs are named above. PNG."""
    runs = list(dict.fromkeys(run for curves in panels.values() for run in curves))
    colours = {run: _LINES[place % len(_LINES)] for place, run in enumerate(runs)}
    with _fonts:
        legend = _wrapped(runs)
        first = _TITLE + _LEGEND_ROW * (1 + max(row for row, _ in legend.values())) + 4
        height = max(_SMALL, min(_TALL, _MOST_TOGETHER // len(panels) - _NAME))
        whole = first + len(panels) * (_NAME + height) + _AXIS
        image: Image = np.empty((whole, _WIDTH, 3), np.uint8)
        image[:] = _GROUND
        _head(image, title, legend, colours)
        across = _span([x for curves in panels.values() for x, _ in curves.values()])
        for place, (metric, curves) in enumerate(panels.items()):
            top = first + place * (_NAME + height) + _NAME
            box = _Box(top, height, across, _span([y for _, y in curves.values()]))
            _axes(image, box, metric, is_last=place == len(panels) - 1)
            for run, (x, y) in curves.items():
                _line(image, box, box.columns(x), box.rows(y), colours[run])
    return png(image)


def png(image: Image) -> bytes:
    """[height, width, 3] of bytes as a PNG file."""
    height, width = image.shape[:2]
    raw = np.zeros((height, 1 + width * 3), np.uint8)
    raw[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(raw.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(name, data) for name, data in parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _span(values: Sequence[Doubles]) -> Span:
    every = np.concatenate(values)
    finite = every[np.isfinite(every)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    around = 0.1 * abs(low) or 0.5
    return (low, high) if high > low else (low - around, high + around)


def _wrapped(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Row and left edge of each name of the legend; a row that is full is followed by another."""
    from spotter.traces.film_text import text_width

    places: dict[str, tuple[int, int]] = {}
    row, left = 0, _LEFT
    for name in names:
        width = 18 + text_width(name, _LETTERS)
        if left > _LEFT and left + width > _WIDTH - _RIGHT:
            row, left = row + 1, _LEFT
        places[name] = (row, left)
        left += width + 16
    return places


def _head(
    image: Image,
    title: str,
    legend: Mapping[str, tuple[int, int]],
    colours: Mapping[str, Colour],
) -> None:
    from spotter.traces.film_text import fitting, write

    size = fitting(title, _LETTERS, _WIDTH - _LEFT - _RIGHT, bold=True)
    write(image, title, (_LEFT, 6), size, _WORDS, bold=True)
    for name, (row, left) in legend.items():
        top = _TITLE + row * _LEGEND_ROW
        image[top + 8 : top + 11, left : left + 14] = colours[name]
        write(image, name, (left + 18, top + 2), _LETTERS, _WORDS)


def _axes(image: Image, box: _Box, metric: str, is_last: bool) -> None:
    from spotter.traces.film_text import write

    write(image, metric, (_LEFT, box.top - 17), _LETTERS, _WORDS, bold=True)
    for value in _ticks(*box.up, 5 if box.height > 200 else 3):
        row = round(float(box.rows(np.array([value]))[0]))
        image[row, _LEFT : _WIDTH - _RIGHT] = _GRID
        write(image, short(value), (_LEFT - 6, row - 7), _LETTERS, _WORDS, align="right")
    for value in _ticks(*box.across, 6):
        column = round(float(box.columns(np.array([value]))[0]))
        image[box.top : box.bottom, column] = _GRID
        if is_last:
            at = (column, box.bottom + 6)
            write(image, short(value), at, _LETTERS, _WORDS, align="middle")


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers within."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step) + 1)][:20]


def _line(image: Image, box: _Box, columns: Doubles, rows: Doubles, colour: Colour) -> None:
    """Two pixels thick, from point to point; a gap where a value is no number."""
    if len(columns) == 1:
        columns, rows = np.repeat(columns, 2), np.repeat(rows, 2)
    for i in range(len(columns) - 1):
        if not np.isfinite(rows[i : i + 2]).all():
            continue
        count = int(max(abs(columns[i + 1] - columns[i]), abs(rows[i + 1] - rows[i]))) + 2
        across = np.linspace(columns[i], columns[i + 1], count).round().astype(np.intp)
        down = np.linspace(rows[i], rows[i + 1], count).round().astype(np.intp)
        for shift in (0, 1):
            lower = (down + shift).clip(box.top, box.bottom - 1)
            image[lower, across.clip(0, _WIDTH - 1)] = colour
