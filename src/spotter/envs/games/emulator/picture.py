"""From a console's screen to what a policy sees: cut, blacken, to grey, to size."""

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Edges = tuple[int, int, int, int]
"""Pixels from the top, bottom, left and right."""
NO_EDGES: Final = (0, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Look:
    """How frames are made."""

    grey: bool = True
    size: tuple[int, int] | None = (84, 84)
    fit: Literal["stretch", "letterbox"] = "stretch"
    crop: Edges = NO_EDGES
    hide: Edges = NO_EDGES

    @property
    def channels(self) -> int:
        return 1 if self.grey else 3

    def shape(self, screen: tuple[int, int]) -> tuple[int, int, int]:
        """[channels, height, width] for a screen of [height, width]; 0 where nothing is left."""
        inside = _inside(screen, self.crop)
        return (self.channels, *(inside if self.size is None or min(inside) < 1 else self.size))

    def take(self, screen: Pixels) -> Pixels:
        """[H, W, 3] as [channels, height, width]; the screen stays as it is."""
        import cv2

        image: Any = screen
        if self.hide != NO_EDGES:
            image = np.zeros_like(screen)
            inner = _window(screen.shape[:2], self.hide)
            image[inner] = screen[inner]
        if self.crop != NO_EDGES:
            image = image[_window(screen.shape[:2], self.crop)]
        if self.grey:
            image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        if self.size is not None:
            image = self._resized(image)
        return image[None] if self.grey else np.moveaxis(image, -1, 0)

    def _resized(self, image: Any) -> object:
        assert self.size is not None
        if self.fit == "stretch":
            return scaled(image, self.size)
        height, width = self.size
        scale = min(height / image.shape[0], width / image.shape[1])
        rows, columns = (max(1, round(side * scale)) for side in image.shape[:2])
        top, left = (height - rows) // 2, (width - columns) // 2
        boxed = np.zeros((height, width, *image.shape[2:]), np.uint8)
        boxed[top : top + rows, left : left + columns] = scaled(image, (rows, columns))
        return boxed


def scaled(image: Any, size: tuple[int, ...]) -> Any:
    """To [height, width]; each new pixel is the mean of what lies under it."""
    import cv2

    return cv2.resize(image, (size[1], size[0]), interpolation=cv2.INTER_AREA)


def _inside(screen: tuple[int, int], edges: Edges) -> tuple[int, int]:
    return screen[0] - edges[0] - edges[1], screen[1] - edges[2] - edges[3]


def _window(screen: tuple[int, ...], edges: Edges) -> tuple[slice, slice]:
    top, bottom, left, right = edges
    return slice(top, screen[0] - bottom), slice(left, screen[1] - right)
