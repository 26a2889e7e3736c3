"""What an environment draws: one that renders, its images as arrays, and why there are none."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any, Final

import numpy as np

from spotter.config import EnvConfig, SignalConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder
from spotter.types import UserError
from spotter.video.overlay import Image

_USUAL_FPS: Final = 30.0
_FASTEST_FPS: Final = 120.0


class NoPicture(RuntimeError):  # noqa: N818 - it is an answer, not a fault
    """There are no images; the message is the reason, as the end of a sentence."""


def reason(error: Exception) -> str:
    """On one line; of third-party code also the kind of error."""
    is_sentence = isinstance(error, NoPicture | UserError)
    return " ".join((str(error) if is_sentence else f"{type(error).__name__}: {error}").split())


def rendering(env: EnvConfig, signals: tuple[SignalConfig, ...] = ()) -> EnvInstance:
    """An env as evaluation has them, which renders; `NoPicture` where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the render mode: said in our own words
            instance = EnvBuilder(env, signals, training=False, render=True).build()
    except UserError as error:
        if "render_mode" not in str(error):
            raise
        raise NoPicture("it knows no render_mode") from error
    if instance.env.render_mode != "rgb_array":
        instance.close()
        raise NoPicture("it does not render to rgb_array")
    return instance


@contextmanager
def rendered(env: EnvConfig) -> Iterator[EnvInstance]:
    """The same, closed afterwards; no window is opened."""
    with no_window():
        instance = rendering(env)
        try:
            yield instance
        finally:
            with suppress(Exception):  # what was wanted is made, or the error is on its way
                instance.close()


def perhaps_rendering(
    env: EnvConfig, signals: tuple[SignalConfig, ...] = ()
) -> tuple[EnvInstance, str]:
    """The same if there can be one, else an env that does not render, and why not."""
    try:
        return rendering(env, signals), ""
    except Exception as error:  # a constructor may fail in any way
        return EnvBuilder(env, signals, training=False).build(), reason(error)


def image_of(env: Env) -> Image:
    """[height, width, 3] of bytes, whatever shade of image the environment gives."""
    try:
        rendered: Any = env.render()
    except Exception as error:  # third-party rendering code may fail in any way
        raise NoPicture(reason(error)) from error
    if rendered is None:
        raise NoPicture("render() gives nothing")
    image = np.asarray(rendered)
    if image.ndim == 2:
        image = image[:, :, None].repeat(3, axis=2)
    fits = image.ndim == 3 and image.shape[2] in (3, 4) and image.size
    if image.dtype != np.uint8 or not fits:
        raise NoPicture(
            f"render() gives {image.dtype} of shape {image.shape}, not uint8 [height, width, 3]"
        )
    return image[:, :, :3]


def fps_of(env: Env) -> Fraction:
    """What its metadata says; many frames more than a screen shows are no use."""
    wanted = env.metadata.get("render_fps")
    if not isinstance(wanted, int | float | np.number) or not 0 < wanted < np.inf:
        wanted = _USUAL_FPS
    return Fraction(min(float(wanted), _FASTEST_FPS)).limit_denominator(1000)


@contextmanager
def no_window() -> Iterator[None]:
    """pygame draws without a display; what the user has set stays."""
    drivers = [key for key in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER") if key not in os.environ]
    os.environ.update(dict.fromkeys(drivers, "dummy"))
    try:
        yield
    finally:
        for key in drivers:
            os.environ.pop(key, None)
