"""metrics.jsonl stays small: the newest rows are complete, older ones are thinned by rule.

The rule (docs/run-directory.md states it for readers): of every stretch of old updates the first
and the last row stay, and for each metric the rows with its least, its greatest and its first
value that is not finite, and for each alert the first row it held in. Rows stay whole and as they
were written; a kept row says in `thinned` what was left out behind it. Thinning twice gives what
thinning once gives, so it does not matter where a run was stopped and resumed.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from spotter.rundir.files import StorageError, cannot_write, draft_of, replace

RECENT: Final = 10_000
"""Updates whose rows are all kept."""
EVERY: Final = 10_000
"""Updates from one thinning to the next."""
STRETCHES: Final = 128
"""The old part of a run is divided into at most so many."""
FEWEST_STRETCHES: Final = 8
MOST_BYTES: Final = 64_000_000
"""Of thinned rows; where there are very many metrics, stretches become longer until they fit."""
NOTE: Final = "thinned"
_MARK: Final = b', "thinned": '
_SHORTEST: Final = 128
_TOGETHER: Final = 4096
"""Rows of one stretch held in memory before they are thinned."""


@dataclass(slots=True)
class _Kept:
    """A row, and how many were left out between it and the next one."""

    row: Mapping[str, object]
    line: bytes
    """As it was written, without a note."""
    left_out: int
    alerts: Counter[str]
    """Updates among those left out, by the alert that held."""

    def written(self) -> bytes:
        if not self.left_out:
            return self.line + b"\n"
        note = orjson.dumps({"updates": self.left_out, "alerts": self.alerts})
        return self.line[:-1] + _MARK + note + b"}\n"


def is_due(update: int) -> bool:
    return update % EVERY == 0 and update > RECENT


def thin(path: Path, newest: int) -> None:
    """Thin all rows but those of the `RECENT` updates up to `newest`; `StorageError` if it cannot.

    Readers, and a kill, find the old file or the new one. No process may append meanwhile.
    """
    last = newest - RECENT
    length = stretch(last)
    while _rewrite(path, last, length) > MOST_BYTES and last > length * FEWEST_STRETCHES:
        length *= 2


def stretch(updates: int) -> int:
    """Updates in one stretch; powers of two, so that longer stretches are made of whole ones."""
    return max(_SHORTEST, 1 << max(0, math.ceil(math.log2(max(1, updates) / STRETCHES))))


def held(row: Mapping[str, object]) -> Counter[str]:
    """In how many updates each alert held: this row's, and those left out behind it."""
    found = Counter(_alerts(row))
    note = row.get(NOTE)
    counts = note.get("alerts") if isinstance(note, Mapping) else None
    if isinstance(counts, Mapping):
        found.update({name: n for name, n in counts.items() if type(n) is int and n > 0})
    return found


def updates(row: Mapping[str, object]) -> int:
    """How many updates a row stands for: itself, and those left out behind it."""
    note = row.get(NOTE)
    count = note.get("updates") if isinstance(note, Mapping) else None
    return 1 + (count if type(count) is int and count > 0 else 0)


def _rewrite(path: Path, last: int, length: int) -> int:
    """The bytes that thinned rows take."""
    draft = draft_of(path)
    try:
        with path.open("rb") as source, draft.open("wb") as target:
            rest = b""
            thinned = 0
            for kept in _old(source, last, length):
                if isinstance(kept, bytes):
                    rest = kept
                    break
                thinned += target.write(kept.written())
            target.write(rest)
            while block := source.read(1 << 20):
                target.write(block)
            target.flush()
            os.fsync(target.fileno())
        replace(draft, path)
    except StorageError:
        raise
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return thinned


def _old(source: BinaryIO, last: int, length: int) -> Iterator[_Kept | bytes]:
    """What stays of the rows up to `last`; at the end the first line after them."""
    rows: list[_Kept] = []
    place = -1
    for line in source:
        row = _row(line)
        if row is None:
            continue  # no reader can make anything of it
        if row["update"] > last:
            yield from _thinned(rows)
            yield line
            return
        if row["update"] // length != place:
            yield from _thinned(rows)
            rows, place = [], row["update"] // length
        rows.append(_kept(row, line))
        if len(rows) >= _TOGETHER:
            rows = _thinned(rows)
    yield from _thinned(rows)


def _row(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"}\n"):
        return None
    try:
        row = orjson.loads(line)
    except ValueError:
        return None
    is_row = isinstance(row, dict) and type(row.get("update")) is int and row["update"] >= 0
    return row if is_row else None


def _kept(row: Mapping[str, Any], line: bytes) -> _Kept:
    if NOTE not in row:
        return _Kept(row, line[:-1], 0, Counter())
    bare = line[: line.rfind(_MARK)] + b"}"
    return _Kept(row, bare, updates(row) - 1, held(row) - Counter(_alerts(row)))


def _thinned(rows: Sequence[_Kept]) -> list[_Kept]:
    """The rows of one stretch that stay, each with what is left out behind it."""
    chosen = _chosen([kept.row for kept in rows])
    found: list[_Kept] = []
    for place, kept in enumerate(rows):
        if place in chosen:  # the first row always is
            found.append(kept)
            continue
        found[-1].left_out += 1 + kept.left_out
        found[-1].alerts.update(_alerts(kept.row))
        found[-1].alerts.update(kept.alerts)
    return found


def _chosen(rows: Sequence[Mapping[str, object]]) -> set[int]:
    if not rows:
        return set()
    extremes: dict[str, list[Any]] = {}  # key -> least, its place, greatest, its place
    first: dict[str, int] = {}  # of values that are not finite, and of alerts
    for place, row in enumerate(rows):
        for key, value in row.items():
            if isinstance(value, int | float):
                known = extremes.get(key)
                if known is None:
                    extremes[key] = [value, place, value, place]
                elif value < known[0]:
                    known[:2] = value, place
                elif value > known[2]:
                    known[2:] = value, place
            elif isinstance(value, str):
                first.setdefault(key, place)
        for alert in _alerts(row):
            first.setdefault(f"alert {alert}", place)
    at_extremes = (place for known in extremes.values() for place in (known[1], known[3]))
    return {0, len(rows) - 1, *at_extremes, *first.values()}


def _alerts(row: Mapping[str, object]) -> list[str]:
    names = row.get("alerts")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
