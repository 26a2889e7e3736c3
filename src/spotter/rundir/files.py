"""Files that survive a crash: replaced whole or appended line by line, never half-written.

Numbers keep their full precision. JSON has no NaN, so values that are not finite are written as
the strings `nan`, `inf` and `-inf` and read back as numbers. What cannot be written (a full disk, a
folder that is gone) is a `StorageError`, and what was there before stays. A JSON file is read up to
a size, and lines by `lines.py`, which has limits of its own.
"""

import json
import math
import os
import stat
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, Final, Self

import orjson

MOST_JSON: Final = 16_000_000
"""Bytes of a JSON file, unless its reader expects more."""
MOST_LINE: Final = 16_000_000
"""Bytes of a line; an evaluation of 100,000 episodes has 6 million."""
UNREADABLE: Final = (
    OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError,
    RuntimeError, MemoryError, EOFError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What making sense of a damaged or foreign file may raise."""
_NOT_FINITE: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SYNC_EVERY_S: Final = 5.0
_BLOCK: Final = 1 << 16


class StorageError(OSError):
    """A file could not be written: one sentence with its path and the cause."""


def cannot_write(path: Path, error: OSError) -> StorageError:
    if isinstance(error, StorageError):
        return error
    return StorageError(f"cannot write {path}: {error.strerror or error}")


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file so that readers, and a power cut, see the old or the new one."""
    # a name or message that is not valid text must not keep a run from being saved
    content = data.encode(errors="replace") if isinstance(data, str) else data
    temporary = draft_of(path)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Another name in the same folder that no other thread or process uses."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")


def replace(draft: Path, path: Path) -> None:
    """Give a finished file or folder its name, durably."""
    for patience in range(20):
        try:
            draft.replace(path)
            break
        except PermissionError:
            # Windows: another process has the old file open briefly
            if os.name != "nt" or patience == 19:
                raise
            sleep(0.02)
    with suppress(OSError):  # folders cannot be opened on Windows
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file or folder has reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, data: Mapping[str, object]) -> None:
    write_atomic(path, json.dumps(encode(data), indent=2, ensure_ascii=False) + "\n")


def json_or_empty(path: Path, most: int = MOST_JSON) -> dict[str, Any]:
    """What `read_json` gives; empty where the file is missing or damaged."""
    try:
        return read_json(path, most)
    except (OSError, ValueError):
        return {}


def read_json(path: Path, most: int = MOST_JSON) -> dict[str, Any]:
    """The object in a file; `ValueError` for anything else, also for more than `most` bytes."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path.name} has more than {most // 1_000_000:,} MB")
    try:
        return _object(json.loads(data))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def open_plain(path: Path) -> BinaryIO:
    """A file to read; to open a pipe or a device could take for ever, so these are refused."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is no ordinary file")
    return path.open("rb")


class LineWriter:
    """Appends one JSON object per line; each line reaches the file whole or not at all.

    A file that was deleted or replaced meanwhile is noticed, and a new one is begun.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()
        self._synced = monotonic()
        self._torn = False

    def _open(self) -> None:
        try:
            _drop_torn_line(self._path)
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def write(self, record: Mapping[str, object]) -> bool:
        """Whether the line stands behind those written before; otherwise they are gone."""
        # one write call per line, so a kill leaves at most one torn line at the very end
        line = json.dumps(encode(record), ensure_ascii=False).encode(errors="replace") + b"\n"
        is_there = self._is_there()
        if not is_there:
            self._file.close()
            self._open()
            self._torn = False
        if self._torn:
            line = b"\n" + line  # readers pass over the half line before it
        start = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):  # a disk that fills up takes a part first
                written += self._file.write(line[written:])
            if monotonic() - self._synced >= _SYNC_EVERY_S:
                os.fsync(self._file.fileno())
                self._synced = monotonic()
        except OSError as error:
            self._cut(start)
            raise cannot_write(self._path, error) from error
        self._torn = False
        return is_there

    def _is_there(self) -> bool:
        """Whether the name still leads to the file that is open."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False
        except OSError:
            return True  # not known now; writing will show

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While another function rewrites the file."""
        self._file.close()
        try:
            yield
        finally:
            self._open()

    def _cut(self, start: int) -> None:
        try:
            self._file.truncate(start)
        except OSError:
            self._torn = True

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def cut_lines(path: Path, keep: Callable[[dict[str, object]], bool]) -> int:
    """End a file behind its last line to keep; how many bytes went.

    Looked for from the end, so that a long file takes no longer than a short one. What stays, stays
    byte for byte: shortening needs neither a copy nor room on the disk.
    """
    try:
        with path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            end = size
            for start, line in _backwards(file, size):
                record = line_object(line) if line.endswith(b"\n") else None
                if record is not None and keep(record):
                    break
                end = start
            if end < size:
                file.truncate(end)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise cannot_write(path, error) from error
    return size - end


def _backwards(file: BinaryIO, end: int) -> Iterator[tuple[int, bytes]]:
    """Lines and where they begin, the last one first; only the last may lack its end."""
    tail = b""  # of the line whose beginning is not read yet
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        first, *others = file.read(end - start).split(b"\n")
        for piece in reversed(others):
            end -= len(piece)
            if piece or tail:
                yield end, piece + tail
            end, tail = end - 1, b"\n"
        tail = first + tail
        if len(tail) > MOST_LINE:
            tail = b"\0\n"  # no record, and no need to hold it
        end = start
    if tail:
        yield 0, tail


def _drop_torn_line(path: Path) -> None:
    """A writer that comes after a kill must not glue its first line to half of another."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = start = file.seek(0, os.SEEK_END)
        while start:
            start = max(0, start - _BLOCK)
            file.seek(start)
            newline = file.read(min(_BLOCK, end - start)).rfind(b"\n")
            if newline >= 0:
                start += newline + 1
                break
        if start < end:
            file.truncate(start)


def line_object(line: bytes) -> dict[str, object] | None:
    """The JSON object on a line; None if it is none."""
    try:
        return _object(orjson.loads(line))
    except (ValueError, RecursionError):
        return None


def _object(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return {key: decode(inner) for key, inner in data.items()}


def encode(value: object) -> Any:
    """Data as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): encode(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def decode(value: object) -> Any:
    """The other way round."""
    if isinstance(value, dict):
        return {key: decode(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [decode(inner) for inner in value]
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    return value
