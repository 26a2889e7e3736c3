"""What a command does when its output is no longer read, as in `spotter runs | head -1`.

It exits silently, like any other tool; training continues without output.
"""

import errno
import io
import os
import sys
from typing import Any, Final, TextIO

READER_GONE: Final = 141  # what shells call the end by SIGPIPE
_GONE: Final = (errno.EPIPE, errno.EINVAL if os.name == "nt" else errno.EIO)
"""A closed pipe; a closed terminal."""


class _Raw(io.FileIO):
    """The lowest layer of a standard stream: everything that is written passes through here."""

    goes_on = False
    """Whether the command matters more than what it says."""
    _is_lost = False

    def write(self, data: Any) -> int:
        if self._is_lost:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            if not self.goes_on and error.errno not in _GONE:
                raise
            self._is_lost = True
            if self.goes_on:
                return len(data)
            raise SystemExit(READER_GONE) from None


def watch() -> None:
    """Have the standard streams of this process notice when their reader goes away."""
    sys.stdout = _watched(sys.stdout)
    sys.stderr = _watched(sys.stderr)


def _watched(stream: TextIO | None) -> object:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    if os.name == "nt" and stream.isatty():
        return stream  # a console there is no file, and does not go away before the process does
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Raw(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def go_on() -> None:
    """From here on, output that cannot be written is dropped."""
    for stream in (sys.stdout, sys.stderr):
        buffer = stream.buffer if isinstance(stream, io.TextIOWrapper) else None
        if isinstance(buffer, io.BufferedWriter) and isinstance(buffer.raw, _Raw):
            buffer.raw.goes_on = True


def flush() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
