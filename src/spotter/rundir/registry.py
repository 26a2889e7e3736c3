"""Which runs there are. `index.sqlite` remembers what their run.json held; it is never the truth.

Listing the runs looks at every folder and reads again what has changed since the index was
written, so killed writers and copied, edited or deleted folders cannot make it wrong. Training does
not touch the index. It is replaced as a whole and opened without locks: any number of processes may
do so at once, on any file system; the last one wins, and the next reader repairs what is missing.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Final

from spotter.rundir import identity
from spotter.rundir.files import cannot_write, decode, draft_of, encode
from spotter.rundir.identity import Info, home
from spotter.types import UserError

INDEX: Final = "index.sqlite"
_VERSION: Final = 8
# Clocks of file systems tick slowly: a file this young may change again without looking it.
_SETTLED_NS: Final = 3_000_000_000
_TABLE: Final = (
    "CREATE TABLE runs (id TEXT PRIMARY KEY, seen TEXT, settled INTEGER, info TEXT, problem TEXT)"
)


@dataclass(frozen=True)
class Listing:
    """Every run of a folder, newest first, and the folders that should be runs but are not."""

    infos: tuple[Info, ...]
    problems: Mapping[str, str]
    """Folder name -> why it cannot be read."""


@dataclass(frozen=True)
class _Entry:
    seen: str
    """Size and times of run.json and tags/ when they were read."""
    settled: bool
    info: str
    problem: str


def listing() -> Listing:
    """What is in the folder of runs now; brings the index up to date on the way."""
    try:
        return _refreshed(_load(home() / INDEX))
    except (ValueError, TypeError, KeyError):  # an index that opens but holds nonsense
        return reindex()


def reindex() -> Listing:
    """Read every folder again, whatever the index says."""
    with suppress(OSError):
        for leftover in (home() / INDEX, *home().glob(f".{INDEX}.*")):
            leftover.unlink(missing_ok=True)
    return _refreshed(None)


def remove(folder: Path) -> None:
    """Delete a run: gone from every list at once, even if deleting is cut short."""
    grave = folder.with_name(f".deleted-{folder.name}-{os.getpid()}")
    try:
        folder.rename(grave)
    except OSError as error:
        raise cannot_write(folder, error) from error
    for leftover in folder.parent.glob(".deleted-*"):
        if leftover.is_symlink():
            leftover.unlink()
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def _refreshed(known: dict[str, _Entry] | None) -> Listing:
    before = known or {}
    entries: dict[str, _Entry] = {}
    for folder in _folders():
        entry = _entry(folder, before.get(folder.name))
        if not entry.problem or (folder / "run.json").is_file():  # else deleted meanwhile
            entries[folder.name] = entry
    if entries != known and (entries or known):
        _save(home() / INDEX, entries)
    problems = {name: entry.problem for name, entry in entries.items() if entry.problem}
    texts = {name: entry.info for name, entry in entries.items() if not entry.problem}
    infos = [
        identity.present(home() / name, decode(json.loads(text))) for name, text in texts.items()
    ]
    infos.sort(key=lambda info: (info["created"], info["id"]), reverse=True)
    return Listing(tuple(infos), problems)


def _folders() -> Iterator[Path]:
    with suppress(OSError):
        for entry in sorted(home().iterdir()):
            if not entry.name.startswith(".") and (entry / "run.json").is_file():
                yield entry


def _entry(folder: Path, known: _Entry | None) -> _Entry:
    seen, settled = _look(folder)
    if known and known.settled and known.seen == seen:
        return known
    try:
        text = json.dumps(encode(identity.read(folder)), ensure_ascii=False)
        return _Entry(seen, settled, text, "")
    except UserError as error:
        return _Entry(seen, settled, "", str(error))


def _look(folder: Path) -> tuple[str, bool]:
    """A change of run.json or of the tags changes this, unless both are younger than settled."""
    newest, parts = 0, []
    for name in ("run.json", "tags"):
        try:
            stat = (folder / name).stat()
        except OSError:
            continue
        newest = max(newest, stat.st_mtime_ns)
        parts.append(f"{name} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}")
    return ", ".join(parts), time_ns() - newest > _SETTLED_NS


def _load(path: Path) -> dict[str, _Entry] | None:
    """What the index remembers; None if there is none that can be used."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as index:
            if index.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                return None
            rows = index.execute("SELECT id, seen, settled, info, problem FROM runs").fetchall()
        return {row[0]: _Entry(row[1], bool(row[2]), row[3], row[4]) for row in rows}
    except (sqlite3.Error, OSError):
        return None


def _save(path: Path, entries: Mapping[str, _Entry]) -> None:
    """As good as possible: a folder that cannot be written to is still read rightly."""
    draft = draft_of(path)
    rows = [
        (name, entry.seen, entry.settled, entry.info, entry.problem)
        for name, entry in entries.items()
    ]
    with suppress(sqlite3.Error, OSError):
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(f"{draft.resolve().as_uri()}?nolock=1", uri=True)) as index:
            index.execute("PRAGMA journal_mode = OFF")
            index.execute("PRAGMA synchronous = OFF")
            index.execute(f"PRAGMA user_version = {_VERSION}")
            index.execute(_TABLE)
            index.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", rows)
            index.commit()
        draft.replace(path)
    with suppress(OSError):
        draft.unlink(missing_ok=True)
