"""Worker processes, several copies each, over one block of shared memory.

Workers are spawned (the same on Linux, macOS and Windows), run one thread, leave signals to their
parent and end with it (see children.py). Actions and results never
travel through pipes; a one-byte command and the finished episodes do. A worker that dies or hangs
is replaced by a fresh one, and the step is lost for all of its copies.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, Literal, Self

import cloudpickle
import numpy as np
import numpy.typing as npt

from spotter import children, interrupts
from spotter.envs.layout import Layout, assemble
from spotter.envs.logbook import Event, Logbook, next_seed
from spotter.envs.slices import ACTIVITIES, BUILD, Bools, Buffers, Copy, EnvError, report
from spotter.envs.tape import known_names
from spotter.envs.vector import Note
from spotter.envs.watchdog import Watchdog
from spotter.envs.worker import Block, size, views, work
from spotter.types import Episode, Fault, Tape, UserError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_STARTING: Final = -2  # where a worker is before it has loaded anything
_NOBODY: Final = -1
_PATIENCE_S: Final = 5.0  # for workers that were asked to end
_PATIENCE_AT_START_S: Final = 0.5  # those that are still loading do not hear it


class _Gone(Exception):  # noqa: N818 - an answer, if a silent one
    """A worker that will not reply any more."""

    def __init__(self, kind: Literal["hung", "died"], reason: str) -> None:
        super().__init__(reason)
        self.kind: Literal["hung", "died"] = kind


class ProcessVector:
    """The process back-end; same contract as `SyncVector`."""

    def __init__(
        self,
        build: Callable[[], Copy],
        count: int,
        workers: int,
        restarts: int = 0,
        timeout_s: float | None = None,
    ) -> None:
        probe = build()
        layout = Layout.of(probe)
        probe.close()
        self.count = count
        self.spaces = layout.spaces
        self.signal_kinds = layout.kinds
        self.note: Note | None = None
        children.start_tracker()
        self._memory = Block.new(size(layout, count))
        arrays = views(layout, count, self._memory)
        self.buffers = assemble(arrays)
        self._active, self._at = arrays["active"], arrays["at"]
        self._restarts, self._timeout_s = restarts, timeout_s
        self._logbook = Logbook(self.buffers.action, restarts)
        self._recipe = cloudpickle.dumps((build, layout, count, known_names))
        bounds = np.linspace(0, count, min(workers, count) + 1).astype(int)
        self._bounds = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        self._workers: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._calls, self._waiting_for = 0, _NOBODY
        self._hung: set[int] = set()
        self._any_lost = False
        self._watchdog = Watchdog(self._sign, self._alarm, timeout_s) if timeout_s else None
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
            return children.start(work, self._recipe, self._memory.name, start, stop, left)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        self._ask("reset", [list(seeds[start:stop]) for start, stop in self._bounds])
        self.buffers.lost[:] = self._any_lost = False
        return self.buffers

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        if self._any_lost:
            self.buffers.lost[:] = self._any_lost = False
        self.buffers.action[...] = action
        self._active[...] = True if active is None else active
        self._logbook.note(self.buffers.action, active)
        replies = self._ask("step")
        return [episode for reply in replies for episode in reply or ()]

    def tapes(self) -> list[Tape]:
        return self._logbook.tapes()

    def play(self, tapes: Sequence[Tape]) -> Bools:
        replies = self._ask("play", [list(tapes[start:stop]) for start, stop in self._bounds])
        arrived = np.zeros(self.count, np.bool_)
        for (start, stop), reply in zip(self._bounds, replies, strict=True):
            if reply is not None:  # else the worker did not survive it
                arrived[start:stop] = reply
        for row, tape in enumerate(tapes):
            if arrived[row]:
                self._logbook.load(row, tape)
        self.buffers.lost[:] = self._any_lost = False
        return arrived

    def take_faults(self) -> list[Fault]:
        return self._logbook.take_faults()

    def threads(self) -> list[int]:
        """How many threads each worker runs; 1 each, or something oversubscribes the machine."""
        return self._ask("threads")

    def _ask(self, command: str, arguments: Sequence[Any] | None = None) -> list[Any]:
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

    def _send(self, index: int, command: str, argument: Any = None) -> None:
        """A worker that is gone says so when its reply is due, with what is known about its end."""
        with contextlib.suppress(OSError):
            self._pipes[index].send((command, argument))

    def _receive(self, index: int) -> Any:
        self._waiting_for = index
        try:
            kind, value, events = self._pipes[index].recv()
        except (EOFError, OSError) as error:
            raise self._gone(index) from error
        finally:
            self._waiting_for = _NOBODY
        if kind == "user error":
            raise UserError(value)
        if events:
            self._settle(events)
        if kind == "error":
            raise EnvError(value)
        return value

    def _settle(self, events: Sequence[Event]) -> None:
        too_many = self._logbook.settle(events)
        if too_many is not None:
            raise report(too_many, self._restarts)

    def _gone(self, index: int) -> _Gone:
        worker = self._workers[index]
        worker.join(timeout=5)
        if index in self._hung:
            return _Gone("hung", f"has not answered for {self._timeout_s:g} s")
        return _Gone("died", f"died with {ending(worker.exitcode)}")

    def _replace(self, index: int, gone: _Gone) -> None:
        """A fresh worker with fresh copies, as often as it takes; their step is lost."""
        start, stop = self._bounds[index]
        while True:
            self._settle([self._fault(index, gone)])
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
            f"{self._name(index)} {gone}; copy {guilty} (seed {self._logbook.seeds[guilty]}, last "
            f"actions {self._logbook.last_actions(guilty)}){where}"
        )
        return guilty, Fault(guilty, gone.kind, text, traceback="", tape=None)

    def _name(self, index: int) -> str:
        start, stop = self._bounds[index]
        copies = f"copies {start} to {stop - 1}" if stop - start > 1 else f"copy {start}"
        return f"worker {index} (environment {copies})"

    def _sign(self) -> Any:
        """What changes as long as somebody works; None while nobody is waited for."""
        index = self._waiting_for
        if index == _NOBODY:
            return None
        row, activity, replayed = self._at[self._bounds[index][0]].tolist()
        return None if row == _STARTING else (self._calls, index, row, activity, replayed)

    def _alarm(self) -> None:
        index = self._waiting_for
        if index != _NOBODY:
            self._hung.add(index)
            self._workers[index].kill()

    def _dismiss(self, index: int) -> None:
        self._pipes[index].close()
        self._workers[index].kill()
        self._workers[index].join()
        self._hung.discard(index)

    def close(self, patience_s: float = _PATIENCE_S) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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
