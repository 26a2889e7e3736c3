"""The strip below an image: step, action, reward, score. Numpy only, but for the letters.

Letters come from the font inside pygame, which every install has and which needs no display; each
is drawn once and kept.
"""

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

_NARROWEST: Final = 480  # below this width the strip could not be read
_TALLEST: Final = 960  # small images are not blown up beyond this
_GROUND: Final = (22, 24, 29)
_QUIET: Final = (150, 157, 170)
_LOUD: Final = (241, 243, 246)
_GAIN: Final = (88, 205, 160)
_LOSS: Final = (240, 160, 60)
_SCORE: Final = (110, 190, 245)


@dataclass(frozen=True, slots=True)
class Caption:
    """What the strip says about one frame."""

    step: int
    action: str
    reward: float
    score: float
    ended: bool = False


class Canvas:
    """One frame of the film, redrawn for every image: the image, enlarged if it is tiny."""

    def __init__(self, picture: Image, title: str) -> None:
        height, width = picture.shape[:2]
        self._shape = picture.shape
        self._factor = max(1, min(ceil(_NARROWEST / width), _TALLEST // height))
        shown_height, shown_width = height * self._factor, width * self._factor
        full_width = _even(max(shown_width, _NARROWEST))
        self._size = max(14, min(full_width // 34, 40))
        self._row = self._size + self._size // 3
        strip = 2 * self._row + self._size // 3
        self._top = shown_height
        self._left = (full_width - shown_width) // 2
        self._image = np.empty((_even(shown_height + strip), full_width, 3), dtype=np.uint8)
        self._image[:] = _GROUND
        self._title = title

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, both even, as H.264 wants them."""
        return self._image.shape[1], self._image.shape[0]

    def fits(self, picture: Image) -> bool:
        return picture.shape == self._shape

    def draw(self, picture: Image, caption: Caption) -> Image:
        """The finished frame; valid until the next call."""
        if self._factor > 1:
            picture = picture.repeat(self._factor, axis=0).repeat(self._factor, axis=1)
        self._image[: self._top, self._left : self._left + picture.shape[1]] = picture
        self._image[self._top :] = _GROUND
        self._write_strip(caption)
        return self._image

    def _write_strip(self, caption: Caption) -> None:
        gap = self._size // 2
        first, second = self._top + self._size // 4, self._top + self._size // 4 + self._row
        right = self._image.shape[1] - gap
        step = f"step {caption.step}{' (end)' if caption.ended else ''}"
        left = self._write(step, first, right - self._width(step), _LOUD)
        self._write(self._shortened(self._title, left - 2 * gap), first, gap, _QUIET)

        left = self._number("score", caption.score, second, right, _SCORE)
        column = right - self._width("score -00000.00") - 2 * gap
        colour = _GAIN if caption.reward > 0 else _LOSS if caption.reward < 0 else _QUIET
        left = self._number("reward", caption.reward, second, min(column, left - 2 * gap), colour)
        column = column - self._width("reward -000.00") - 2 * gap
        room = min(column, left - gap) - gap
        self._write(self._shortened(caption.action, room), second, gap, _LOUD)

    def _number(self, label: str, value: float, top: int, right: int, colour: Colour) -> int:
        """Label and number, ending at `right` so that digits do not dance; where it begins."""
        text = number(value)
        left = self._write(text, top, right - self._width(text), colour)
        return self._write(f"{label} ", top, left - self._width(f"{label} "), _QUIET)

    def _shortened(self, text: str, room: int) -> str:
        if self._width(text) <= room:
            return text
        while text and self._width(f"{text}…") > room:
            text = text[:-1]
        return f"{text.rstrip()}…" if text else ""

    def _width(self, text: str) -> int:
        return sum(_letter(char, self._size).shape[1] for char in text)

    def _write(self, text: str, top: int, left: int, colour: Colour) -> int:
        """Blend letters into the image, cut off at its edges; gives back where the text began."""
        at = left
        for char in text:
            alpha = _letter(char, self._size)
            first = max(0, -at)
            patch = self._image[
                top : top + alpha.shape[0], max(0, at) : max(0, at + alpha.shape[1])
            ]
            seen = alpha[: patch.shape[0], first : first + patch.shape[1], None]
            patch[:] = patch + seen * (np.array(colour) - patch)
            at += alpha.shape[1]
        return left


def number(value: float) -> str:
    """Whole numbers without decimals, others with two."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def _even(length: int) -> int:
    return length + length % 2


@cache
def _letter(char: str, size: int) -> npt.NDArray[np.float64]:
    """[height, width] in 0 … 1."""
    import pygame

    pygame.font.init()  # environments switch pygame off when they close
    surface = _font(pygame, size).render(char if char.isprintable() else " ", True, _LOUD)
    return np.asarray(pygame.surfarray.array_alpha(surface).T / 255.0)


def _font(pygame: Any, size: int) -> Any:
    return pygame.font.Font(None, round(size * 1.35))  # SDL counts the line, we the letters
