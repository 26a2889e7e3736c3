"""Proof that stopping changes nothing: N + M updates at once equal N, kill -9, M, bit for bit.

Two runs are trained by real processes in folders of their own. One process is killed right after a
checkpoint, where later kills would come: in the middle of episodes that began without a seed, since
those of a first, seeded episode can be replayed by any environment. A second one resumes from what
lies on the disk; a third trains through. Then weights, trainer state and every row of metrics are
compared; only times may differ.
"""

import csv
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from spotter.config import RunConfig, recipes, validate
from spotter.config.dump import to_yaml
from spotter.config.overrides import merge
from spotter.envs.grade import Grade
from spotter.envs.make import choose_backend, resume_grade
from spotter.rundir.files import write_atomic
from spotter.rundir.run import FOLDER_VARIABLE, Run, all_runs
from spotter.sinks.base import Ending, Row, Start
from spotter.system import children
from spotter.training import checkpoint
from spotter.training.checkpoint import Saved
from spotter.training.resume import Origin, Resume, resume
from spotter.training.run import train
from spotter.types import Evaluation, UserError

UPDATES: Final = 4
"""Before the kill at least, and exactly so many after it."""
FARTHEST: Final = 4000
"""Vector steps after which the kill comes, even if some first episodes have not ended."""
_TIMES: Final = re.compile(r"time/|recorder/(pace|watcher|[a-z]+_s$)")
"""Paths of what may differ: seconds and what follows from them."""
_KILLED: Final = {-9, 9, 137}


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the kill came."""

    updates: int
    """Since the start of the proof."""
    envs: int
    seeded: int
    """Envs that are still replayed from their first reset, the one with a seed."""
    in_episode: bool
    """Whether at least one env was in the middle of an episode."""

    def __str__(self) -> str:
        return f"kill -9 {'in the middle of episodes' if self.in_episode else 'between episodes'}"

    def weakness(self) -> Iterator[str]:
        """What a kill at another time might still show."""
        if self.seeded:
            yield (
                f"{self.seeded} of {self.envs} envs were replayed from their first, seeded reset, "
                "which is easier than a later one; a longer budget lets the kill come later"
            )


@dataclass(frozen=True, slots=True)
class Proof:
    """What was compared, and where it differs."""

    rows: int
    differences: tuple[str, ...]
    grade: Grade
    cut: Cut

    @property
    def holds(self) -> bool:
        return not self.differences and self.grade.grade == "exact"

    def lines(self) -> list[str]:
        grade = f"resume grade: {self.grade.grade} ({self.grade.why})"
        if self.differences and self.grade.grade == "exact":
            grade += "; that short trial did not find what differs here"
        return [*self._verdict(), grade]

    def _verdict(self) -> list[str]:
        before = self.cut.updates
        both = f"{before + UPDATES} updates at once", f"{before}, {self.cut} and {UPDATES} more"
        if self.differences:
            return [
                f"not exact: {both[0]} differ from {both[1]}",
                f"{len(self.differences)} values differ, {self.differences[0]} among them",
            ]
        if not self.holds:
            return [f"not proved: {both[0]} equal {both[1]}, but other kills will not come out so"]
        return [
            f"exact: {both[0]} equal {both[1]}",
            "equal bit for bit: weights, optimizer, random streams, environments, counters and "
            f"{self.rows} rows of metrics",
            *self.cut.weakness(),
        ]


def verify(config: RunConfig, origin: Origin | None = None) -> Proof:
    """Train twice from the same point, once with a kill in between, and compare."""
    if origin is not None and not isinstance(origin, Resume):
        raise UserError("--verify does not go with --from; verify the run that was started with it")
    backend = choose_backend(
        config.env, config.reward, needs_whole_episodes=config.algo.needs_whole_episodes
    ).name
    grade = resume_grade(config.env, config.reward, backend)
    done = origin.saved.trainer["training"]["updates"] if origin else 0
    with tempfile.TemporaryDirectory(prefix="spotter-verify-") as place:
        through, killed = (_home(Path(place) / name, config, origin) for name in "ab")
        _train(killed)
        saved = _latest(_only_run(killed))
        end = saved.trainer["training"]["updates"] + UPDATES
        cut = _cut(saved, done)
        for home in (killed, through):
            _train(home, end)
        rows, differences = _compare(_only_run(through), _only_run(killed))
    return Proof(rows, tuple(differences), grade, cut)


def _home(place: Path, config: RunConfig, origin: Resume | None) -> Path:
    """A folder of runs with the config to train, and a copy of the run that is resumed."""
    place.mkdir()
    if origin is not None:
        source = origin.saved.run.folder
        skipped = shutil.ignore_patterns("videos", "episodes", "*.lock", ".*")
        shutil.copytree(source, place / source.name, ignore=skipped)
    changes = {
        # a save after every update, so that the kill can come after any of them
        "checkpoint": {"every_s": 1e-9},
        "video": {"when": None},
        # neither run may end before the other has been killed, or because it is slower
        "eval": {"stop_when_solved": False},
        "budget": {"minutes": None},
    }
    for folder in (place, *(path.parent for path in place.glob("*/config.yaml"))):
        write_atomic(folder / "config.yaml", to_yaml(merge(config.as_data(), changes)))
    return place


def _only_run(home: Path) -> Run:
    return next(Run(path.parent) for path in home.glob("*/run.json"))


def _latest(run: Run) -> Saved:
    return checkpoint.read(checkpoint.find_in(run, "@latest"))


def _train(home: Path, until: int | None = None) -> None:
    """A process that trains in `home` and kills itself: once this update, or a fair one, is saved.

    Where the budget ends before that update, so does the process.
    """
    environment = {**os.environ, FOLDER_VARIABLE: str(home)}
    words = [str(home / "config.yaml"), json.dumps(children.this_process())]
    command = [sys.executable, "-m", "spotter.training.verify", *words]
    command += [] if until is None else [str(until)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode not in _KILLED | {0}:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"the run that was to be verified failed: {last}")
    if until is None and done.returncode == 0:
        raise UserError(
            "the run ended before it could be killed, so nothing was proved; "
            "give it a larger budget.env_steps"
        )


def _cut(saved: Saved, done: int) -> Cut:
    training = saved.trainer["training"]
    logs = training["collector"]["tapes"]
    seeded = sum(log["seed"] is not None for log in logs)
    return Cut(training["updates"] - done, len(logs), seeded, _is_in_episode(saved.folder))


def _is_in_episode(step: Path) -> bool:
    """Whether some env had not just ended an episode, by the table of the last rollout."""
    with (step / "rollout.csv").open(encoding="utf-8", newline="") as file:
        last = {row["copy"]: row["end"] for row in csv.DictReader(file)}
    return not all(last.values())


class _Killer:
    """A sink that ends its process, without warning, once a certain update is on disk."""

    def __init__(self, is_time: Callable[[Row], bool]) -> None:
        self._is_time = is_time
        self._row: Row | None = None

    def open(self, start: Start) -> None: ...

    def note(self, text: str) -> None: ...

    def row(self, row: Row) -> None:
        self._row = row

    def evaluation(self, evaluation: Evaluation) -> None: ...

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        if kind == "checkpoint" and self._row is not None and self._is_time(self._row):
            _die()

    def close(self, ending: Ending | None) -> None: ...


class _FairMoment:
    """When a kill proves something: later on and within episodes, as most kills come.

    An env's first reset is seeded, and any env can be replayed from there. So the kill waits until
    every env has continued without a seed for so long that its replay log begins at a later reset,
    but no longer than `FARTHEST` vector steps and half of the budget that is left.
    """

    def __init__(self, config: RunConfig, origin: Resume | None) -> None:
        state = origin.saved.trainer["training"] if origin else {}
        steps = state.get("env_steps", 0)
        self._updates = state.get("updates", 0) + UPDATES
        self._vector_steps = state.get("vector_steps", 0) + FARTHEST
        budget = config.budget.env_steps
        self._env_steps = math.inf if budget is None else (steps + budget) / 2
        self._whole_episodes = config.algo.needs_whole_episodes

    def __call__(self, row: Row) -> bool:
        if row.env_steps >= self._env_steps or row.vector_steps >= self._vector_steps:
            return True
        if row.update < self._updates:
            return False
        cut = _cut(_latest(all_runs()[0]), 0)
        return not cut.seeded and (cut.in_episode or self._whole_episodes)


def _die() -> NoReturn:
    if sys.platform != "win32":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(137)


def _compare(through: Run, killed: Run) -> tuple[int, list[str]]:
    """The rows there are, and what differs in rows or in the last checkpoint."""
    rows = [list(run.metrics()) for run in (through, killed)]
    differences = list(_differences(rows[0], rows[1], "metrics"))
    states = [_latest(run) for run in (through, killed)]
    weights = [{name: t.numpy() for name, t in saved.weights.items()} for saved in states]
    differences += _differences(weights[0], weights[1], "policy")
    differences += _differences(states[0].trainer, states[1].trainer, "")
    return len(rows[0]), differences


def _differences(a: object, b: object, path: str) -> Iterator[str]:
    """Paths at which two trees are not the same to the last bit; times are passed over."""
    if _TIMES.search(path):
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _differences(a.get(key), b.get(key), f"{path}/{key}" if path else str(key))
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differences(x, y, f"{path}/{i}")
    elif not _same(a, b):
        yield path


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _child(config_file: str, parent: str, until: str = "") -> None:
    """Train, or resume the run that is there, until killed by our own hand."""
    children.end_with_parent(children.Parent(*json.loads(parent)))
    config = validate(recipes.plain(recipes.read(Path(config_file)).data))
    runs = all_runs()
    saved = runs and (runs[0].folder / "checkpoints" / "latest.json").exists()
    origin = resume(runs[0].id) if saved else None
    moment = _FairMoment(config, origin)
    sink = _Killer((lambda row: row.update >= int(until)) if until else moment)
    if origin is None:
        train(config, [sink], lambda: Run.create(config, "verify"))
    else:
        train(origin.config, [sink], lambda: origin.take_up([], ""), origin)


if __name__ == "__main__":
    _child(*sys.argv[1:])
