"""One run: its folder, identity and status. Format and files: docs/run-directory.md.

Exactly one process writes a run, and holds its lock; any number read it.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from spotter.config import RunConfig, from_older, recipes, validate
from spotter.config.dump import to_yaml
from spotter.config.foreign import outside
from spotter.rundir import (
    evaluations,
    frames,
    identity,
    lock,
    process,
    registry,
    selectors,
    trust,
)
from spotter.rundir.files import (
    LineWriter,
    cannot_write,
    cut_lines,
    sync,
    write_atomic,
    write_json,
)
from spotter.rundir.identity import FOLDER_VARIABLE, FORMAT, home
from spotter.rundir.lines import last_record, read_lines
from spotter.types import UserError
from spotter.versions import versions

__all__ = ["FOLDER_VARIABLE", "FORMAT", "Run", "all_runs", "home", "select"]

_last_written: dict[Path, dict[str, Any]] = {}
"""run.json of the runs this process trains, as it left them."""
# A letter first, so that no tag looks like the beginning of an id.
_TAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Run:
    """A run's folder as an object."""

    folder: Path

    @classmethod
    def create(
        cls,
        config: RunConfig,
        address: str,
        command: Sequence[str] = (),
        *,
        parent: Mapping[str, object] | None = None,
        why: str = "",
        group: str = "",
        home: Path | None = None,
    ) -> "Run":
        """A new folder with an id that sorts by time and never collides; this process holds it.

        `parent` is {run, checkpoint, env_steps, kind} of what the policy was taken from; `group`
        the name of the runs it was started with.
        """
        now = identity.now()
        info = {
            **identity.defaults(),
            "format": FORMAT,
            "id": "",
            "address": address,
            "env": config.env.id,
            "algo": config.algo.name,
            "seed": config.seed,
            "status": "running",
            "phase": "starting",
            "reason": None,
            "score": None,
            "solved": None,
            "env_steps": 0,
            "created": now,
            "heartbeat": now,
            "ended": None,
            "by": identity.user(),
            "command": list(command),
            "host": process.host(),
            "pid": os.getpid(),
            "pid_start": process.start_of(os.getpid()),
            "versions": versions(),
            **_game(config),
            "vector_steps": 0,
            "parent": parent,
            "why": why,
            "group": group,
            "launch": identity.launch(),
        }
        run = cls(_new_folder(home or identity.home()))
        try:
            lock.take(run.folder, info)
            run.write_config(config)
            write_json(run._identity, info | {"id": run.id, **_marks(run.id, config)})
        except BaseException:
            shutil.rmtree(run.folder, ignore_errors=True)  # a run is there whole or not at all
            raise
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

    # --- reading ---------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """run.json, every field; a `running` run without a sign of life reads `silent`."""
        return identity.present(self.folder, identity.read(self.folder))

    def settings(self) -> dict[str, Any]:
        """config.yaml as plain data, unchecked: settings may be of another version.

        Where a run from elsewhere was trained says nothing about this machine, and might run code.
        """
        data = from_older(self.written())
        if data.get("launch") and self.info()["foreign"]:
            data["launch"] = None
        return data

    def written(self) -> dict[str, Any]:
        """`settings` without those that are younger than the run."""
        data = recipes.plain(recipes.read(self.folder / "config.yaml").data)
        assert isinstance(data, dict)
        return data

    def config(self) -> RunConfig:
        """config.yaml, checked; `trust.UntrustedError` where a foreign run names code or files."""
        data = self.settings()
        self.check_trust(data)
        return validate(data)

    def check_trust(
        self, settings: Mapping[str, object] | None = None, *, played: bool = True
    ) -> None:
        """Refuse settings, found in this folder, that a run from elsewhere may not use.

        Those of config.yaml, if none are given. `played`: or else just read as a config.
        """
        settings = self.settings() if settings is None else settings
        if outside(settings, files=played):
            trust.check(self.info(), settings, played)

    def metrics(self) -> Iterator[dict[str, Any]]:
        """One row per update: update, env_steps, vector_steps, and every metric by name."""
        return read_lines(self.metrics_path)

    def frame(self) -> Any:
        """The metrics as a pandas DataFrame, one row per update."""
        return frames.of_metrics(self.metrics())

    def events(self) -> Iterator[dict[str, Any]]:
        return read_lines(self.events_path)

    def evaluations(self) -> list[dict[str, Any]]:
        """Each score once: where a resume went back and was scored again, the later one counts."""
        return [dict(score.event) for score in evaluations.read(self.events()).scores]

    # --- writing, by the process that trains -----------------------------------------------------

    def resume(
        self,
        command: Sequence[str],
        env_steps: int,
        config: RunConfig,
        changes: Mapping[str, Sequence[object]] | None = None,
        why: str = "",
    ) -> "Run":
        """Resume from a checkpoint at `env_steps`: hold the run, and forget the rows after it.

        `config` is what it resumes with; `changes` what differs in it, as {name: (before, after)}.
        `UserError` if another living process trains the run.
        """
        lock.take(self.folder, self.info())
        info = identity.read(self.folder)  # again: only now it cannot change any more
        session = {
            "time": identity.now(),
            "stopped": info["ended"] or info["heartbeat"],
            "env_steps": env_steps,
            "by": identity.user(),
            "host": process.host(),
            "pid": os.getpid(),
            "command": list(command),
            "changes": {name: list(pair) for name, pair in (changes or {}).items()},
            "why": why,
            "versions": versions(),
        }
        self.update(
            format=FORMAT,
            status="running",
            phase="starting",
            reason=None,
            ended=None,
            env_steps=env_steps,
            host=process.host(),
            pid=os.getpid(),
            pid_start=process.start_of(os.getpid()),
            launch=identity.launch(),
            **_game(config),
            **self._still_reached(info, env_steps),
            **_marks(self.id, config),
            resumes=[*info["resumes"], session],
        )
        cut_lines(self.metrics_path, lambda row: _is_up_to(row, env_steps))
        self.write_config(config)
        self.event("resume", {key: session[key] for key in ("env_steps", "changes", "why", "by")})
        return self

    def take_last_row(self) -> dict[str, object]:
        """Of metrics.jsonl, removed there; empty if there is none."""
        last = last_record(self.metrics_path)
        if last:
            cut_lines(self.metrics_path, lambda row: row != last)
        return last

    def update(self, **fields: object) -> None:
        """Change entries of run.json."""
        lock.check(self.folder)
        info = self._written()
        _last_written[self.folder] = {**info, "heartbeat": identity.now(), **fields}
        write_json(self._identity, _last_written[self.folder])

    def _written(self) -> dict[str, Any]:
        """run.json; one that was deleted or damaged while this process trains is restored."""
        try:
            info = identity.read(self.folder)
            return {key: info[key] for key in info if key not in identity.NOT_WRITTEN}
        except UserError:
            if self.folder not in _last_written or not self.folder.is_dir():
                raise
        self.event("note", {"text": "run.json was deleted or damaged, and is written again"})
        return _last_written[self.folder]

    def _still_reached(self, info: Mapping[str, Any], env_steps: int) -> dict[str, Any]:
        """What is left of `identity.REACHED` where a resume goes back to a checkpoint."""
        goes_back = {"event": "resume", "env_steps": env_steps}
        found = evaluations.read([*self.events(), goes_back]).steps_to_threshold
        training = info["train_steps_to_threshold"]
        still = None if training is None or training > env_steps else training
        return identity.reached(self.folder, info, found) | {"train_steps_to_threshold": still}

    def reach(self, env_steps: int) -> None:
        """An evaluation of the weights at `env_steps` reached the threshold; the first counts."""
        info = self._written()
        first = info["steps_to_threshold"]
        if first is None or env_steps < first:
            self.update(**identity.reached(self.folder, info, env_steps))

    def finish(self, status: str, **fields: Any) -> None:
        """The last word of a session, after which others may have the run."""
        self.write_end(status, **fields)
        self.release()

    def write_end(self, status: str, reason: str | None = None, **fields: object) -> None:
        """Everything is on the disk, and says how it ended; this process still holds the run."""
        for path in (self.metrics_path, self.events_path):
            with suppress(OSError):
                sync(path)
        now = identity.now()
        self.update(status=status, reason=reason, phase="", heartbeat=now, ended=now, **fields)

    def yield_to_others(self) -> None:
        """From now on a resume may take the run from this process, which only films it."""
        lock.yield_to_others(self.folder)

    def check_mine(self) -> None:
        """`lock.TakenOverError` if another process has taken the run."""
        lock.check(self.folder)

    def release(self) -> None:
        lock.release(self.folder)
        _last_written.pop(self.folder, None)

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        """Something worth remembering: an evaluation, a note, a stop."""
        with LineWriter(self.events_path) as events:
            events.write({"time": identity.now(), "event": kind, **data})

    def write_config(self, config: RunConfig) -> None:
        write_atomic(self.folder / "config.yaml", to_yaml(config.as_data()))

    # --- by anybody ------------------------------------------------------------------------------

    def tag(self, name: str) -> None:
        """A word to find the run by."""
        if not _TAG.fullmatch(name):
            raise UserError(
                f"'{name}' cannot be a tag: a letter, then letters, digits, dots, dashes, "
                "underscores, 64 at most"
            )
        path = self.folder / "tags" / name
        try:
            path.parent.mkdir(exist_ok=True)
            path.touch()
        except OSError as error:
            raise cannot_write(path, error) from error

    def untag(self, name: str) -> None:
        there = identity.tags(self.folder)
        if name not in there:
            has = f"it has {', '.join(there)}" if there else "it has none"
            raise UserError(f"run {self.id} has no tag '{name}'; {has}")
        with suppress(FileNotFoundError):
            (self.folder / "tags" / name).unlink()

    def trainer(self) -> str | None:
        """The living process that trains it, in words."""
        holder = self._holder()
        return str(holder) if holder and not holder.yields else None

    def in_use(self) -> str | None:
        """What a living process does with it: `is being trained by process 7 on host`."""
        holder = self._holder()
        if holder is None:
            return None
        return f"is being {'filmed' if holder.yields else 'trained'} by {holder}"

    def _holder(self) -> lock.Holder | None:
        return lock.living_holder(self.folder, identity.read(self.folder))


def all_runs() -> list[Run]:
    """Every run in the folder of runs, newest first."""
    return [Run(home() / info["id"]) for info in registry.listing().infos]


def select(selector: str) -> Run:
    """The run that is meant: see selectors.py for the forms."""
    folder = selectors.as_folder(selector)
    if folder and folder.name != selector:
        return Run(folder)
    listing = registry.listing()
    if selector in listing.problems:
        raise UserError(listing.problems[selector])
    try:
        return Run(home() / selectors.choose(selector, listing.infos))
    except UserError:
        if folder:
            return Run(folder)
        raise


def _game(config: RunConfig) -> dict[str, Any]:
    """What its scores are worth: threshold, fingerprint, protocol, settings, action names."""
    from spotter.envs.base import threshold  # who reads runs needs no environments
    from spotter.envs.fingerprint import card

    return {"threshold": threshold(config.env), **card(config.env, config.reward)}


def _marks(run_id: str, config: RunConfig) -> dict[str, Any]:
    return trust.marks(run_id, config.as_data())


def _is_up_to(row: Mapping[str, Any], env_steps: int) -> bool:
    steps = row.get("env_steps")
    return isinstance(steps, int) and steps <= env_steps


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
