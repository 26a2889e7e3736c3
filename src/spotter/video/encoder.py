"""Images into a file, one after the other: H.264 in mp4, or a GIF, as its name says."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Final, Self

import av
from av.container import OutputContainer
from av.filter import Graph
from av.video.format import VideoFormat
from av.video.stream import VideoStream

from spotter.rundir.files import StorageError, draft_of, replace
from spotter.video.overlay import Image

FORMATS: Final = (".mp4", ".gif")
_CODEC: Final = {"preset": "veryfast", "crf": "20", "rc-lookahead": "10"}


class Encoder:
    """Under a temporary name until it is closed; on an error nothing stays."""

    def __init__(self, path: Path, fps: Fraction) -> None:
        assert path.suffix.lower() in FORMATS, path
        self._path = path
        self._draft = draft_of(path)
        self._fps = fps
        self._is_gif = path.suffix.lower() == ".gif"
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._palettes: Graph | None = None
        self._last: Image | None = None
        self.frames = 0

    def add(self, image: Image) -> None:
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts = self.frames
        frame.time_base = 1 / self._fps
        with self._writing():
            container, stream = self._open(image)
            if self._palettes is None:
                container.mux(stream.encode(frame))
            else:
                self._palettes.push(frame)
                self._mux_coloured(container, stream, self._palettes)
        self._last = image
        self.frames += 1

    def hold(self, frames: int) -> None:
        """Show the last image for longer."""
        assert self._last is not None, "there is no image to hold"
        for _ in range(frames):
            self.add(self._last)

    def _open(self, image: Image) -> tuple[OutputContainer, VideoStream]:
        """With the first image, whose size decides."""
        if self._container is None or self._stream is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            height, width = image.shape[:2]
            self._container, self._stream = self._open_gif() if self._is_gif else self._open_mp4()
            self._stream.height, self._stream.width = height, width
            self._stream.codec_context.time_base = 1 / self._fps
            self._stream.codec_context.thread_count = 1  # training wants the other cores
            self._palettes = _palettes(width, height, self._fps) if self._is_gif else None
        return self._container, self._stream

    def _open_mp4(self) -> tuple[OutputContainer, VideoStream]:
        # the index in front lets browsers begin before they have the whole file
        options = {"movflags": "+faststart"}
        container = av.open(str(self._draft), "w", format="mp4", container_options=options)
        stream = container.add_stream("libx264", self._fps, options=dict(_CODEC))
        stream.pix_fmt = "yuv420p"
        return container, stream

    def _open_gif(self) -> tuple[OutputContainer, VideoStream]:
        container = av.open(str(self._draft), "w", format="gif")  # which repeats for ever
        stream = container.add_stream("gif", self._fps)
        assert isinstance(stream, VideoStream)
        stream.pix_fmt = "pal8"
        return container, stream

    def _mux_coloured(
        self, container: OutputContainer, stream: VideoStream, palettes: Graph
    ) -> None:
        """Every frame that has its palette by now."""
        while True:
            try:
                frame = palettes.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            assert isinstance(frame, av.VideoFrame)
            container.mux(stream.encode(frame))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, av.FFmpegError) as error:
            reason = error.strerror or error
            raise StorageError(f"cannot write {self._path}: {reason}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._container is None or self._stream is None:
                return
            if kind is None:
                with self._writing():
                    self._flush(self._container, self._stream)
                    self._container.close()
                    replace(self._draft, self._path)
            else:
                with suppress(OSError, av.FFmpegError):  # what went wrong is already on its way
                    self._container.close()
        finally:
            with suppress(OSError):
                self._draft.unlink(missing_ok=True)

    def _flush(self, container: OutputContainer, stream: VideoStream) -> None:
        if self._palettes is not None:
            self._palettes.push(None)
            self._mux_coloured(container, stream, self._palettes)
        container.mux(stream.encode(None))


def _palettes(width: int, height: int, fps: Fraction) -> Graph:
    """A GIF has 256 colours: each frame gets its own, so that none has to be known beforehand."""
    graph = Graph()
    source = graph.add_buffer(
        width=width, height=height, format=VideoFormat("rgb24"), time_base=1 / fps
    )
    split, sink = graph.add("split"), graph.add("buffersink")
    generate = graph.add("palettegen", "stats_mode=single")
    # an ordered pattern stays where it is from frame to frame; others flicker
    use = graph.add("paletteuse", "new=1:dither=bayer:bayer_scale=3")
    source.link_to(split)
    split.link_to(use, 0, 0)
    split.link_to(generate, 1, 0)
    generate.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    return graph
