"""The env a session is played in, and what it looks like: building and drawing."""

import warnings

import numpy as np
import numpy.typing as npt

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.make import EnvBuilder
from spotter.types import UserError

Image = npt.NDArray[np.uint8]


def build(env: EnvConfig) -> tuple[EnvInstance, str]:
    """An env as evaluation has them, and why it cannot draw; empty if it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the render mode: said in our own words
            instance = EnvBuilder(env, training=False, render=True).build()
    except UserError as error:
        if "render_mode" not in str(error):
            raise
        return EnvBuilder(env, training=False).build(), f"{env.id} cannot be drawn"
    if instance.env.render_mode != "rgb_array":
        return instance, f"{env.id} cannot be drawn: it does not render to rgb_array"
    return instance, ""


def picture(instance: EnvInstance) -> tuple[Image | None, str]:
    """[height, width, 3] of bytes, or why there is none."""
    try:
        drawn = np.asarray(instance.env.render())
    except Exception as error:  # third-party rendering code may fail in any way
        return None, " ".join(f"cannot be drawn: {type(error).__name__}: {error}".split())
    if drawn.ndim == 2:
        drawn = drawn[:, :, None].repeat(3, axis=2)
    if drawn.dtype != np.uint8 or drawn.ndim != 3 or drawn.shape[2] not in (3, 4):
        return None, f"cannot be drawn: render() gives {drawn.dtype} of shape {drawn.shape}"
    return drawn[:, :, :3], ""
