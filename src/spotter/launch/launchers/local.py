"""A process on this machine, in the background; it outlasts the terminal or server it is from.

It has a session of its own, as if typed in another terminal.
"""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from spotter.config import LauncherConfig
from spotter.launch.base import End, Task
from spotter.rundir import process
from spotter.system.interrupts import ask_to_stop


class Config(LauncherConfig):
    on_this_machine: ClassVar[bool] = True


def make(config: Config) -> "Local":
    return Local()


class Local:
    """A job is a process id and when that process started, where the system says."""

    def __init__(self) -> None:
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, task: Task) -> str:
        with task.log.open("wb") as output:
            started = subprocess.Popen(
                task.command,
                cwd=task.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **task.variables},
                **_apart(),
            )
        # else it would linger in process lists once it has ended
        threading.Thread(target=started.wait, daemon=True).start()
        job = "-".join(filter(None, (str(started.pid), process.start_of(started.pid))))
        self._started[job] = started
        return job

    def end(self, job: str, log: Path) -> End | None:
        if (started := self._started.get(job)) is None:
            return None if _lives(job) else End()
        code = started.poll()
        return None if code is None else End(code)

    def stop(self, job: str) -> None:
        with suppress(OSError):  # it has just ended
            if self.end(job, Path()) is None:
                ask_to_stop(_pid(job))


def _lives(job: str) -> bool:
    """Also of a job that another process started, perhaps long ago."""
    start = job.partition("-")[2]
    return process.is_alive(_pid(job)) and process.start_of(_pid(job)) == start


def _pid(job: str) -> int:
    return int(job.partition("-")[0])


def _apart() -> dict[str, Any]:
    """A session of its own: neither Ctrl-C in the server's terminal nor its end reaches the run."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}
