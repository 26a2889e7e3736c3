"""Files that survive a crash: replaced whole or appended line by line, never half-written.

Numbers keep their full precision. JSON has no NaN, so values that are not finite are written as
the strings `nan`, `inf` and `-inf` and read back as numbers. What cannot be written (a full disk, a
folder that is gone) is a `StorageError`, and what was there before stays.
"""

import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, Self

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
    content = data.encode() if isinstance(data, str) else data
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
            # Windows: somebody has the old file open for a moment
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


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(encode(data), indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    return _object(path.read_bytes())


class LineWriter:
    """Appends one JSON object per line; each line reaches the file whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            _drop_torn_line(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._synced = monotonic()
        self._torn = False

    def write(self, record: Mapping[str, Any]) -> None:
        # one write call per line, so a kill leaves at most one torn line at the very end
        line = json.dumps(encode(record), ensure_ascii=False).encode() + b"\n"
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


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every complete line; one torn by a kill or a power cut is passed over."""
    for _, record in _lines(path):
        if record is not None:
            yield record


def cut_lines(path: Path, keep: Callable[[dict[str, Any]], bool]) -> int:
    """End a file before the first line not to keep; how many bytes went.

    What stays, stays byte for byte: shortening needs neither a copy nor room on the disk.
    """
    end = 0
    for following, record in _lines(path):
        if record is not None and not keep(record):
            break
        end = following
    try:
        size = path.stat().st_size
        if end < size:
            with path.open("rb+") as file:
                file.truncate(end)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise cannot_write(path, error) from error
    return size - end


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Complete lines: where the next one begins, and the record; None if it is none."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        position = 0
        for line in file:
            position += len(line)
            if line.endswith(b"\n"):
                try:
                    yield position, _object(line)
                except ValueError:
                    yield position, None


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


def _object(text: bytes) -> dict[str, Any]:
    """A JSON object; ValueError for anything else, however strange."""
    try:
        data = decode(json.loads(text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def encode(value: Any) -> Any:
    """Data as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): encode(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encode(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def decode(value: Any) -> Any:
    """The other way round."""
    if isinstance(value, dict):
        return {key: decode(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [decode(inner) for inner in value]
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    return value
