"""From the game's screen to what the network sees: grey or colour, resized, channels first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spotter import plugins

Pixels = npt.NDArray[np.uint8]
_RED, _GREEN, _BLUE = (weight * np.arange(256) for weight in (0.21, 0.72, 0.07))


@dataclass(frozen=True)
class Look:
    """How frames are preprocessed."""

    resolution: str
    grey: bool
    size: tuple[int, int] | None
    """[height, width]; None: as drawn."""

    @property
    def screen(self) -> tuple[int, int]:
        """Height and width of what the game draws."""
        width, height = self.resolution.split("x")
        return int(height), int(width)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one frame."""
        return (1 if self.grey else 3, *(self.size or self.screen))


class Lens:
    """Makes frames; `needs_colour` if the screen is rendered as well."""

    def __init__(self, look: Look, needs_colour: bool) -> None:
        cv2: Any = plugins.require("cv2", extra="vizdoom")
        self._resize, self._how = cv2.resize, cv2.INTER_AREA
        self._look = look
        self._makes_grey = look.grey and needs_colour
        self._size = None if look.size in (None, look.screen) else look.size
        self.format = "GRAY8" if look.grey and not needs_colour else "RGB24"
        """The screen format requested from the game."""

    def picture(self, screen: Pixels) -> Pixels:
        """[channels, height, width]"""
        if self._makes_grey:
            screen = grey(screen)
        if self._size is not None:
            height, width = self._size
            screen = self._resize(screen, (width, height), interpolation=self._how)
        return screen[None] if self._look.grey else np.moveaxis(screen, -1, 0)


def grey(screen: Pixels) -> Pixels:
    """A coloured screen as ViZDoom itself would draw it in grey; the order of sums matters."""
    red, green, blue = np.moveaxis(screen, -1, 0)
    shades: Pixels = (_RED[red] + _GREEN[green] + _BLUE[blue]).astype(np.uint8)
    return shades
