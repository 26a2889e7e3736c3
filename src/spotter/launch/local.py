"""Runs that a server starts and stops: processes of their own that outlast it.

A run is `python -m spotter train …` in its own session, as if typed in another terminal. Stopping
is what Ctrl-C does there: the update is finished, everything is saved.
"""

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spotter.config import Resolved, RunConfig, changed, resolve, validate
from spotter.config.diff import difference, fixed
from spotter.rundir import identity, lock, process, registry
from spotter.rundir.files import cannot_write
from spotter.rundir.identity import ACTOR_VARIABLE, FOLDER_VARIABLE
from spotter.rundir.run import Run
from spotter.types import UserError

# Recipe files are for the command line: a stranger names nothing that is a path.
_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:[/:][A-Za-z0-9_][A-Za-z0-9_.+-]*){0,3}"
)
_FILE: Final = re.compile(r"\.ya?ml(:|$)", re.IGNORECASE)
FOLDER: Final = ".launched"
"""In the folder of runs: what servers keep about the runs they start; hidden, so it is no run."""
_SENTENCE: Final = re.compile(r"spotter: (.+)")
_KEPT: Final = 50
_TAIL_BYTES: Final = 1 << 16
_LOOK_EVERY_S: Final = 0.5


@dataclass
class Launch:
    """A training process that was started here."""

    process: "subprocess.Popen[bytes]"
    log: Path
    command: list[str]
    started: str = field(default_factory=identity.now)

    def run_id(self) -> str | None:
        """The run it trains, once there is one."""
        for info in registry.listing().infos:
            began = [info["created"], *(resume["time"] for resume in info["resumes"])][-1]
            ours = info["pid"] == self.process.pid and info["host"] == process.host()
            if ours and began >= self.started:  # else a process of long ago that had the number
                return str(info["id"])
        return None

    def interrupt(self) -> None:
        """What Ctrl-C does: save and stop; the second time, stop at once."""
        if self.process.poll() is None:
            with suppress(OSError):  # it has just ended
                os.kill(self.process.pid, _interrupt())

    def failure(self) -> str | None:
        """Why it ended badly, in one sentence; None while it lives or if it went well."""
        code = self.process.poll()
        if not code:
            return None
        said = tail(self.log)
        sentences = _SENTENCE.findall(said)
        return (
            sentences[-1] if sentences else f"training ended with exit code {code}: {_last(said)}"
        )


@dataclass
class Launcher:
    """Starts and stops; remembers what it started for as long as the server lives."""

    runs: Path
    launches: list[Launch] = field(default_factory=list)
    around: Mapping[str, str] = field(default_factory=dict)
    """More environment variables of what it starts."""

    def start(
        self, address: str, overrides: Sequence[str] = (), why: str = "", actor: str = ""
    ) -> Launch:
        """Train something new; refused before a process is started if the config is wrong.

        `actor` is who wants it, where that is not the user.
        """
        checked(address, overrides)
        return self.spawn([address.strip(), *overrides], why, actor)

    def fork(self, run: Run, checkpoint: str, address: str, overrides: Sequence[str] = (),
             why: str = "", actor: str = "") -> Launch:  # fmt: skip
        """Train something new that begins with the weights of a run's checkpoint."""
        if not re.fullmatch(r"@best|@latest|step=\d{1,15}", checkpoint):
            raise UserError(f"{checkpoint[:40]!r} is no checkpoint; write @best or @latest")
        checked(address, overrides)
        return self.spawn([address.strip(), *overrides, "--from", f"{run.id}/{checkpoint}"], why,
                           actor)  # fmt: skip

    def resume(
        self, run: Run, overrides: Sequence[str] = (), why: str = "", actor: str = ""
    ) -> Launch:
        """Resume a run from its latest checkpoint."""
        holder = run.trainer()
        if holder:
            raise UserError(f"run {run.id} is being trained by {holder}")
        run.check_trust()
        if overrides:
            checked_resume(run.settings(), overrides)
        return self.spawn(["--resume", run.id, *overrides], why, actor)

    def stop(self, run: Run) -> None:
        """Ask the process that trains a run to save and stop, as Ctrl-C does."""
        info = identity.read(run.folder)
        self._sweep()
        holder = lock.living_holder(run.folder, info)
        if holder is None or not holder.pid:
            raise UserError(f"run {run.id} is not being trained")
        if holder.host != process.host():
            raise UserError(f"run {run.id} is being trained on {holder.host}; stop it there")
        asked = self._marker(run.id, holder)
        try:
            asked.parent.mkdir(parents=True, exist_ok=True)
            asked.open("x").close()  # by any server: a second request would stop without saving
        except FileExistsError:
            raise UserError(
                f"run {run.id} is stopping already; it saves after this update"
            ) from None
        except OSError as error:
            raise cannot_write(asked, error) from error
        try:
            os.kill(holder.pid, _interrupt())
        except OSError as error:
            asked.unlink(missing_ok=True)
            raise UserError(f"cannot stop process {holder.pid}: {error.strerror}") from error
        threading.Thread(target=self._await_end, args=(asked,), daemon=True).start()

    def is_stopping(self, run_id: str, pid: int) -> bool:
        """Whether that process was asked to stop."""
        return any((self.runs / FOLDER).glob(f"{run_id}-{pid}-*.stop"))

    def _marker(self, run_id: str, holder: lock.Holder) -> Path:
        began = re.sub(r"\W", "", holder.start or holder.time)
        return self.runs / FOLDER / f"{run_id}-{holder.pid}-{began}.stop"

    def _await_end(self, marker: Path) -> None:
        while not self._is_over(marker):
            time.sleep(_LOOK_EVERY_S)
        marker.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Markers of processes that have ended after the server that asked them to."""
        for marker in (self.runs / FOLDER).glob("*.stop"):
            with suppress(OSError):
                if self._is_over(marker):
                    marker.unlink(missing_ok=True)

    def _is_over(self, marker: Path) -> bool:
        """Whether the process that was asked to stop no longer trains the run."""
        run_id = marker.stem.rsplit("-", 2)[0]
        folder = self.runs / run_id
        try:
            holder = lock.living_holder(folder, identity.read(folder))
        except UserError:  # deleted
            return True
        return holder is None or self._marker(run_id, holder) != marker

    def reap(self) -> None:
        """Take notice of children that have ended, so that they do not linger in process lists."""
        for launch in self.launches:
            launch.process.poll()

    def spawn(self, words: Sequence[str], why: str = "", actor: str = "") -> Launch:
        """`spotter train` with these words, unchecked."""
        reason = ["--why", " ".join(why.split())[:500]] if why.strip() else []
        python, python_variables = _python()
        command = [python, "-m", "spotter", "train", *words, *reason]
        log = self._new_log()
        with log.open("wb") as output:
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    **self.around,
                    **python_variables,
                    FOLDER_VARIABLE: str(self.runs),
                    "PYTHONUNBUFFERED": "1",
                    **({ACTOR_VARIABLE: actor} if actor else {}),
                },
                **_apart(),
            )
        launch = Launch(started, log, command)
        self.launches.append(launch)
        return launch

    def _new_log(self) -> Path:
        """What a process prints before its run has a folder."""
        folder = self.runs / FOLDER
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for old in sorted(folder.glob("*.log"), key=changed_at)[:-_KEPT]:
                with suppress(OSError):
                    old.unlink()
            self._sweep()
        except OSError as error:
            raise UserError(f"cannot start a run: {error}") from error
        return folder / f"{secrets.token_hex(6)}.log"


def checked(address: str, overrides: Sequence[str] = ()) -> Resolved:
    """What would be trained; `UserError` for an address or a setting that does not exist."""
    address = address.strip()
    if not _ADDRESS.fullmatch(address) or _FILE.search(address):
        raise UserError(
            f"{address[:80]!r} cannot be started from here; write EnvId:variant, "
            "or use `spotter train` for recipe files"
        )
    return resolve(address, overrides)


def checked_resume(settings: Mapping[str, object], overrides: Sequence[str]) -> RunConfig:
    """The config a run would resume with; `UserError` for one that is unknown or fixed."""
    before = validate(settings)
    after = changed(before, overrides)
    if setting := fixed(difference(before.as_data(), after.as_data())):
        raise UserError(
            f"{setting} cannot change in a resumed run; a fork of it begins with its weights "
            "and may have another"
        )
    return after


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


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def _python() -> tuple[str, dict[str, str]]:
    """Python itself: on Windows a virtual environment's only starts another, under another id."""
    base = vars(sys).get("_base_executable", sys.executable)
    if sys.platform == "win32" and base != sys.executable:
        return base, {"__PYVENV_LAUNCHER__": sys.executable}
    return sys.executable, {}


def _apart() -> dict[str, Any]:
    """A session of its own: neither Ctrl-C in the server's terminal nor its end reaches the run."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _interrupt() -> int:
    """What asks one process to save and stop."""
    # Windows delivers Ctrl-C to a whole console only; Ctrl-Break reaches one process group
    if sys.platform == "win32":
        return int(signal.CTRL_BREAK_EVENT)
    return int(signal.SIGINT)
