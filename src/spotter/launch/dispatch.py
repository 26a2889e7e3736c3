"""Starts and stops runs through launchers, for Studio, agents, groups and the command line.

A run is `python -m spotter train …`, as if typed in another terminal. Stopping is what Ctrl-C does
there: the update is finished, everything is saved.
"""

import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spotter.config import LauncherConfig
from spotter.launch import launch as launching
from spotter.launch.checks import checked, checked_resume
from spotter.launch.launch import FOLDER, Launch
from spotter.rundir import identity, lock, process
from spotter.rundir.files import cannot_write
from spotter.rundir.identity import ACTOR_VARIABLE, FOLDER_VARIABLE
from spotter.rundir.run import Run
from spotter.system.interrupts import ask_to_stop
from spotter.types import UserError

LOCAL: Final = "local"
_LOOK_EVERY_S: Final = 0.5


@dataclass(frozen=True)
class Dispatcher:
    """Of one folder of runs. Keeps nothing in memory: any number of processes may have one."""

    runs: Path
    around: Mapping[str, str] = field(default_factory=dict)
    """More environment variables of what it starts."""
    launcher: LauncherConfig = field(default_factory=lambda: launching.chosen(LOCAL))
    """For runs whose settings name none."""

    def start(
        self, address: str, overrides: Sequence[str] = (), why: str = "", actor: str = ""
    ) -> Launch:
        """Train something new; refused before a process is started if the config is wrong.

        `actor` is who wants it, where that is not the user.
        """
        config = checked(address, overrides).config
        return self.spawn([address.strip(), *overrides], why, actor, config.launch)

    def fork(self, run: Run, checkpoint: str, address: str, overrides: Sequence[str] = (),
             why: str = "", actor: str = "") -> Launch:  # fmt: skip
        """Train something new that begins with the weights of a run's checkpoint."""
        if not re.fullmatch(r"@best|@latest|step=\d{1,15}", checkpoint):
            raise UserError(f"{checkpoint[:40]!r} is no checkpoint; write @best or @latest")
        config = checked(address, overrides).config
        words = [address.strip(), *overrides, "--from", f"{run.id}/{checkpoint}"]
        return self.spawn(words, why, actor, config.launch)

    def resume(
        self, run: Run, overrides: Sequence[str] = (), why: str = "", actor: str = ""
    ) -> Launch:
        """Resume a run from its latest checkpoint, where it was started unless settings differ."""
        holder = run.trainer()
        if holder:
            raise UserError(f"run {run.id} is being trained by {holder}")
        run.check_trust()
        settings = run.settings()
        launch = settings.get("launch")
        wanted = launching.chosen(launch) if launch else None
        if overrides:
            wanted = checked_resume(settings, overrides).launch
        return self.spawn(["--resume", run.id, *overrides], why, actor, wanted)

    def stop(self, run: Run) -> None:
        """Ask the process that trains a run to save and stop, as Ctrl-C does."""
        info = identity.read(run.folder)
        self._sweep()
        holder = lock.living_holder(run.folder, info)
        if holder is None or not holder.pid:
            raise UserError(f"run {run.id} is not being trained")
        started = None if info["foreign"] else launching.find(self.runs, info["launch"])
        is_elsewhere = started is not None and not started.config.on_this_machine
        if holder.host != process.host() and not is_elsewhere:
            raise UserError(f"run {run.id} is being trained on {holder.host}; stop it there")
        asked = self._mark(run.id, holder)
        try:
            if started is not None and is_elsewhere:
                started.stop()
            else:
                ask_to_stop(holder.pid)
        except UserError:
            asked.unlink(missing_ok=True)
            raise
        except OSError as error:
            asked.unlink(missing_ok=True)
            raise UserError(f"cannot stop process {holder.pid}: {error.strerror}") from error
        threading.Thread(target=self._await_end, args=(asked,), daemon=True).start()

    def is_stopping(self, run_id: str, pid: int) -> bool:
        """Whether that process was asked to stop."""
        return any((self.runs / FOLDER).glob(f"{run_id}-{pid}-*.stop"))

    def _mark(self, run_id: str, holder: lock.Holder) -> Path:
        """By any server: a second request would stop without saving."""
        asked = self._marker(run_id, holder)
        try:
            asked.parent.mkdir(parents=True, exist_ok=True)
            asked.open("x").close()
        except FileExistsError:
            raise UserError(
                f"run {run_id} is stopping already; it saves after this update"
            ) from None
        except OSError as error:
            raise cannot_write(asked, error) from error
        return asked

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

    def spawn(
        self,
        words: Sequence[str],
        why: str = "",
        actor: str = "",
        launcher: LauncherConfig | None = None,
    ) -> Launch:
        """`spotter train` with these words, unchecked."""
        self._sweep()
        reason = ["--why", " ".join(why.split())[:500]] if why.strip() else []
        python, python_variables = _python()
        command = [python, "-m", "spotter", "train", *words, *reason]
        variables = {
            **self.around,
            **python_variables,
            FOLDER_VARIABLE: str(self.runs.absolute()),
            "PYTHONUNBUFFERED": "1",
            **({ACTOR_VARIABLE: actor} if actor else {}),
        }
        return launching.start(self.runs, launcher or self.launcher, words, command, variables)


def _python() -> tuple[str, dict[str, str]]:
    """Python itself: on Windows a virtual environment's only starts another, under another id."""
    base = vars(sys).get("_base_executable", sys.executable)
    if sys.platform == "win32" and base != sys.executable:
        return base, {"__PYVENV_LAUNCHER__": sys.executable}
    return sys.executable, {}
