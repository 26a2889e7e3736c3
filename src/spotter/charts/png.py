"""PNG: any image as a file, and charts drawn with NumPy; letters are those of the films."""

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.charts.axes import labels, room, round_step, ticks
from spotter.charts.chart import PALETTE, Chart, Panel, Span
from spotter.rundir.history import Doubles

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

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
_LETTERS: Final = 13
_fonts = Lock()  # pygame's are for one thread at a time
_RGB: Final = 3


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


def drawn(chart: Chart) -> bytes:
    """Panels below each other, each in its own scale; lines are named above them."""
    names = list(dict.fromkeys(line.name for panel in chart.panels for line in panel.lines))
    colours = {name: _rgb(PALETTE[place % len(PALETTE)]) for place, name in enumerate(names)}
    with _fonts:
        legend = _wrapped(names)
        first = _TITLE + _LEGEND_ROW * (1 + max(row for row, _ in legend.values())) + 4
        height = max(_SMALL, min(_TALL, _MOST_TOGETHER // len(chart.panels) - _NAME))
        whole = first + len(chart.panels) * (_NAME + height) + _AXIS
        image: Image = np.empty((whole, _WIDTH, _RGB), np.uint8)
        image[:] = _GROUND
        _head(image, chart.title, legend, colours)
        across = _span(line.x for panel in chart.panels for line in panel.lines)
        for place, panel in enumerate(chart.panels):
            top = first + place * (_NAME + height) + _NAME
            box = _Box(top, height, across, _span(line.y for line in panel.lines))
            _axes(image, box, panel, is_last=place == len(chart.panels) - 1)
            for line in panel.lines:
                _line(image, box, box.columns(line.x), box.rows(line.y), colours[line.name])
    return encode(image)


def encode(image: Image, effort: int = 6) -> bytes:
    """[height, width, 1 or 3] of bytes as a PNG file; zlib packs its rows with this effort of 9."""
    height, width, channels = image.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # a row begins with its filter: none
    rows[:, 1:] = image.reshape(height, -1)
    colour = 2 if channels == _RGB else 0
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), effort)
    chunks = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rgb(colour: str) -> Colour:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _span(values: Iterable[Doubles]) -> Span:
    return room(value for each in values for value in each.tolist())


def _wrapped(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Row and left edge of each name of the legend; a row that is full is followed by another."""
    from spotter.video.letters import text_width

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
    from spotter.video.letters import fitting, write

    size = fitting(title, _LETTERS, _WIDTH - _LEFT - _RIGHT, bold=True)
    write(image, title, (_LEFT, 6), size, _WORDS, bold=True)
    for name, (row, left) in legend.items():
        top = _TITLE + row * _LEGEND_ROW
        image[top + 8 : top + 11, left : left + 14] = colours[name]
        write(image, name, (left + 18, top + 2), _LETTERS, _WORDS)


def _axes(image: Image, box: _Box, panel: Panel, is_last: bool) -> None:
    from spotter.video.letters import write

    write(image, panel.title, (_LEFT, box.top - 17), _LETTERS, _WORDS, bold=True)
    heights = ticks(*box.up, round_step(*box.up, 5 if box.height > 200 else 3))
    rows = box.rows(np.array(heights)).round().astype(int).tolist()
    for row, text in zip(rows, labels(heights), strict=True):
        image[row, _LEFT : _WIDTH - _RIGHT] = _GRID
        write(image, text, (_LEFT - 6, row - 7), _LETTERS, _WORDS, align="right")
    places = ticks(*box.across, round_step(*box.across, 6))
    columns = box.columns(np.array(places)).round().astype(int).tolist()
    for column, text in zip(columns, labels(places), strict=True):
        image[box.top : box.bottom, column] = _GRID
        if is_last:
            write(image, text, (column, box.bottom + 6), _LETTERS, _WORDS, align="middle")


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
