"""Files that survive a crash: replaced whole or appended line by line, never half-written.

Numbers keep their full precision. JSON has no NaN, so values that are not finite are written as
the strings `nan`, `inf` and `-inf` and read back as numbers.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file so that readers, and a power cut, see the old or the new one."""
    content = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(_encode(data), indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    data = _decode(json.loads(path.read_text(encoding="utf-8")))
    assert isinstance(data, dict), f"{path} should hold a JSON object"
    return data


class LineWriter:
    """Appends one JSON object per line; each line reaches the file whole."""

    def __init__(self, path: Path) -> None:
        _drop_torn_line(path)
        self._file = path.open("ab", buffering=0)

    def write(self, record: Mapping[str, Any]) -> None:
        # one write call per line, so a kill leaves at most one torn line at the very end
        self._file.write(json.dumps(_encode(record), ensure_ascii=False).encode() + b"\n")

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every complete line; a torn last one, left by a kill, is passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                record = _decode(json.loads(line))
                assert isinstance(record, dict)
                yield record


def _drop_torn_line(path: Path) -> None:
    """A writer that comes after a kill must not glue its first line to half of another."""
    if not path.exists() or not path.stat().st_size:
        return
    with path.open("rb+") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _encode(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decode(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_decode(inner) for inner in value]
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    return value
