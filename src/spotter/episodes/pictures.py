"""What an environment renders, as JPEG.

Encoded with PyAV, which makes the films too; no window is opened. No torch here.
"""

import warnings
from fractions import Fraction
from functools import lru_cache
from typing import Final

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.reformatter import VideoReformatter

from spotter.envs.base import Env
from spotter.video.overlay import Image
from spotter.video.picture import NoPicture, image_of

_TICK: Final = Fraction(1, 30)
_QUALITY: Final = {"qmin": "2", "qmax": "4"}  # of 1 to 31: no visible loss, small files


def jpeg(image: Image) -> bytes:
    """[height, width, 3] of bytes as a JPEG file."""
    encoder, painter = _jpeg_encoder(*image.shape[:2])
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    frame = painter.reformat(frame, format="yuvj444p")
    frame.pts, frame.time_base = None, _TICK
    return b"".join(bytes(packet) for packet in encoder.encode(frame))


@lru_cache(maxsize=8)
def _jpeg_encoder(height: int, width: int) -> tuple[VideoCodecContext, VideoReformatter]:
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj444p"
    encoder.time_base, encoder.options = _TICK, dict(_QUALITY)
    encoder.thread_count = 1  # with more, images come out later than they go in
    return encoder, VideoReformatter()


class Screen:
    """What an environment renders; once it fails, it stays dark and says why."""

    def __init__(self, env: Env, problem: str = "") -> None:
        self._env, self.problem = env, problem

    def image(self) -> Image | None:
        """[height, width, 3]; None where there is none."""
        if self.problem:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return image_of(self._env)
        except NoPicture as error:
            self.problem = str(error)
            return None

    def picture(self) -> bytes:
        """The same as JPEG; empty where there is none."""
        image = self.image()
        return b"" if image is None else jpeg(image)
