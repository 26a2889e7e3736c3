"""Curves as a small PNG picture, drawn with NumPy; letters are those of the films."""

import math
import struct
import zlib
from collections.abc import Mapping
from threading import Lock
from typing import Final

import numpy as np

from spotter.digest.text import short
from spotter.rundir.history import Doubles
from spotter.video.overlay import Colour, Image

_WIDTH, _HEIGHT = 800, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 16, 40, 34
_GROUND: Final = (255, 255, 255)
_GRID: Final = (228, 231, 236)
_WORDS: Final = (70, 76, 88)
_LINES: Final[tuple[Colour, ...]] = (
    (11, 110, 153), (214, 94, 0), (0, 138, 92), (176, 60, 140), (120, 120, 40), (60, 60, 60),
)  # fmt: skip
_LETTERS: Final = 13
_fonts = Lock()  # pygame's are for one thread at a time


def line_chart(curves: Mapping[str, tuple[Doubles, Doubles]], title: str) -> bytes:
    """Each curve in its own colour, named above; `x` are env steps. PNG."""
    image: Image = np.empty((_HEIGHT, _WIDTH, 3), np.uint8)
    image[:] = _GROUND
    x = np.concatenate([curve[0] for curve in curves.values()])
    y = np.concatenate([curve[1] for curve in curves.values()])
    across, up = _span(x), _span(y)
    _axes(image, across, up)
    for place, (curve_x, curve_y) in enumerate(curves.values()):
        _line(image, _columns(curve_x, across), _rows(curve_y, up), _LINES[place % len(_LINES)])
    with _fonts:
        _legend(image, list(curves), title)
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


def _span(values: Doubles) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _columns(x: Doubles, span: tuple[float, float]) -> Doubles:
    low, high = span
    return np.asarray(_LEFT + (x - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT - 1))


def _rows(y: Doubles, span: tuple[float, float]) -> Doubles:
    low, high = span
    return np.asarray(_HEIGHT - _BOTTOM - 1 - (y - low) / (high - low) * _plot_height())


def _plot_height() -> int:
    return _HEIGHT - _BOTTOM - _TOP - 1


def _axes(image: Image, across: tuple[float, float], up: tuple[float, float]) -> None:
    from spotter.traces.film_text import write

    with _fonts:
        for value in _ticks(*up, 5):
            row = round(float(_rows(np.array([value]), up)[0]))
            image[row, _LEFT : _WIDTH - _RIGHT] = _GRID
            write(image, short(value), (_LEFT - 6, row - 7), _LETTERS, _WORDS, align="right")
        for value in _ticks(*across, 6):
            column = round(float(_columns(np.array([value]), across)[0]))
            image[_TOP : _HEIGHT - _BOTTOM, column] = _GRID
            at = (column, _HEIGHT - _BOTTOM + 6)
            write(image, short(value), at, _LETTERS, _WORDS, align="middle")


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers within."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step) + 1)][:20]


def _line(image: Image, columns: Doubles, rows: Doubles, colour: Colour) -> None:
    """Two pixels thick, from point to point."""
    if len(columns) == 1:
        columns, rows = np.repeat(columns, 2), np.repeat(rows, 2)
    for i in range(len(columns) - 1):
        count = int(max(abs(columns[i + 1] - columns[i]), abs(rows[i + 1] - rows[i]))) + 2
        across = np.linspace(columns[i], columns[i + 1], count).round().astype(np.intp)
        down = np.linspace(rows[i], rows[i + 1], count).round().astype(np.intp)
        for shift in (0, 1):
            image[(down + shift).clip(0, _HEIGHT - 1), across.clip(0, _WIDTH - 1)] = colour


def _legend(image: Image, names: list[str], title: str) -> None:
    from spotter.traces.film_text import text_width, write

    write(image, title, (_LEFT, 5), _LETTERS, _WORDS, bold=True)
    left = _LEFT
    for place, name in enumerate(names):
        image[28:31, left : left + 14] = _LINES[place % len(_LINES)]
        write(image, name, (left + 18, 22), _LETTERS, _WORDS)
        left += 18 + text_width(name, _LETTERS) + 16
