"""Files of JSON lines, whatever they hold: read and followed in blocks of lines, within limits.

A file larger than `MOST_BYTES` is read in evenly spaced parts, from its beginning to its end. Lines
longer than any of ours are passed over, and a file that turns out to hold something else is given
up after `MOST_NONSENSE`. One sentence says what was passed over.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from spotter.rundir.files import MOST_LINE, line_object, open_plain

MOST_BYTES: Final = 256_000_000
"""Of one file; those that Spotter writes stay far below."""
MOST_NONSENSE: Final = 16_000_000
"""Bytes of lines that are no JSON objects, before the rest of a file is left alone."""
_PARTS: Final = 256
_BLOCK: Final = 1 << 20
_CHECKED_BYTES: Final = 64


def read_lines(path: Path, problems: list[str] | None = None) -> Iterator[dict[str, object]]:
    """Every complete line that is a JSON object; one torn by a kill or a power cut is passed over.

    A sentence about what could not be read is added to `problems`.
    """
    tail = Tail(path)
    for block in tail.read()[1]:
        for line in block.splitlines():
            record = line_object(line)
            if record is not None:
                yield record
            else:
                tail.unread.add(line)
        if tail.unread.is_too_much:
            break
    if problems is not None and (sentence := tail.unread.sentence()):
        problems.append(sentence)


def last_record(path: Path) -> dict[str, object]:
    """The last complete line that is a JSON object, from the end of a file; empty without one."""
    try:
        with open_plain(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _BLOCK))
            lines = file.read(_BLOCK).split(b"\n")
    except OSError:
        return {}
    records = (line_object(line) for line in reversed(lines[:-1]))  # behind the last line end: torn
    return next((record for record in records if record is not None), {})


class Unread:
    """What was passed over in a file."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._lines = 0
        self._bytes = 0
        self._size = 0
        self._error = ""

    @property
    def is_too_much(self) -> bool:
        """Whether the rest of the file is to be left alone."""
        return self._bytes > MOST_NONSENSE

    def add(self, line: bytes) -> None:
        """A line that is no record."""
        if line.strip():
            self._lines += 1
            self._bytes += len(line)

    def part_of_line(self, length: int) -> None:
        """So many bytes of a line that is too long."""
        self._bytes += length

    def too_large(self, size: int) -> None:
        self._size = size

    def failed(self, error: OSError) -> None:
        self._error = error.strerror or str(error)

    def sentence(self) -> str:
        """Empty if all of it was read."""
        if self._error:
            return f"{self._name} cannot be read: {self._error}"
        if self.is_too_much:
            return f"{self._name} holds much that is no JSON; it was not read to its end"
        if self._size:
            return (
                f"{self._name} has {self._size / 1e6:,.0f} MB; {MOST_BYTES / 1e6:.0f} MB of it "
                f"were read, in {_PARTS} evenly spaced parts"
            )
        if self._lines:
            lines = "1 line that is" if self._lines == 1 else f"{self._lines:,} lines that are"
            return f"{self._name} has {lines} no JSON object; the others were read"
        return ""


class Tail:
    """The complete lines a file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._before = b""
        """The last bytes read: if they changed, the file is another one."""
        self._inode = 0
        """A file that was thinned, or deleted and begun again, has another."""
        self.unread = Unread(path)

    def read(self) -> tuple[bool, Iterator[bytes]]:
        """Whether to begin again, and blocks of new lines, which are to be read to their end.

        A file that is gone reads as empty.
        """
        try:
            file = open_plain(self._path)
        except OSError as error:
            again = self._offset > 0
            self._restart()
            if not isinstance(error, FileNotFoundError):
                self.unread.failed(error)
            return again, iter(())
        again = self._offset > 0 and not self._is_same(file)
        if again:
            self._restart()
        return again, self._blocks(file)

    def _restart(self) -> None:
        self._offset, self._before, self.unread = 0, b"", Unread(self._path)

    def _is_same(self, file: BinaryIO) -> bool:
        if os.fstat(file.fileno()).st_ino != self._inode:
            return False
        try:
            file.seek(self._offset - len(self._before))
            return file.read(len(self._before)) == self._before
        except OSError:
            return True  # reading on will say

    def _blocks(self, file: BinaryIO) -> Iterator[bytes]:
        with file:
            status = os.fstat(file.fileno())
            self._inode = status.st_ino
            if self.unread.is_too_much:
                return
            parts = _parts(self._offset, status.st_size)
            if len(parts) > 1:
                self.unread.too_large(status.st_size)
            try:
                for place, (start, end) in enumerate(parts):
                    for position, block in self._lines(file, start, end, in_line=place > 0):
                        self._offset = position
                        self._before = (self._before + block[-_CHECKED_BYTES:])[-_CHECKED_BYTES:]
                        yield block
            except OSError as error:
                self.unread.failed(error)

    def _lines(
        self, file: BinaryIO, start: int, end: int, in_line: bool
    ) -> Iterator[tuple[int, bytes]]:
        """Whole lines in a part of a file, and where they end; `in_line`: it begins inside one."""
        file.seek(start)
        rest = b""
        while start < end and (data := file.read(min(_BLOCK, end - start))):
            start += len(data)
            if in_line:
                newline = data.find(b"\n")
                if newline < 0:
                    self.unread.part_of_line(len(data))
                    continue
                data, in_line = data[newline + 1 :], False
            data = rest + data
            cut = data.rfind(b"\n") + 1
            rest = data[cut:]
            if cut:
                yield start - len(rest), data[:cut]
            if len(rest) > MOST_LINE:
                self.unread.part_of_line(len(rest))
                rest, in_line = b"", True


def _parts(start: int, end: int) -> list[tuple[int, int]]:
    """What to read of a file."""
    size = end - start
    if size <= MOST_BYTES:
        return [(start, end)]
    length = MOST_BYTES // _PARTS
    starts = [start + (size - length) * place // (_PARTS - 1) for place in range(_PARTS)]
    return [(place, place + length) for place in starts]
