"""Proof that stopping changes nothing: N + M updates at once equal N, kill -9, M, bit for bit.

Two runs are trained by real processes in folders of their own. One process trains through; the
other is killed right after a checkpoint, and a third goes on from what lies on the disk. Then
weights, trainer state and every row of metrics are compared; only times may differ.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from spotter import checkpoint
from spotter.config import RunConfig, recipes, validate
from spotter.config.dump import to_yaml
from spotter.config.overrides import merge
from spotter.envs.make import choose_backend, resume_grade
from spotter.origins import Origin, Resume, resume
from spotter.recorder import Ending, Row, Start
from spotter.rundir.files import write_atomic
from spotter.rundir.run import FOLDER_VARIABLE, Run, all_runs
from spotter.training import train
from spotter.types import Evaluation, UserError

UPDATES: Final = 4
"""Before the kill, and again after it."""
_TIMES: Final = ("time/", "recorder/pace", "recorder/elapsed_s", "recorder/watcher")
_KILLED: Final = {-9, 9, 137}


@dataclass(frozen=True, slots=True)
class Proof:
    """What was compared, and where it differs."""

    rows: int
    differences: tuple[str, ...]
    grade: str

    @property
    def holds(self) -> bool:
        return not self.differences

    def lines(self) -> list[str]:
        if self.holds:
            return [
                f"exact: {2 * UPDATES} updates at once equal {UPDATES}, kill -9 and {UPDATES} more",
                "equal bit for bit: weights, optimizer, random streams, environments, counters and "
                f"{self.rows} rows of metrics",
            ]
        first = self.differences[0]
        return [
            f"not exact: {len(self.differences)} values differ, {first} among them",
            f"resume grade: {self.grade}",
        ]


def verify(config: RunConfig, origin: Origin | None = None) -> Proof:
    """Train twice from the same point, once with a kill in between, and compare."""
    if origin is not None and not isinstance(origin, Resume):
        raise UserError("--verify does not go with --from; verify the run that was started with it")
    backend = choose_backend(config.env, config.reward, rests=config.algo.rests).name
    grade = resume_grade(config.env, config.reward, backend)
    done = origin.saved.trainer["training"]["updates"] if origin else 0
    with tempfile.TemporaryDirectory(prefix="spotter-verify-") as place:
        through, killed = (_home(Path(place) / name, config, origin) for name in "ab")
        _train_until(through, done + 2 * UPDATES)
        _train_until(killed, done + UPDATES)
        _train_until(killed, done + 2 * UPDATES)
        rows, differences = _compare(_only_run(through), _only_run(killed))
    return Proof(rows, tuple(differences), f"{grade.grade} ({grade.why})")


def _home(place: Path, config: RunConfig, origin: Resume | None) -> Path:
    """A folder of runs with the config to train, and a copy of the run that is resumed."""
    place.mkdir()
    if origin is not None:
        source = origin.saved.run.folder
        skipped = shutil.ignore_patterns("videos", "episodes", "*.lock", ".*")
        shutil.copytree(source, place / source.name, ignore=skipped)
    # a save after every update, so that the kill can come after any of them
    often = merge(config.as_data(), {"checkpoint": {"every_s": 1e-9}, "video": {"when": None}})
    for folder in (place, *(path.parent for path in place.glob("*/config.yaml"))):
        write_atomic(folder / "config.yaml", to_yaml(often))
    return place


def _only_run(home: Path) -> Run:
    return next(Run(path.parent) for path in home.glob("*/run.json"))


def _train_until(home: Path, update: int) -> None:
    """A process that trains in `home` and kills itself after this update was saved."""
    environment = {**os.environ, FOLDER_VARIABLE: str(home)}
    command = [sys.executable, "-m", "spotter.verify", str(home / "config.yaml"), str(update)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode not in _KILLED | {0}:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"the run that was to be verified failed: {last}")


class _KillAfter:
    """A sink that ends its process, without warning, once a certain update is on disk."""

    def __init__(self, update: int) -> None:
        self._update, self._seen = update, 0

    def open(self, start: Start) -> None: ...

    def note(self, text: str) -> None: ...

    def row(self, row: Row) -> None:
        self._seen = row.update

    def evaluation(self, evaluation: Evaluation) -> None: ...

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "checkpoint" and self._seen >= self._update:
            _die()

    def close(self, ending: Ending | None) -> None: ...


def _die() -> NoReturn:
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)


def _compare(through: Run, killed: Run) -> tuple[int, list[str]]:
    """The rows there are, and what differs in rows or in the last checkpoint."""
    rows = [list(run.metrics()) for run in (through, killed)]
    differences = list(_differences(rows[0], rows[1], "metrics"))
    steps = [checkpoint.find_in(run, "@latest") for run in (through, killed)]
    states = [checkpoint.read(step) for step in steps]
    weights = [{name: t.numpy() for name, t in saved.weights.items()} for saved in states]
    differences += _differences(weights[0], weights[1], "policy")
    differences += _differences(states[0].trainer, states[1].trainer, "")
    return len(rows[0]), differences


def _differences(a: Any, b: Any, path: str) -> Iterator[str]:
    """Paths at which two trees are not the same to the last bit; times are passed over."""
    if any(word in path for word in _TIMES):
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _differences(a.get(key), b.get(key), f"{path}/{key}" if path else str(key))
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differences(x, y, f"{path}/{i}")
    elif not _same(a, b):
        yield path


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _child(config_file: str, update: str) -> None:
    """Train, or go on with the run that is there, until killed by our own hand."""
    sink = _KillAfter(int(update))
    config = validate(recipes.plain(recipes.read(Path(config_file)).data))
    runs = all_runs()
    if not runs or not (runs[0].folder / "checkpoints" / "latest.json").exists():
        train(config, [sink], lambda: Run.create(config, "verify"))
        return
    origin = resume(runs[0].id)
    train(origin.config, [sink], lambda: origin.take_up([], ""), origin)


if __name__ == "__main__":
    _child(*sys.argv[1:])
