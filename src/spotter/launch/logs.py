"""Reading the end of what a process prints."""

import os
from pathlib import Path
from typing import Final

_TAIL_BYTES: Final = 1 << 16


def tail(path: Path, most_bytes: int = _TAIL_BYTES) -> str:
    """The end of a text file; empty if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most_bytes))
            data = file.read()
    except OSError:
        return ""
    if size > most_bytes:
        data = data.partition(b"\n")[2]
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")


def changed_at(path: Path) -> float:
    """Seconds since 1970; 0 where there is no such file, or no more."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
