"""Crisp text on images, with the font inside pygame, which every install has.

Letters are drawn large and made smaller, so that they are smooth at any size. The font has one
face, a bold one; quiet lines are thinned from it.
"""

from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from spotter.video.overlay import Colour, Image

Align = Literal["left", "right", "middle"]
Ink = npt.NDArray[np.float32]
"""[height, width] in 0 … 1."""

FINER: Final = 4
_THINNED: Final = 0.014  # of the size, taken off both sides of a stroke
_WHITE: Final = (255, 255, 255)


@lru_cache(maxsize=1024)
def _ink(text: str, size: int, bold: bool) -> Ink:
    import pygame

    pygame.font.init()  # environments switch pygame off when they close
    printable = "".join(char if char.isprintable() else " " for char in text)
    font = pygame.font.Font(None, round(size * 1.35 * FINER))
    large = pygame.surfarray.array_alpha(font.render(printable, True, _WHITE)).T
    if not bold:
        large = _thinned(large, max(1, round(size * FINER * _THINNED)))
    return smaller(large)


def _thinned(ink: npt.NDArray[np.uint8], by: int) -> npt.NDArray[np.uint8]:
    """The least value within a round neighbourhood."""
    padded = np.pad(ink, by)
    height, width = ink.shape
    around = range(-by, by + 1)
    near = [(y, x) for y in around for x in around if x * x + y * y <= by * by]
    shifted = [padded[by + y : by + y + height, by + x : by + x + width] for y, x in near]
    return np.asarray(np.minimum.reduce(shifted))


def smaller(large: npt.NDArray[np.uint8]) -> Ink:
    height, width = (-(-side // FINER) for side in large.shape)
    whole = np.zeros((height * FINER, width * FINER), np.float32)
    whole[: large.shape[0], : large.shape[1]] = large
    return np.asarray(whole.reshape(height, FINER, width, FINER).mean(axis=(1, 3)) / 255)


def text_width(text: str, size: int, bold: bool = False) -> int:
    return int(_ink(text, size, bold).shape[1]) if text else 0


def write(
    image: Image, text: str, at: tuple[int, int], size: int, colour: Colour, *,
    bold: bool = False, align: Align = "left",
) -> None:  # fmt: skip
    """Blend a line of text into the image; `at` is its left, right or middle, and its top."""
    if not text:
        return
    ink = _ink(text, size, bold)
    shift = {"left": 0, "right": ink.shape[1], "middle": ink.shape[1] // 2}[align]
    blend(image, ink, at[0] - shift, at[1], colour)


def fitting(text: str, size: int, room: int, bold: bool = False) -> int:
    """The size at which a line fits; at the smallest, it may be cut by the edge."""
    while size > 8 and text_width(text, size, bold) > room:
        size -= max(1, size // 12)
    return size


def blend(image: Image, ink: Ink, left: int, top: int, colour: Colour) -> None:
    """Cut off at the edges of the image."""
    first_row, first_column = max(0, -top), max(0, -left)
    patch = image[max(0, top) : max(0, top + ink.shape[0]),
                  max(0, left) : max(0, left + ink.shape[1])]  # fmt: skip
    height, width = patch.shape[:2]
    seen = ink[first_row : first_row + height, first_column : first_column + width, None]
    patch[:] = patch + seen * (np.array(colour, np.float32) - patch)
