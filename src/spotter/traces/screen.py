"""The copy a session is played in, and what it looks like: building and drawing."""

import warnings

import numpy as np
import numpy.typing as npt

from spotter.config import EnvConfig
from spotter.envs.make import Recipe
from spotter.envs.slices import Copy
from spotter.types import UserError

Image = npt.NDArray[np.uint8]


def build(env: EnvConfig) -> tuple[Copy, str]:
    """A copy as evaluation has them, and why it cannot draw; empty if it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the render mode: said in our own words
            copy = Recipe(env, training=False, render=True).build()
    except UserError as error:
        if "render_mode" not in str(error):
            raise
        return Recipe(env, training=False).build(), f"{env.id} cannot be drawn"
    if copy.env.render_mode != "rgb_array":
        return copy, f"{env.id} cannot be drawn: it does not render to rgb_array"
    return copy, ""


def picture(copy: Copy) -> tuple[Image | None, str]:
    """[height, width, 3] of bytes, or why there is none."""
    try:
        drawn = np.asarray(copy.env.render())
    except Exception as error:  # somebody else's drawing code may fail in any way
        return None, " ".join(f"cannot be drawn: {type(error).__name__}: {error}".split())
    if drawn.ndim == 2:
        drawn = drawn[:, :, None].repeat(3, axis=2)
    if drawn.dtype != np.uint8 or drawn.ndim != 3 or drawn.shape[2] not in (3, 4):
        return None, f"cannot be drawn: render() gives {drawn.dtype} of shape {drawn.shape}"
    return drawn[:, :, :3], ""
