"""Explorations by name: the folders under `explored/`, which lies beside the folder of runs.

A name from outside is checked before it becomes a path, and no link leads out of `explored/`.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotter.explore.archive import FILE, Glance, glance
from spotter.plugins import did_you_mean
from spotter.rundir import identity
from spotter.rundir.access import is_name
from spotter.types import UserError

_MOST_LISTED: Final = 300
"""The latest; each is a file to open."""


def home() -> Path:
    """The folder that holds all explorations."""
    return identity.home().parent / "explored"


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list."""

    name: str
    saved: float
    """When, in seconds since 1970."""
    glance: Glance


class Shelf:
    """One folder of explorations; any thread may ask."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], Glance | str] = {}

    def folder(self, name: str) -> Path:
        """The exploration of that name; `UserError` if there is none, or it leads elsewhere."""
        shown = repr(name if len(name) <= 60 else name[:60] + "…")
        if not is_name(name):
            raise UserError(f"{shown} is not the name of an exploration")
        folder = self.root / name
        if not (folder / FILE).is_file():
            hint = did_you_mean(name, self._names())
            raise UserError(f"there is no exploration {name} in {self.root}{hint}")
        if not self._stays(folder):
            raise UserError(f"exploration {name} holds a link out of {self.root}")
        return folder

    def listed(self) -> tuple[list[Listed], dict[str, str]]:
        """All of them, saved last first; and of those that cannot be read, why."""
        found, problems, seen = [], {}, {}
        for name in self._names():
            folder = self.root / name
            try:
                status = (folder / FILE).stat()
            except OSError:
                continue  # deleted this moment
            key = (name, stamp(folder))
            with self._lock:
                known = self._seen.get(key) or _look(folder)
            seen[key] = known
            if isinstance(known, str):
                problems[name] = known
            else:
                found.append(Listed(name, status.st_mtime, known))
        with self._lock:
            self._seen = seen
        return found, problems

    def _names(self) -> list[str]:
        """Saved last first."""
        try:
            folders = [path for path in self.root.iterdir() if is_name(path.name)]
        except OSError:
            return []
        dated = [(_saved(folder), folder.name) for folder in folders if self._stays(folder)]
        latest = sorted((pair for pair in dated if pair[0]), reverse=True)
        return [name for _, name in latest[:_MOST_LISTED]]

    def _stays(self, folder: Path) -> bool:
        root = self.root.resolve()
        return all(path.resolve().is_relative_to(root) for path in (folder, folder / FILE))


def stamp(folder: Path) -> str:
    """Another one as soon as the archive is saved again."""
    try:
        status = (folder / FILE).stat()
    except OSError as error:
        raise UserError(f"there is no exploration {folder.name} (any more)") from error
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def _saved(folder: Path) -> float:
    """0 where there is no archive."""
    try:
        return (folder / FILE).stat().st_mtime
    except OSError:
        return 0.0


def _look(folder: Path) -> Glance | str:
    try:
        return glance(folder)
    except UserError as error:
        return str(error)
