"""The one way by which strangers reach runs: a browser's page, an agent's request.

A name from outside is an id or nothing: it is checked before it becomes a path, and no link inside
a run leads out of the folder of runs.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotter.plugins import did_you_mean
from spotter.rundir import registry
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.types import UserError

# No leading dot, no separators: nothing that could be a path. Imported runs keep their names.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")

_LISTED: Final = ("run.json", "tags", "metrics.jsonl", "events.jsonl")
"""What a list of runs reads of each."""
_READ: Final = (
    "*", "checkpoints/*", "checkpoints/*/*", "videos/*", "episodes/*", "episodes/*/*", "reviews/*",
)  # fmt: skip


@dataclass(frozen=True)
class Access:
    """To one folder of runs."""

    runs: Path

    def run_of(self, id: str) -> Run:
        """The run of that id; `UserError` if there is none, or it leads elsewhere."""
        if not is_name(id):
            raise UserError(f"{_shown(id)} is not the id of a run")
        folder = self.runs / id
        if not (folder / "run.json").is_file():
            known = [info["id"] for info in self.infos()]
            raise UserError(f"there is no run {id} (any more){did_you_mean(id, known)}")
        self._refuse_links(folder)
        return Run(folder)

    def infos(self) -> list[Info]:
        """What run.json says of every run, newest first."""
        there = registry.listing().infos
        return [info for info in there if is_name(info["id"]) and self._is_home(info["id"])]

    def problems(self) -> dict[str, str]:
        """Folders that should be runs but cannot be read, and why."""
        return dict(registry.listing().problems)

    def file_of(self, id: str, *parts: str) -> Path:
        """A file inside a run; every part a plain name, and no link out of the run."""
        run = self.run_of(id)
        for part in parts:
            if not is_name(part):
                raise UserError(f"{_shown(part)} is not the name of a file of a run")
        path = run.folder.joinpath(*parts)
        if not path.resolve().is_relative_to(run.folder.resolve()):
            raise UserError(f"{'/'.join(parts)} of run {id} is a link that leads out of it")
        if not path.is_file():
            raise UserError(f"run {id} has no {'/'.join(parts)}")
        return path

    def _is_home(self, id: str) -> bool:
        folder = self.runs / id
        return all(self._stays(folder / name) for name in ("", *_LISTED))

    def _refuse_links(self, folder: Path) -> None:
        """Readers open these files by name, so none of them may be a way out."""
        try:
            paths = [path for pattern in _READ for path in folder.glob(pattern)]
        except OSError as error:
            raise UserError(f"there is no run {folder.name} (any more)") from error
        if not all(map(self._stays, (folder, *paths))):
            raise UserError(f"run {folder.name} holds a link out of the folder of runs")

    def _stays(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.runs.resolve())


def is_name(text: str) -> bool:
    """Whether a text from outside may name a run, or a file of one."""
    return bool(_NAME.fullmatch(text))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
