"""Smaller (or larger) images by area averaging, with two small matrices and no image library.

Every new pixel is the mean of the old image under it, so nothing that flickers between pixels
is lost when shrinking. Enlarging gives blocks, blended where a new pixel straddles two old ones.
"""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import needs_picture


class Config(WrapperConfig):
    name: Literal["resize"]
    height: Whole = Field(84, ge=1, le=10_000, description="Pixels from top to bottom.")
    width: Whole = Field(84, ge=1, le=10_000, description="Pixels from left to right.")


def wrap(config: Config, env: Env) -> Env:
    return Resize(env, config.height, config.width)


class Resize(gym.ObservationWrapper[Any, Any, Any]):
    def __init__(self, env: Env, height: int, width: int) -> None:
        super().__init__(env)
        shape = needs_picture(env, "resize").shape
        self._rows = area_weights(shape[0], height)
        self._columns = area_weights(shape[1], width)
        self.observation_space = gs.Box(0, 255, (height, width, *shape[2:]), np.uint8)

    def observation(self, observation: object) -> object:
        image = np.asarray(observation, dtype=np.float32)
        flat = self._rows @ image.reshape(image.shape[0], -1)  # [h, W·C]
        if image.ndim == 2:
            resized = flat @ self._columns.T
        else:
            resized = self._columns @ flat.reshape(len(flat), *image.shape[1:])  # [h, w, C]
        return np.rint(resized).astype(np.uint8)


def area_weights(old: int, new: int) -> npt.NDArray[np.float32]:
    """[new, old]: which share of each new pixel lies over each old one; rows sum to 1."""
    edges = np.arange(new + 1) * (old / new)
    pixels = np.arange(old)
    start = np.maximum(edges[:-1, None], pixels)
    stop = np.minimum(edges[1:, None], pixels + 1)
    overlap = np.clip(stop - start, 0, None)
    weights: npt.NDArray[np.float64] = overlap / overlap.sum(axis=1, keepdims=True)
    return weights.astype(np.float32)
