"""Worker processes, several envs each, over one block of shared memory.

Workers are spawned (the same on Linux, macOS and Windows), run one thread, leave signals to their
parent and end with it (see system/children.py). Actions and results never
travel through pipes; a one-byte command and the finished episodes do. A worker that dies or hangs
is replaced by a fresh one, and the step is lost for all of its envs.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, Literal

import cloudpickle
import numpy as np

from spotter.envs.backends.layout import Layout
from spotter.envs.backends.logbook import Event, next_seed
from spotter.envs.backends.slices import (
    ACTIVITIES,
    BUILD,
    Bools,
    Buffers,
    Command,
    EnvError,
    EnvInstance,
)
from spotter.envs.backends.vector import SliceVector
from spotter.envs.backends.worker import Block, size, views, work
from spotter.envs.replay import known_names
from spotter.system import children, interrupts
from spotter.types import Episode, Fault, UserError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_STARTING: Final = -2  # where a worker is before it has loaded anything
_NO_WORKER: Final = -1
_PATIENCE_S: Final = 5.0  # for workers that were asked to end
_PATIENCE_AT_START_S: Final = 0.5  # those that are still loading do not hear it


class _Gone(Exception):  # noqa: N818 - an answer, if a silent one
    """A worker that will not reply any more."""

    def __init__(self, kind: Literal["hung", "died"], reason: str) -> None:
        super().__init__(reason)
        self.kind: Literal["hung", "died"] = kind


class ProcessVector(SliceVector):
    """Slices in worker processes."""

    def __init__(
        self,
        build: Callable[[], EnvInstance],
        count: int,
        workers: int,
        restarts: int = 0,
        timeout_s: float | None = None,
    ) -> None:
        probe = build()
        layout = Layout.of(probe)
        probe.close()
        children.start_tracker()
        self._memory = Block.new(size(layout, count))
        arrays = views(layout, count, self._memory)
        edges = np.linspace(0, count, min(workers, count) + 1).astype(int).tolist()
        super().__init__(layout, arrays, list(pairwise(edges)), restarts, timeout_s)
        self._active, self._at = arrays["active"], arrays["at"]
        self._builder = cloudpickle.dumps((build, layout, count, known_names))
        self._workers: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._waiting_for = _NO_WORKER
        self._hung: set[int] = set()
        self._any_lost = False
        self._watch()
        try:
            self._start()
        except BaseException:
            self.close(_PATIENCE_AT_START_S)
            raise

    def _start(self) -> None:
        for index in range(len(self._bounds)):
            interrupts.check()
            worker, pipe = self._spawn(index)
            self._workers.append(worker)
            self._pipes.append(pipe)
        for index in range(len(self._workers)):
            interrupts.await_child(self._pipes[index])
            try:
                self._receive(index)
            except _Gone as gone:
                raise EnvError(
                    f"{self._name(index)} {gone}; in a script, the call that starts training "
                    'must stand under `if __name__ == "__main__":`'
                ) from gone

    def _spawn(self, index: int) -> tuple[BaseProcess, Connection]:
        start, stop = self._bounds[index]
        left = max(0, self._restarts - self._logbook.failures)
        self._at[start] = (_STARTING, BUILD, 0)
        with _one_thread():
            return children.start(work, self._builder, self._memory.name, start, stop, left)

    def _step(self, active: Bools | None) -> list[Episode]:
        if self._any_lost:
            self.buffers.lost[:] = self._any_lost = False
        self._active[...] = True if active is None else active
        return [episode for reply in self._ask_all("step") for episode in reply or ()]

    def _ask(self, command: Command, arguments: Sequence[object]) -> list[object]:
        replies = self._ask_all(command, arguments)
        self.buffers.lost[:] = self._any_lost = False
        return replies

    def threads(self) -> list[int]:
        """How many threads each worker runs; 1 each, or something oversubscribes the machine."""
        return self._ask_all("threads")

    def _ask_all(self, command: str, arguments: Sequence[object] | None = None) -> list[Any]:
        """Every worker's reply; None from one that did not survive the question."""
        self._calls += 1
        for index in range(len(self._pipes)):
            self._send(index, command, None if arguments is None else arguments[index])
        replies = []
        for index in range(len(self._pipes)):
            try:
                replies.append(self._receive(index))
            except _Gone as gone:
                self._replace(index, gone)
                replies.append(None)
        return replies

    def _send(self, index: int, command: str, argument: object = None) -> None:
        """A worker that is gone says so when its reply is due, with what is known about its end."""
        with contextlib.suppress(OSError):
            self._pipes[index].send((command, argument))

    def _receive(self, index: int) -> object:
        self._waiting_for = index
        try:
            kind, value, events = self._pipes[index].recv()
        except (EOFError, OSError) as error:
            raise self._gone(index) from error
        finally:
            self._waiting_for = _NO_WORKER
        if kind == "user error":
            raise UserError(value)
        if events:
            self._record(events)
        if kind == "error":
            raise EnvError(value)
        return value

    def _gone(self, index: int) -> _Gone:
        worker = self._workers[index]
        worker.join(timeout=5)
        if index in self._hung:
            return _Gone("hung", f"has not answered for {self._timeout_s:g} s")
        return _Gone("died", f"died with {ending(worker.exitcode)}")

    def _replace(self, index: int, gone: _Gone) -> None:
        """A fresh worker with fresh envs, as often as it takes; their step is lost."""
        start, stop = self._bounds[index]
        while True:
            self._record([self._fault(index, gone)])
            self._dismiss(index)
            self._workers[index], self._pipes[index] = self._spawn(index)
            try:
                self._receive(index)
                seeds = [next_seed(self._logbook.seeds[row]) for row in range(start, stop)]
                self._send(index, "reset", seeds)
                self._receive(index)
            except _Gone as again:
                gone = again
            else:
                break
        rows = self.buffers.rows(start, stop)
        rows.signals[:] = rows.signals_start
        rows.lost[:] = self._any_lost = True

    def _fault(self, index: int, gone: _Gone) -> Event:
        row, activity, _ = self._at[self._bounds[index][0]].tolist()
        guilty = self._bounds[index][0] + max(row, 0)
        where = f" was in {ACTIVITIES[activity]}" if row >= 0 else ": between two calls"
        text = (
            f"{self._name(index)} {gone}; env {guilty} (seed {self._logbook.seeds[guilty]}, last "
            f"actions {self._logbook.last_actions(guilty)}){where}"
        )
        return guilty, Fault(guilty, gone.kind, text, traceback="", replay_log=None)

    def _name(self, index: int) -> str:
        start, stop = self._bounds[index]
        instances = f"envs {start} to {stop - 1}" if stop - start > 1 else f"env {start}"
        return f"worker {index} ({instances})"

    def _sign(self) -> object:
        index = self._waiting_for
        if index == _NO_WORKER:
            return None
        row, activity, replayed = self._at[self._bounds[index][0]].tolist()
        return None if row == _STARTING else (self._calls, index, row, activity, replayed)

    def _alarm(self) -> None:
        index = self._waiting_for
        if index != _NO_WORKER:
            self._hung.add(index)
            self._workers[index].kill()

    def _dismiss(self, index: int) -> None:
        self._pipes[index].close()
        self._workers[index].kill()
        self._workers[index].join()
        self._hung.discard(index)

    def close(self, patience_s: float = _PATIENCE_S) -> None:
        super().close()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.send(("close", None))
        try:
            children.end(self._workers, patience_s)
        finally:
            for pipe in self._pipes:
                pipe.close()
            self._pipes, self._workers = [], []
            self._release()

    def _release(self) -> None:
        """Views must go before the memory they look into."""
        nothing, no = np.zeros(0), np.zeros(0, np.bool_)
        self.buffers = Buffers(
            obs={},
            final_obs={},
            action=nothing,
            reward=nothing,
            terminated=no,
            truncated=no,
            lost=no,
            signals=nothing,
            signals_start=nothing,
            mask=None,
        )
        self._active, self._at = no, np.zeros((0, 2), np.int64)
        self._memory.close()
        with contextlib.suppress(FileNotFoundError):
            self._memory.unlink()


def ending(code: int | None) -> str:
    """An exit code, with the name of the signal where it was one."""
    with contextlib.suppress(ValueError):
        if code is not None and code < 0:
            return f"exit code {code} ({signal.Signals(-code).name})"
    return f"exit code {code}"


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Children read these when they load numpy or torch; the parent keeps its own setting."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
