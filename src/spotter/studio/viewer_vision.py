"""Saliency, activations and filters of a step as images for a page; runs in the worker."""

import base64
import math
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.charts.png import encode
from spotter.episodes.format import Trace, load
from spotter.types import Array

Image = npt.NDArray[np.uint8]

_GLOW: Final = np.array([1.0, 0.45, 0.05])  # orange, seen on gray by every eye
_ABOUT: Final = {
    "action": "Orange: pixels whose change would change the probability of this action most.",
    "value": "Orange: pixels whose change would change the expected return most.",
}


def explain(folder: str, step: int) -> list[dict[str, str]]:
    """title, about and png (base64) of every image, the most informative first."""
    from spotter.episodes import vision

    trace = load(Path(folder))
    looked = vision.look(folder, step)
    found = []
    for target, images in looked.saliency.items():
        for path, sizes in images.items():
            title = f"Saliency for the {target}{_where(trace, path)}"
            found.append(
                _described(title, _ABOUT[target], glowing(_seen(trace, path, step), sizes))
            )
    for layer in looked.layers:
        about = f"{len(layer.images)} filters; bright where one found its pattern."
        found.append(_described(f"Activations: {layer.name}", about, mosaic(layer.images)))
    for path, filters in looked.filters.items():
        about = f"{len(filters)} filters over {filters.shape[1]} channels, oldest left; gray is 0."
        rows = np.stack([_strip(one) for one in filters])
        title = f"Filters of the first layer{_where(trace, path)}"
        found.append(_described(title, about, mosaic(rows, gap=2, ground=255)))
    return found


def _where(trace: Trace, path: str) -> str:
    """Which observation, where there are several."""
    return f", {path}" if len(trace.observations) > 1 else ""


def _seen(trace: Trace, path: str, step: int) -> Array:
    return np.asarray(trace.columns[f"obs/{path}"][step])


def _described(title: str, about: str, image: Image) -> dict[str, str]:
    data = base64.b64encode(encode(image, effort=1))
    return {"title": title, "about": about, "png": data.decode()}


def glowing(seen: Array, sizes: Image) -> Image:
    """[C, H, W] twice → [H, C·W, 3]: the observation dimmed, what mattered lit up."""
    gray = seen.astype(np.float64)
    low, high = (0.0, 255.0) if seen.dtype == np.uint8 else (gray.min(), gray.max())
    gray = (gray - low) / ((high - low) or 1.0)
    light = np.sqrt(sizes / 255.0)[..., None]  # a root: small ones would not be seen
    mixed = 0.75 * gray[..., None] * (1 - light) + light * _GLOW
    tiles = np.concatenate(list(mixed), axis=1)
    glowing_tiles: Image = np.rint(np.clip(tiles, 0, 1) * 255).astype(np.uint8)
    return glowing_tiles


def mosaic(images: Image, gap: int = 1, ground: int = 128) -> Image:
    """[N, H, W] as one image about twice as wide as high, [.., .., 1]."""
    count, height, width = images.shape
    columns = min(count, max(1, round(math.sqrt(2 * count * height / width))))
    rows = math.ceil(count / columns)
    size = (rows * (height + gap) - gap, columns * (width + gap) - gap)
    sheet = np.full(size, ground, np.uint8)
    for place, image in enumerate(images):
        top = place // columns * (height + gap)
        left = place % columns * (width + gap)
        sheet[top : top + height, left : left + width] = image
    return sheet[..., None]


def _strip(channels: Image) -> Image:
    """[C, H, W] side by side."""
    return np.concatenate(list(channels), axis=1)
