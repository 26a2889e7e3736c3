"""Copies in a few threads: for games that run in processes of their own, as ViZDoom's do.

While a game plays on, whoever waits for it leaves Python's lock alone, so one thread per core keeps
all of them busy. Each thread steps its share of the copies with the code of `envs/slices.py`, so
wrappers, signals, masks, failures and tapes are what they are in one loop; `SyncVector` and this
give the same numbers. Where the system allows it, a thread and its games stay on one core: passing
turns between cores costs more than a tic of Doom.
"""

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from spotter import machine
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.layout import Layout, assemble
from spotter.envs.logbook import Logbook
from spotter.envs.signals.base import Kind
from spotter.envs.slices import ACTIVITIES, IDLE, Bools, Buffers, Copy, Slice, report
from spotter.envs.vector import Note
from spotter.envs.watchdog import Watchdog
from spotter.types import Episode, Fault, Spaces, Tape

T = TypeVar("T")
Build = Callable[[], Copy]
_NAME: Final = "spotter copies"
_FAMILIES: Final = ("vizdoom",)


def reason_against(env: EnvConfig, reward: RewardConfig | None = None) -> str:
    """Why threads would gain nothing here, as a clause; empty when they do."""
    if env.family not in _FAMILIES:
        return f"{env.id} is computed by Python itself, one copy at a time"
    return ""


class ThreadVector:
    """The contract of `envs/vector.py`, kept by several threads."""

    def __init__(
        self,
        build: Build,
        count: int,
        restarts: int = 0,
        timeout_s: float | None = None,
        threads: int | None = None,
    ) -> None:
        self.count = count
        self.note: Note | None = None
        self._restarts, self._timeout_s = restarts, timeout_s
        self._calls = 0
        self._slices: list[Slice] = []
        self._watchdog: Watchdog | None = None
        cores = _cores()
        lanes = min(count, threads or len(cores))
        bounds = np.linspace(0, count, lanes + 1).astype(int).tolist()
        self._bounds = list(itertools.pairwise(bounds))
        self._pools = [_pool(cores[lane % len(cores)]) for lane in range(lanes)]
        try:
            first, layout = self._pools[0].submit(_first, build).result()
            self.spaces: Spaces = layout.spaces
            self.signal_kinds: tuple[Kind, ...] = layout.kinds
            fields = layout.fields(count)
            arrays = {k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()}
            self.buffers = assemble(arrays)
            self._build(build, first)
        except BaseException:
            self.close()
            raise
        self._logbook = Logbook(self.buffers.action, restarts)
        if timeout_s:
            self._watchdog = Watchdog(self._sign, self._alarm, timeout_s)

    def _build(self, build: Build, first: Copy | None) -> None:
        for start, stop in self._bounds:
            copies = [first] if first is not None and start == 0 else []
            copies += [build() for _ in range(stop - start - len(copies))]
            rows = self.buffers.rows(start, stop)
            self._slices.append(Slice(copies, rows, build, self._restarts, first_index=start))

    def _each(self, task: Callable[[int, Slice], T]) -> list[T]:
        """Do something with every thread's copies; the first failure is raised when all are done.

        The copies' events are settled in any case.
        """
        self._calls += 1
        jobs: list[Future[T]] = [
            pool.submit(task, lane, copies)
            for lane, (pool, copies) in enumerate(zip(self._pools, self._slices, strict=True))
        ]
        wait(jobs)
        self._settle()
        return [job.result() for job in jobs]

    def _settle(self) -> None:
        for copies in self._slices:
            if copies.events:
                events, copies.events = copies.events, []
                too_many = self._logbook.settle(events)
                if too_many is not None:
                    raise report(too_many, self._restarts)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        def task(lane: int, copies: Slice) -> None:
            start, stop = self._bounds[lane]
            copies.reset(seeds[start:stop])

        self._each(task)
        return self.buffers

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        self.buffers.action[...] = action
        self._logbook.note(self.buffers.action, active)

        def task(lane: int, copies: Slice) -> list[Episode]:
            start, stop = self._bounds[lane]
            return copies.step(None if active is None else active[start:stop])

        return [episode for episodes in self._each(task) for episode in episodes]

    def tapes(self) -> list[Tape]:
        return self._logbook.tapes()

    def play(self, tapes: Sequence[Tape]) -> Bools:
        def task(lane: int, copies: Slice) -> list[bool]:
            start, stop = self._bounds[lane]
            return copies.play(tapes[start:stop])

        arrived = np.array([came for replies in self._each(task) for came in replies])
        for row, tape in enumerate(tapes):
            if arrived[row]:
                self._logbook.load(row, tape)
        return arrived

    def take_faults(self) -> list[Fault]:
        return self._logbook.take_faults()

    def _sign(self) -> Any:
        """What changes as long as every thread that has something to do gets on with it."""
        busy = tuple(copies.at[0] for copies in self._slices)
        return None if all(row == IDLE for row in busy) else (self._calls, self._places())

    def _places(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(copies.at) for copies in self._slices)

    def _alarm(self) -> None:
        """Nothing can be done about it from here but to say so."""
        for copies, (row, activity, _) in zip(self._slices, self._places(), strict=True):
            if row != IDLE:
                sentence = (
                    f"environment copy {copies.first_index + row} has not returned from "
                    f"{ACTIVITIES[activity]} for {self._timeout_s:g} s"
                )
                print(f"spotter: {sentence}", file=sys.stderr)
                if self.note is not None:
                    self.note(sentence)

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        for copies in self._slices:
            copies.close()
        self._slices = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _first(build: Build) -> tuple[Copy | None, Layout]:
    """A copy and what it teaches; none if looking at it has made it slower (see tape.py)."""
    copy = build()
    layout = Layout.of(copy)
    if not copy.layers.opened:
        return copy, layout
    copy.close()
    return None, layout


def _pool(core: int) -> ThreadPoolExecutor:
    """One thread, on a core of its own where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        return ThreadPoolExecutor(1, _NAME)
    return ThreadPoolExecutor(1, _NAME, initializer=os.sched_setaffinity, initargs=(0, {core}))


def _cores() -> list[int]:
    """Those this process may use; two processes begin with different ones, if all goes well."""
    cores = machine.core_ids()
    first = os.getpid() % len(cores)
    return cores[first:] + cores[:first]
