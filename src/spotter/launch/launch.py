"""A training that a launcher has started, and the file that says so.

The file outlasts the process that wrote it, so `spotter stop` finds a job of last week. The run
names it in run.json as `launch`.
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.config import LauncherConfig
from spotter.launch.base import End, Launcher, Task
from spotter.launch.logs import changed_at, last_line, tail
from spotter.rundir import identity, registry
from spotter.rundir.files import json_or_empty, write_json
from spotter.types import UserError

FOLDER: Final = ".launched"
"""In the folder of runs: what is kept about the runs that were started; hidden, so it is no run."""
_TOKEN: Final = re.compile(r"[0-9a-f]{12}")
_SENTENCE: Final = re.compile(r"spotter: (.+)")
_KEPT: Final = 500
_BY_ITSELF: Final = ("finished", "interrupted")


@dataclass(frozen=True)
class Launch:
    """One job of a launcher."""

    runs: Path
    token: str
    config: LauncherConfig
    job: str
    """What the launcher knows it by."""
    words: tuple[str, ...]
    """After `spotter train`."""

    def __str__(self) -> str:
        return f"{self.config.name} job {self.job}"

    @property
    def log(self) -> Path:
        """What it prints; a run repeats most of it in a log of its own."""
        return self.runs / FOLDER / f"{self.token}.log"

    @property
    def pid(self) -> int | None:
        """The process, where it is one of this machine."""
        number = self.job.partition("-")[0]
        return int(number) if self.config.on_this_machine and number.isdecimal() else None

    def run_id(self) -> str | None:
        """The run it trains, once there is one."""
        found = self._info()
        return None if found is None else str(found["id"])

    def end(self) -> End | None:
        """None while it waits or runs."""
        return launcher(self.config).end(self.job, self.log.absolute())

    def stop(self) -> None:
        """What Ctrl-C does: save and stop; the second time, stop at once."""
        launcher(self.config).stop(self.job)

    def failure(self) -> str | None:
        """Why it ended badly, in one sentence; None while it lives or if it went well."""
        end = self.end()
        if end is None or end.code == 0 or (end.code is None and self._is_done()):
            return None
        said = tail(self.log)
        sentences = _SENTENCE.findall(said)
        if sentences and not end.reason:
            return str(sentences[-1])
        how = end.reason or ("" if end.code is None else f"with exit code {end.code}")
        return f"training ended{' ' * bool(how)}{how}: {last_line(said)}"

    def _is_done(self) -> bool:
        found = self._info()
        return found is not None and found["status"] in _BY_ITSELF

    def _info(self) -> identity.Info | None:
        infos = registry.listing().infos
        return next((info for info in infos if info["launch"] == self.token), None)


def start(
    runs: Path, config: LauncherConfig, words: Sequence[str], command: Sequence[str],
    variables: Mapping[str, str],
) -> Launch:  # fmt: skip
    """Start a command that trains; the file is there before its process."""
    runs = runs.absolute()
    launch = Launch(runs, secrets.token_hex(6), config, "", tuple(words))
    _write(launch)
    task = Task(
        name=f"spotter-{launch.token}",
        command=tuple(command),
        folder=Path.cwd(),
        variables={**variables, identity.LAUNCH_VARIABLE: launch.token},
        log=launch.log,
    )
    try:
        job = launcher(config).start(task)
    except UserError:
        _path(runs, launch.token).unlink(missing_ok=True)
        raise
    except Exception as error:  # third-party code, or no room for a process
        _path(runs, launch.token).unlink(missing_ok=True)
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"cannot start a run with launch={config.name}: {reason}") from error
    launch = Launch(runs, launch.token, config, job, launch.words)
    _write(launch)
    return launch


def find(runs: Path, token: str) -> Launch | None:
    """What a run was started by; None where no launcher started it, or that was long ago."""
    written = json_or_empty(_path(runs, token)) if _TOKEN.fullmatch(token) else {}
    try:
        config = chosen(written["launcher"])
        return Launch(runs, token, config, str(written["job"]), tuple(written["words"]))
    except (KeyError, TypeError, ValueError):  # the file is damaged, or its launcher is gone
        return None


def every(runs: Path) -> Iterator[Launch]:
    """All that are remembered, in no order."""
    found = (find(runs, path.stem) for path in (runs / FOLDER).glob("*.json"))
    yield from (launch for launch in found if launch is not None)


def chosen(data: str | Mapping[str, Any]) -> LauncherConfig:
    """The settings of a launcher, by its name or as they were saved."""
    section = {"name": data} if isinstance(data, str) else data
    config = LauncherConfig.chosen(section).from_data(section)
    assert isinstance(config, LauncherConfig)
    return config


def launcher(config: LauncherConfig) -> Launcher:
    """One per process, for some remember what they started."""
    return _made(json.dumps(config.model_dump(mode="json", by_alias=True)))


@cache
def _made(text: str) -> Launcher:
    config = chosen(json.loads(text))
    made: Launcher = plugins.load(LauncherConfig.plugin_kind, config.name).make(config)
    return made


def _write(launch: Launch) -> None:
    path = _path(launch.runs, launch.token)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _tidy(path.parent)
        settings = launch.config.model_dump(mode="json", by_alias=True)
        data = {"launcher": settings, "job": launch.job, "words": list(launch.words)}
        write_json(path, {**data, "time": identity.now()})
    except OSError as error:
        raise UserError(f"cannot start a run: {error}") from error


def _path(runs: Path, token: str) -> Path:
    return runs / FOLDER / f"{token}.json"


def _tidy(folder: Path) -> None:
    """Forget the oldest launches, with what they printed."""
    for old in sorted(folder.glob("*.json"), key=changed_at)[:-_KEPT]:
        for path in folder.glob(f"{old.stem}.*"):
            with suppress(OSError):
                path.unlink()
