"""One run: its folder, who it is, how it is doing. Format and files: docs/run-directory.md.

Exactly one process writes a run; any number read it.
"""

import getpass
import os
import platform
import secrets
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from spotter.config import RunConfig
from spotter.config.dump import to_yaml
from spotter.plugins import did_you_mean
from spotter.rundir.files import LineWriter, read_json, read_lines, write_atomic, write_json
from spotter.types import UserError

FORMAT: Final = 1
FOLDER_VARIABLE: Final = "SPOTTER_RUNS"
_PACKAGES: Final = ("spotter", "torch", "gymnasium", "numpy")
_SILENT_AFTER_S: Final = 120


def home() -> Path:
    """The folder that holds all runs: $SPOTTER_RUNS, else `runs` in the working folder."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "runs")


@dataclass(frozen=True)
class Run:
    """A run's folder as an object."""

    folder: Path

    @classmethod
    def create(cls, config: RunConfig, address: str, command: Sequence[str] = ()) -> "Run":
        """A new folder with an id that sorts by time and never collides."""
        run = cls(_new_folder(home()))
        write_atomic(run.folder / "config.yaml", to_yaml(config.as_data()))
        now = _now()
        write_json(
            run._identity,
            {
                "format": FORMAT,
                "id": run.id,
                "address": address,
                "env": config.env.id,
                "algo": config.algo.name,
                "seed": config.seed,
                "status": "running",
                "reason": None,
                "score": None,
                "solved": None,
                "env_steps": 0,
                "created": now,
                "heartbeat": now,
                "ended": None,
                "by": _user(),
                "command": list(command),
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "versions": _versions(),
            },
        )
        return run

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def _identity(self) -> Path:
        return self.folder / "run.json"

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def events_path(self) -> Path:
        return self.folder / "events.jsonl"

    def info(self) -> dict[str, Any]:
        """run.json; a `running` run that has not been heard of for two minutes reads `silent`."""
        try:
            info = read_json(self._identity)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.folder} is not a run: {error}") from error
        if info["format"] > FORMAT:
            raise UserError(
                f"{self.folder} has format {info['format']}, this Spotter reads up to {FORMAT}; "
                "update Spotter"
            )
        if info["status"] == "running" and _age_s(info["heartbeat"]) > _SILENT_AFTER_S:
            info["status"] = "silent"
        return info

    def update(self, **fields: Any) -> None:
        """Change entries of run.json; only the process that trains does this."""
        write_json(self._identity, {**read_json(self._identity), "heartbeat": _now(), **fields})

    def finish(self, status: str, **fields: Any) -> None:
        now = _now()
        self.update(status=status, heartbeat=now, ended=now, **fields)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Something worth remembering: an evaluation, a note, a stop."""
        with LineWriter(self.events_path) as events:
            events.write({"time": _now(), "event": kind, **data})

    def metrics(self) -> Iterator[dict[str, Any]]:
        """One row per update: update, env_steps, vector_steps, and every metric by name."""
        return read_lines(self.metrics_path)

    def events(self) -> Iterator[dict[str, Any]]:
        return read_lines(self.events_path)


def all_runs() -> list[Run]:
    """Every run in the folder of runs, newest first."""
    folders = home().iterdir() if home().is_dir() else ()
    found = [Run(folder) for folder in folders if (folder / "run.json").is_file()]
    return sorted(found, key=lambda run: run.id, reverse=True)


def select(selector: str) -> Run:
    """`@last`, `@last:<env>`, an id, or the beginning of one."""
    runs = all_runs()
    if selector.startswith("@"):
        return _by_word(selector, runs)
    matches = [run for run in runs if run.id.startswith(selector)]
    exact = [run for run in matches if run.id == selector]
    if exact or len(matches) == 1:
        return (exact or matches)[0]
    if matches:
        raise UserError(
            f"'{selector}' fits {len(matches)} runs: {', '.join(r.id for r in matches)}"
        )
    raise UserError(
        f"there is no run '{selector}' in {home()}{did_you_mean(selector, [r.id for r in runs])}"
    )


def _by_word(selector: str, runs: list[Run]) -> Run:
    word, _, env = selector.partition(":")
    if word != "@last":
        raise UserError(f"unknown selector '{selector}'; write @last, @last:<env> or a run's id")
    for run in runs:
        if not env or run.info()["env"] == env:
            return run
    what = f"run of {env}" if env else "run"
    envs = {run.info()["env"] for run in runs}
    raise UserError(f"there is no {what} in {home()}{did_you_mean(env, envs) if env else ''}")


def _new_folder(parent: Path) -> Path:
    while True:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        folder = parent / f"{stamp}-{secrets.token_hex(2)}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"cannot make a run folder in {parent}: {error}") from error
        return folder


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _age_s(time: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"  # containers without a user database


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": sys.platform}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
