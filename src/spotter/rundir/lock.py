"""The lock of a run: at most one process trains it, on whatever machine.

Numbered files `trainer-1.lock`, `trainer-2.lock` …; the highest number holds the run. A file is
made only if it is not there yet, so one of many wins; taking over from a dead holder of number 4
means making number 5, which again only one can. Works on any system and file system.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import time
from typing import Any, Final

from spotter.rundir import process
from spotter.rundir.files import cannot_write, read_json, write_json
from spotter.rundir.identity import SILENT_AFTER_S, age_s, now
from spotter.types import UserError

_NAME: Final = re.compile(r"trainer-(\d+)\.lock")
_ATTEMPTS: Final = 20
_BEING_WRITTEN_S: Final = 10


@dataclass(frozen=True)
class Holder:
    """A process, distinguished from a later one with the same pid where possible."""

    host: str
    pid: int
    start: str
    time: str
    yields: bool = False
    """It only films what it trained: another process may take the run."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" if self.pid else "another process"

    @property
    def is_me(self) -> bool:
        return self.host == process.host() and self.pid == os.getpid() and not self._is_older()

    def lives(self, heartbeat: str) -> bool:
        """On this machine we can look; of another one we know only when it was last heard of."""
        if self.host == process.host():
            return process.is_alive(self.pid) and not self._is_older()
        return min(age_s(heartbeat), age_s(self.time)) < SILENT_AFTER_S

    def _is_older(self) -> bool:
        start = process.start_of(self.pid)
        return bool(self.start and start and self.start != start)


class TakenOverError(UserError):
    """Another process holds the run now."""


def take(folder: Path, info: Mapping[str, object]) -> None:
    """Hold the run from now on; `UserError` if another living process does."""
    for _ in range(_ATTEMPTS):
        number, holder = _top(folder)
        if number == 0:
            holder = _of_old_format(info)
        if number and holder and holder.is_me:
            return
        _refuse(folder, info, holder)
        if _make(folder, number + 1):
            return
    raise UserError(f"run {folder.name} is wanted by several processes at once; try again")


def require_free(folder: Path, info: Mapping[str, object]) -> None:
    """`UserError` if another living process trains the run; nothing is taken."""
    number, holder = _top(folder)
    _refuse(folder, info, holder if number else _of_old_format(info))


def _refuse(folder: Path, info: Mapping[str, Any], holder: Holder | None) -> None:
    if holder and not holder.is_me and not holder.yields and holder.lives(info["heartbeat"]):
        raise UserError(_in_use(folder, holder))


def check(folder: Path) -> None:
    """A process that slept while another took its run over must not write any more."""
    _, holder = _top(folder)
    if holder and not holder.is_me:
        raise TakenOverError(f"run {folder.name} was taken over by {holder}")


def yield_to_others(folder: Path) -> None:
    """Everything is written: another process may take the run over."""
    number, holder = _top(folder)
    if holder and holder.is_me:
        write_json(folder / f"trainer-{number}.lock", asdict(replace(holder, yields=True)))


def release(folder: Path) -> None:
    """Let others have it."""
    _, holder = _top(folder)
    if holder and holder.is_me:
        for path in _files(folder).values():
            with suppress(OSError):
                path.unlink()


def living_holder(folder: Path, info: Mapping[str, Any]) -> Holder | None:
    """The process that trains or films the run now, this one included."""
    number, holder = _top(folder)
    if number == 0:
        holder = _of_old_format(info)
    return holder if holder and holder.lives(info["heartbeat"]) else None


def _of_old_format(info: Mapping[str, Any]) -> Holder | None:
    """Format 1 had no locks: a run that says `running` and was heard of lately is in use."""
    if info["status"] != "running" or age_s(info["heartbeat"]) > SILENT_AFTER_S:
        return None
    return Holder(info["host"], info["pid"], "", info["heartbeat"])


def _in_use(folder: Path, holder: Holder) -> str:
    if not holder.pid:
        return f"run {folder.name} is being taken by another process just now; try again"
    if holder.host == process.host():
        return f"run {folder.name} is being trained by process {holder.pid}; stop that one first"
    return (
        f"run {folder.name} is being trained by {holder}, heard of less than two minutes ago; "
        "stop that one first"
    )


def _files(folder: Path) -> dict[int, Path]:
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("trainer-*.lock"))
    return {int(match[1]): path for path, match in found if match}


def _top(folder: Path) -> tuple[int, Holder | None]:
    """The highest number and who made it; None for a file that says nothing (any more)."""
    files = _files(folder)
    if not files:
        return 0, None
    number = max(files)
    try:
        return number, Holder(**read_json(files[number]))
    except (OSError, ValueError, TypeError):
        return number, _holder(files[number])


def _holder(path: Path) -> Holder | None:
    """A lock without content is being written just now, or its writer was killed meanwhile."""
    try:
        if time() - path.stat().st_mtime < _BEING_WRITTEN_S:
            return Holder("", 0, "", now())
    except OSError:
        pass
    return None


def _make(folder: Path, number: int) -> bool:
    """Whether we are the one who made it and it is the highest."""
    path = folder / f"trainer-{number}.lock"
    me = Holder(process.host(), os.getpid(), process.start_of(os.getpid()), now())
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        os.write(descriptor, json.dumps(asdict(me)).encode())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise cannot_write(path, error) from error
    finally:
        os.close(descriptor)
    files = _files(folder)
    if max(files, default=number) > number:
        # another process was first: made while we looked at an older state
        with suppress(OSError):
            path.unlink()
        return False
    for below in sorted(files)[:-1]:
        with suppress(OSError):
            files[below].unlink()
    return True
