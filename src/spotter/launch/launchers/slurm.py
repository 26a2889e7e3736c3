"""A job of Slurm, by `sbatch`, `squeue` and `scancel`.

The job runs the same command in the same folder, so both, the environment of Python and the folder
of runs must be on a file system that its nodes share. It is asked to save a minute before its time
is over, and is never started twice.
"""

import math
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from spotter.config import LauncherConfig, Whole
from spotter.launch.base import End, Task
from spotter.types import UserError

_WAITING: Final = "PENDING"
_LIVING: Final = {
    _WAITING, "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "STAGE_OUT",
    "SIGNALING", "RESIZING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
    "RESV_DEL_HOLD",
}  # fmt: skip
_ENDS: Final = {"COMPLETED": End(0), "FAILED": End(), "": End()}
_UNKNOWN_JOB: Final = "invalid job id"
_ASK_EVERY_S: Final = 5.0
"""One scheduler serves a whole cluster."""
_PATIENCE_S: Final = 60.0
_SAVE_S: Final = 60


def _options(lines: tuple[str, ...]) -> tuple[str, ...]:
    for line in lines:
        if not re.fullmatch(r"-[^\n\r]*", line):
            raise ValueError(f"{line!r} is no option of sbatch; write one like --gres=gpu:1")
    return lines


def _word(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"[\w.,:@+-]+", text):
        raise ValueError(f"should be a word, got {text!r}")
    return text


class Config(LauncherConfig):
    partition: Annotated[str | None, AfterValidator(_word)] = Field(
        None, description="Of the cluster; null: its default."
    )
    minutes: Whole | None = Field(
        None, ge=1, description="Of wall time; null: as long as the partition allows."
    )
    cpus: Whole | None = Field(None, ge=1, description="Cores; null: as many as Slurm gives.")
    memory_gb: Whole | None = Field(None, ge=1, description="Of main memory; null: the default.")
    options: Annotated[tuple[str, ...], AfterValidator(_options)] = Field(
        (), strict=False, description="More options of sbatch, such as [--gres=gpu:1]."
    )
    setup: tuple[str, ...] = Field(
        (), strict=False, description="Lines of shell before training, such as [module load cuda]."
    )


def make(config: Config) -> "Slurm":
    return Slurm(config)


class Slurm:
    """A job is its number. Its exit code is left in a file, for Slurm forgets it in minutes."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._asked: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def start(self, task: Task) -> str:
        done = _run("sbatch", "--parsable", script=_script(self._config, task))
        job = done.stdout.strip().partition(";")[0]
        if done.returncode or not re.fullmatch(r"[\w.+-]+", job):
            raise UserError(f"sbatch refused the job: {_said(done)}")
        return job

    def end(self, job: str, log: Path) -> End | None:
        if (end := _left(log)) is not None:
            return end
        state = self._state(job)
        if state in _LIVING:
            return None
        # it may have ended by itself since the file was looked for
        return _left(log) or _ENDS.get(state) or End(reason=f"by Slurm: {state.lower()}")

    def stop(self, job: str) -> None:
        if self._ask(job) == _WAITING:
            self._cancel(job, f"--state={_WAITING}")  # not one that begins just now
        if self._ask(job) in _LIVING:
            self._cancel(job, "--batch", "--signal=INT")

    def _cancel(self, job: str, *words: str) -> None:
        done = _run("scancel", *words, job)
        if done.returncode:
            raise UserError(f"scancel refused: {_said(done)}")

    def _state(self, job: str) -> str:
        """As it was a few seconds ago, or when Slurm last answered."""
        with self._lock:
            asked, state = self._asked.get(job, (-math.inf, _WAITING))
            if time.monotonic() - asked >= _ASK_EVERY_S:
                with suppress(_BusyError):
                    state = self._ask(job)
                self._asked[job] = (time.monotonic(), state)
            return state

    def _ask(self, job: str) -> str:
        """In capitals; empty for a job that Slurm has forgotten."""
        done = _run("squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}")
        if done.returncode and _UNKNOWN_JOB not in done.stderr.lower():
            raise _BusyError(f"squeue does not answer: {_said(done)}")
        return done.stdout.strip().partition("\n")[0].strip()


class _BusyError(UserError):
    """Slurm does not answer just now, which says nothing about a job."""


def _script(config: Config, task: Task) -> str:
    """The trap passes a signal on to training and waits for it, which a shell alone does not."""
    code = shlex.quote(str(_code_file(task.log)))
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in _asked_for(config, task)),
        *(f"export {name}={shlex.quote(value)}" for name, value in task.variables.items()),
        *config.setup,
        f"{shlex.join(task.command)} &",
        "spotter=$!",
        *(f"trap 'kill -{name} $spotter' {name}" for name in ("INT", "TERM")),
        "while kill -0 $spotter 2>/dev/null; do wait $spotter; done",
        "wait $spotter",
        "code=$?",
        f"echo $code > {code}.tmp && mv {code}.tmp {code}",
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def _asked_for(config: Config, task: Task) -> Iterator[str]:
    yield f"--job-name={task.name}"
    yield f'--chdir="{task.folder}"'
    yield f'--output="{_literal(task.log)}"'
    yield "--ntasks=1"
    yield "--no-requeue"  # a second start would be a second run
    yield f"--signal=B:TERM@{_SAVE_S}"
    wanted = {
        "partition": config.partition,
        "time": config.minutes,
        "cpus-per-task": config.cpus,
        "mem": None if config.memory_gb is None else f"{config.memory_gb}G",
    }
    yield from (f"--{name}={value}" for name, value in wanted.items() if value is not None)
    yield from config.options


def _literal(path: Path) -> str:
    """Without what Slurm would replace by the number of a job or the name of a node."""
    return str(path).replace("%", "%%")


def _code_file(log: Path) -> Path:
    return log.with_suffix(".code")


def _left(log: Path) -> End | None:
    """What the job wrote down as it ended."""
    try:
        return End(int(_code_file(log).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return None


def _run(name: str, *words: str, script: str = "") -> "subprocess.CompletedProcess[str]":
    path = shutil.which(name)
    if path is None:
        raise UserError(f"launch=slurm needs {name}, which is not installed here or not on PATH")
    try:
        return subprocess.run(
            [path, *words], input=script, capture_output=True, text=True, errors="replace",
            check=False, timeout=_PATIENCE_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{name} does not work: {error}") from error


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    """The last thing it printed."""
    lines: Sequence[str] = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {done.returncode}"
