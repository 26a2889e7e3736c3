"""Several images of an episode on one sheet, each with its step; for models that see."""

from collections.abc import Sequence
from io import BytesIO
from math import ceil, sqrt
from threading import Lock
from typing import Final

import numpy as np

from spotter.episodes.pictures import jpeg
from spotter.video.overlay import Image

_TILE: Final = 240  # pixels across
_STRIP: Final = 18
_GROUND: Final = (22, 24, 29)
_LETTERS: Final = (241, 243, 246)
_one_at_a_time = Lock()  # encoders and fonts are shared


def sheet(pictures: Sequence[bytes], captions: Sequence[str]) -> bytes:
    """A contact sheet of JPEG images as one JPEG; captions stand below each."""
    from spotter.video.letters import fitting, write

    with _one_at_a_time:
        tiles = [_smaller(_decoded(picture)) for picture in pictures]
        height, width = (max(tile.shape[side] for tile in tiles) for side in (0, 1))
        columns = ceil(sqrt(len(tiles)))
        rows = ceil(len(tiles) / columns)
        image: Image = np.empty((rows * (height + _STRIP), columns * (width + 4), 3), np.uint8)
        image[:] = _GROUND
        for place, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
            top, left = place // columns * (height + _STRIP), place % columns * (width + 4)
            image[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
            size = fitting(caption, 13, width)
            write(image, caption, (left + 3, top + height + 2), size, _LETTERS)
        return jpeg(_even(image))


def _decoded(picture: bytes) -> Image:
    import av

    with av.open(BytesIO(picture), mode="r", format="mjpeg") as file:
        frame = next(file.decode(video=0))
        return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def _smaller(image: Image) -> Image:
    """Means over blocks, so that thin lines stay; tiny images are enlarged instead."""
    by = max(1, round(image.shape[1] / _TILE))
    height, width = image.shape[0] // by, image.shape[1] // by
    cut = image[: height * by, : width * by].reshape(height, by, width, by, 3)
    small = cut.mean(axis=(1, 3)).astype(np.uint8)
    larger = max(1, _TILE // (2 * small.shape[1]))
    return np.asarray(small.repeat(larger, axis=0).repeat(larger, axis=1))


def _even(image: Image) -> Image:
    height, width = image.shape[0] % 2, image.shape[1] % 2
    return np.pad(image, ((0, height), (0, width), (0, 0)))
