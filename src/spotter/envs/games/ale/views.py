"""What a policy sees of a console: its frame or its memory; see also objects.py.

A view looks at the console after every frame and assembles one observation per decision. What it
remembers of earlier frames is in plain attributes, so that it can be saved.
"""

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs

from spotter import plugins

Array = npt.NDArray[Any]
Pixels = npt.NDArray[np.uint8]
COLOURS: Final = 3
_POOLED: Final = 2


class View(Protocol):
    """One observation as an array of constant shape."""

    space: gs.Box[Any]

    def begin(self) -> None:
        """A game stands at its beginning."""

    def see(self, left: int) -> None:
        """A frame went by; so many are left of this decision."""

    def moment(self, action: int | None) -> Array:
        """What there is to see now, after this action (None before the first one)."""


class Pictures:
    """The screen, [1 or 3, height, width]: where asked to, the brighter of the last two frames."""

    def __init__(
        self, ale: Any, screen: tuple[int, int], size: tuple[int, int], *, grey: bool, pool: bool
    ) -> None:
        cv2 = plugins.require("cv2", extra="atari")
        self._resize, self._how = cv2.resize, cv2.INTER_AREA
        self._capture = ale.getScreenGrayscale if grey else ale.getScreenRGB
        shape = screen if grey else (*screen, COLOURS)
        self._newest: Pixels = np.zeros(shape, np.uint8)
        self._older: Pixels = np.zeros(shape, np.uint8)
        self._pools = pool
        self._size = (size[1], size[0])
        self.space = gs.Box(0, 255, (1 if grey else COLOURS, *size), np.uint8)

    def begin(self) -> None:
        self._capture(self._newest)
        self._older[:] = 0

    def see(self, left: int) -> None:
        if left < _POOLED:
            self._capture(self._older if left else self._newest)

    def moment(self, action: int | None) -> Pixels:
        if self._pools:
            np.maximum(self._newest, self._older, out=self._newest)
        picture = self._resize(self._newest, self._size, interpolation=self._how)
        return picture[None] if picture.ndim < COLOURS else np.moveaxis(picture, -1, 0)


class Memory:
    """The 128 bytes of the console."""

    def __init__(self, ale: Any, size: int) -> None:
        self._read = ale.getRAM
        self.space = gs.Box(0, 255, (size,), np.uint8)

    def begin(self) -> None:
        """It is all in the memory."""

    def see(self, left: int) -> None:
        """The last frame is enough."""

    def moment(self, action: int | None) -> Pixels:
        memory: Pixels = self._read()
        return memory
