"""The images a film is made of: title, episode with captions and learning curve, end.

On a wide screen captions stand beside the game, else below it; the curve is always at the bottom.
Everything scales with the shorter side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import av
import numpy as np
import numpy.typing as npt

from spotter.text.numbers import count, number
from spotter.video.letters import FINER, Align, Ink, blend, fitting, smaller, text_width, write
from spotter.video.overlay import Colour, Image

Floats = npt.NDArray[np.float64]

GROUND: Final = (20, 22, 27)
MARKER: Final = (255, 255, 255)
_PANEL: Final = (31, 34, 42)
_LOUD: Final = (241, 243, 246)
_QUIET: Final = (152, 159, 172)
_FAINT: Final = (62, 68, 80)
_LINE: Final = (110, 190, 245)
_GOOD: Final = (98, 208, 166)
_PIXEL_GAME: Final = 400
"""Images up to this side are made of visible pixels, which stay square and sharp."""


class Box(NamedTuple):
    """A part of the image."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def area(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)


@dataclass(frozen=True, slots=True)
class Captions:
    """What stands beside an episode; the score is counted while it plays."""

    title: str
    place: str
    """Which of the chosen checkpoints: `2 of 4`."""
    number: str
    unit: str
    facts: tuple[str, ...]
    note: str
    """What of the episode is shown, and how fast."""


@dataclass(frozen=True, slots=True)
class Card:
    """A title or an end: one thing said loud, a few lines below it, perhaps a command."""

    above: str
    loud: str
    lines: tuple[str, ...]
    command: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Score over env steps, as far as it is known."""

    label: str
    steps: Floats
    scores: Floats
    end: int
    """Env steps at the right edge."""
    threshold: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        known = [*self.scores.tolist(), *([] if self.threshold is None else [self.threshold])]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def share(self, env_steps: float) -> tuple[float, float]:
        """Where a marker stands: shares of width and height, from the left and from the top."""
        low, high = self.bounds
        score = np.interp(env_steps, self.steps, self.scores) if len(self.steps) else low
        return min(env_steps / max(self.end, 1), 1.0), float((high - score) / (high - low))


# --- the learning curve --------------------------------------------------------------------------


class CurveStrip:
    """The learning curve in its box, bright as far as the policy on the screen has learnt."""

    def __init__(self, curve: Curve, box: Box, unit: float) -> None:
        self._curve, self._box = curve, box
        self._text = round(17 * unit)
        self._dot = 6.5 * unit
        inset, label = round(2 * self._dot), round(42 * unit)
        self._inner = Box(
            box.left + inset, box.top + label, box.width - 2 * inset, box.height - label - inset
        )
        self._ink = self._drawn(2.6 * unit)

    def _drawn(self, thickness: float) -> Ink:
        """The line as ink over the whole box."""
        import pygame

        surface = pygame.Surface((self._box.width * FINER, self._box.height * FINER))
        if len(self._curve.steps) > 1:
            places = [self.place(steps) for steps in self._curve.steps]
            points = [
                ((x - self._box.left) * FINER, (y - self._box.top) * FINER) for x, y in places
            ]
            wide = max(1, round(thickness * FINER))
            pygame.draw.lines(surface, _LOUD, False, points, wide)
            for point in points:  # round joints
                pygame.draw.circle(surface, _LOUD, point, wide / 2)
        red = pygame.surfarray.array3d(surface)[:, :, 0].T
        return smaller((red > 0).astype(np.uint8) * 255)

    def place(self, env_steps: float) -> tuple[float, float]:
        """Pixels from the left and from the top of the whole image."""
        across, down = self._curve.share(env_steps)
        inner = self._inner
        return inner.left + across * (inner.width - 1), inner.top + down * (inner.height - 1)

    def draw(self, image: Image, at: float | None) -> None:
        """Redraw the whole box; `at` is the position of the marker, in env steps."""
        box, inner = self._box, self._inner
        image[box.area] = GROUND
        self._draw_threshold(image)
        blend(image, self._ink, box.left, box.top, _FAINT)
        label = self._curve.label if len(self._curve.steps) else ""
        write(image, label, (inner.left, box.top), self._text, _QUIET)
        end = f"{count(self._curve.end)} env steps"
        write(image, end, (inner.right, box.top), self._text, _QUIET, align="right")
        if at is None:
            return
        x, y = self.place(at)
        passed = max(0, round(x) - box.left)
        blend(image, self._ink[:, :passed], box.left, box.top, _LINE)
        self._draw_marker(image, x, y)

    def _draw_threshold(self, image: Image) -> None:
        if self._curve.threshold is None:
            return
        low, high = self._curve.bounds
        inner = self._inner
        y = round(inner.top + (high - self._curve.threshold) / (high - low) * (inner.height - 1))
        dash = max(2, round(self._dot))
        columns = np.arange(inner.left, inner.right)
        image[y, columns[(columns // dash) % 2 == 0]] = _FAINT
        words = f"solved at {number(self._curve.threshold)}"
        write(image, words, (inner.left + inner.width // 2, self._box.top), self._text,
              _QUIET, align="middle")  # fmt: skip

    def _draw_marker(self, image: Image, x: float, y: float) -> None:
        reach = int(self._dot * 2.2) + 2
        left, top = int(x) - reach, int(y) - reach
        rows, columns = np.mgrid[top : top + 2 * reach + 1, left : left + 2 * reach + 1]
        distance = np.hypot(columns - x, rows - y)
        for radius, colour, strength in (
            (2.0 * self._dot, _LINE, 0.28), (self._dot, MARKER, 1.0)
        ):  # fmt: skip
            ink = np.clip(radius + 0.5 - distance, 0, 1) * strength
            blend(image, ink.astype(np.float32), left, top, colour)


# --- the whole image ---------------------------------------------------------------------------


class Screen:
    """One size and one curve: every image of a film is drawn here."""

    def __init__(self, size: tuple[int, int], curve: Curve, picture: Image) -> None:
        self.size = size
        self._width, self._height = size
        self._unit = min(size) / 720
        self._margin = self._u(48)
        height = max(self._u(136), self._height // 8)
        self.strip = CurveStrip(
            curve,
            Box(self._margin, self._height - self._u(30) - height,
                self._width - 2 * self._margin, height),
            self._unit,
        )  # fmt: skip
        self._floor = self._height - self._u(30) - height - self._u(24)
        self._beside = self._width > 1.2 * self._height
        self._column = self._u(344)
        self.shape = picture.shape[:2]
        self.picture = self._place(picture)
        self._base = self._empty()

    def _u(self, length: float) -> int:
        return round(length * self._unit)

    def _empty(self) -> Image:
        image = np.empty((self._height, self._width, 3), np.uint8)
        image[:] = GROUND
        return image

    # --- an episode ---

    def _place(self, picture: Image) -> Box:
        """Where the game is shown: captions beside it on a wide screen, else below."""
        across, down = self._width - 2 * self._margin, self._floor - self._margin
        if self._beside:
            gap = self._u(48)
            width, height = fitted(picture, across - gap - self._column, down)
            left = (self._width - width - gap - self._column) // 2
            return Box(left, self._margin + (down - height) // 2, width, height)
        above, below = self._u(44), self._u(136)
        top = self._margin // 2 + above
        width, height = fitted(picture, across, self._floor - top - below)
        spare = self._floor - top - below - height
        return Box((self._width - width) // 2, top + spare // 2, width, height)

    def begin(self, captions: Captions, at: float) -> None:
        """Everything that stays the same throughout one episode."""
        self._base = self._empty()
        (self._captions_beside if self._beside else self._captions_below)(captions)
        self.strip.draw(self._base, at)

    def frame(self, picture: Image, score: float) -> Image:
        image = self._base.copy()
        box = self.picture
        image[box.area] = scaled(picture, box.width, box.height)
        words, size = number(score), self._u(54)
        if self._beside:
            at = (box.right + self._u(48), self._score_top)
            write(image, words, at, size, _GOOD, bold=True)
        else:
            at = (self._width - self._margin, self._score_top)
            write(image, words, at, size, _GOOD, bold=True, align="right")
        return image

    @property
    def _score_top(self) -> int:
        box = self.picture
        if not self._beside:
            return box.bottom + self._u(44)
        return self._top_beside + self._u(192)

    @property
    def _top_beside(self) -> int:
        """Captions are as high as the tallest image, however small the game's is."""
        return self._margin + max(0, (self._floor - self._margin - self._u(470)) // 2)

    def _captions_beside(self, captions: Captions) -> None:
        image, left, top = self._base, self.picture.right + self._u(48), self._top_beside
        room = self._width - self._margin // 2 - left
        self._line(captions.title, (left, top), 19, _QUIET, room)
        self._line(captions.number, (left, top + self._u(48)), 54, _LOUD, room, bold=True)
        self._line(captions.unit, (left, top + self._u(106)), 22, _QUIET, room)
        self._line("score", (left, top + self._u(164)), 22, _QUIET, room)
        for row, fact in enumerate(captions.facts):
            self._line(fact, (left, top + self._u(282 + 32 * row)), 21, _LOUD, room)
        self._line(captions.note, (left, top + self._u(394)), 19, _QUIET, room)
        write(image, captions.place, (left, top + self._u(424)), self._u(19), _LINE)

    def _captions_below(self, captions: Captions) -> None:
        image, box, left = self._base, self.picture, self._margin
        right, top = self._width - self._margin, self.picture.bottom + self._u(16)
        room, above = right - left, box.top - self._u(36)
        write(image, captions.place, (right, above), self._u(22), _LINE, align="right")
        rest = room - text_width(captions.place, self._u(22)) - self._u(24)
        self._line(captions.title, (left, above), 22, _QUIET, rest)
        first, *others = (captions.unit, *captions.facts)
        under = ", ".join((first, *others[:1]))
        self._line(under, (left, top), 21, _QUIET, room - self._u(100))
        write(image, "score", (right, top), self._u(21), _QUIET, align="right")
        self._line(captions.number, (left, top + self._u(28)), 54, _LOUD, room // 2, bold=True)
        note, top = self._u(20), top + self._u(94)
        write(image, captions.note, (right, top), note, _QUIET, align="right")
        rest = room - text_width(captions.note, note) - self._u(24)
        self._line(", ".join(others[1:]), (left, top), 21, _LOUD, rest)

    def _line(
        self, text: str, at: tuple[int, int], size: float, colour: Colour, room: int,
        bold: bool = False, align: Align = "left",
    ) -> None:  # fmt: skip
        fits = fitting(text, self._u(size), room, bold)
        write(self._base, text, at, fits, colour, bold=bold, align=align)

    # --- cards ---

    def card(self, card: Card, at: float | None) -> Image:
        """Title or end: in the middle, above the curve."""
        self._base = self._empty()
        middle, room = self._width // 2, self._width - 2 * self._margin
        tall = 40 + 96 + 36 * len(card.lines) + (96 if card.command else 0)
        top = self._margin + max(0, (self._floor - self._margin - self._u(tall)) // 2)
        self._line(card.above, (middle, top), 24, _QUIET, room, align="middle")
        top += self._u(40)
        self._line(card.loud, (middle, top), 72, _LOUD, room, bold=True, align="middle")
        top += self._u(104)
        for line in card.lines:
            self._line(line, (middle, top), 23, _QUIET, room, align="middle")
            top += self._u(36)
        if card.command:
            self._command(card.command, top + self._u(22), room)
        self.strip.draw(self._base, at)
        return self._base.copy()

    def _command(self, command: str, top: int, room: int) -> None:
        pad, size, row = self._u(20), self._u(19), self._u(30)

        def fits(words: str) -> bool:
            return text_width(words, size, bold=True) <= room - 2 * pad

        lines = wrapped(command, fits)
        width = min(max(text_width(line, size, bold=True) for line in lines) + 2 * pad, room)
        left = (self._width - width) // 2
        self._base[top : top + row * len(lines) + pad, left : left + width] = _PANEL
        for line in lines:
            at = (left + pad, top + pad // 2 + self._u(3))
            self._line(line, at, 19, _LOUD, width - 2 * pad, bold=True)
            top += row

    def fade(self, before: Image, after: Image, share: float, at: float | None) -> Image:
        """Between two images; the curve does not fade, its marker moves."""
        weight = round(share * 256)
        mixed = before.astype(np.uint16) * (256 - weight) + after.astype(np.uint16) * weight
        image: Image = (mixed >> 8).astype(np.uint8)
        self.strip.draw(image, at)
        return image


def wrapped(command: str, fits: Callable[[str], bool]) -> list[str]:
    """A command over several lines, each but the last ending in a backslash."""
    lines: list[str] = []
    for word in command.split():
        if lines and fits(f"{lines[-1]} {word} \\"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def fitted(picture: Image, width: int, height: int) -> tuple[int, int]:
    """The size a game is shown at: whole multiples where its pixels are to be seen."""
    own_height, own_width = picture.shape[:2]
    factor = min(width / own_width, height / own_height)
    if max(own_width, own_height) <= _PIXEL_GAME and factor >= 1:
        factor = int(factor)
    return max(1, int(own_width * factor)), max(1, int(own_height * factor))


def scaled(picture: Image, width: int, height: int) -> Image:
    own_height, own_width = picture.shape[:2]
    if (own_width, own_height) == (width, height):
        return picture
    if width % own_width == 0 and height % own_height == 0:
        return picture.repeat(height // own_height, axis=0).repeat(width // own_width, axis=1)
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    smooth = frame.reformat(width=width, height=height, interpolation="BILINEAR")
    return np.asarray(smooth.to_ndarray(), dtype=np.uint8)


def points(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Steps and scores, in order of steps, without what is not a number."""
    sound = sorted(pair for pair in pairs if np.isfinite(pair).all())
    steps, scores = zip(*sound, strict=True) if sound else ((), ())
    return np.array(steps, dtype=np.float64), np.array(scores, dtype=np.float64)
