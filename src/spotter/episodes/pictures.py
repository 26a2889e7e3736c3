"""What an environment renders, as JPEG.

Encoded with PyAV, which makes the films too; no window is opened. No torch here.
"""

import warnings
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
from av.video.codeccontext import VideoCodecContext
from av.video.reformatter import VideoReformatter

from spotter.envs.base import Env

Image = npt.NDArray[np.uint8]

_TICK: Final = Fraction(1, 30)
_QUALITY: Final = {"qmin": "2", "qmax": "4"}  # of 1 to 31: no visible loss, small files


def jpeg(image: Image) -> bytes:
    """[height, width] or [height, width, 3 or more] of bytes as a JPEG file."""
    rgb = _rgb(image)
    encoder, painter = _jpeg_encoder(*rgb.shape[:2])
    frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
    frame = painter.reformat(frame, format="yuvj444p")
    frame.pts, frame.time_base = None, _TICK
    return b"".join(bytes(packet) for packet in encoder.encode(frame))


def _rgb(image: Image) -> Image:
    if image.ndim == 2:
        image = image[:, :, None].repeat(3, axis=2)
    return np.ascontiguousarray(image[:, :, :3])


@lru_cache(maxsize=8)
def _jpeg_encoder(height: int, width: int) -> tuple[VideoCodecContext, VideoReformatter]:
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj444p"
    encoder.time_base, encoder.options = _TICK, dict(_QUALITY)
    encoder.thread_count = 1  # with more, images come out later than they go in
    return encoder, VideoReformatter()


class Screen:
    """What an environment renders, as JPEG; once it fails, it stays dark and says why."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self.problem = ""
        if env.render_mode != "rgb_array":
            self.problem = "it does not render to rgb_array"

    def picture(self) -> bytes:
        """Empty where there is none."""
        if self.problem:
            return b""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rendered: object = self._env.render()
            return jpeg(_checked(np.asarray(rendered)))
        except Exception as error:  # third-party rendering code may fail in any way
            self.problem = " ".join(f"{type(error).__name__}: {error}".split())
            return b""


def _checked(picture: npt.NDArray[Any]) -> Image:
    fits = picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] in (3, 4))
    if picture.dtype != np.uint8 or not fits or not picture.size:
        raise ValueError(f"render() gives {picture.dtype} of shape {picture.shape}")
    return picture
