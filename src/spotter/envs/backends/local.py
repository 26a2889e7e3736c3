"""The back-ends that run in this process: all envs in one loop, or one loop per thread.

One loop is the reference, and the fastest for cheap environments. Threads are for games that run in
processes of their own (`envs/games/doom/threads.py`): both run the same slices and give the same
numbers.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

from spotter.envs.backends.layout import Layout
from spotter.envs.backends.slices import ACTIVITIES, IDLE, Bools, Command, EnvInstance, Slice
from spotter.envs.backends.vector import SliceVector
from spotter.types import Episode

Build = Callable[[], EnvInstance]


class LocalVector(SliceVector):
    """Slices in this process: one, or one for each of `pools`, which have one thread each."""

    def __init__(
        self,
        build: Build,
        count: int,
        restarts: int = 0,
        timeout_s: float | None = None,
        pools: Sequence[ThreadPoolExecutor] = (),
    ) -> None:
        self._pools, self._slices = pools, list[Slice]()
        first, layout = pools[0].submit(_first, build).result() if pools else _first(build)
        edges = np.linspace(0, count, max(1, len(pools)) + 1).astype(int).tolist()
        fields = layout.fields(count)
        arrays = {k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()}
        super().__init__(layout, arrays, list(pairwise(edges)), restarts, timeout_s)
        try:
            for start, stop in self._bounds:
                instances = [first] if first is not None and start == 0 else []
                instances += [build() for _ in range(stop - start - len(instances))]
                rows = self.buffers.rows(start, stop)
                self._slices.append(Slice(instances, rows, build, restarts, first_index=start))
        except BaseException:
            self.close()
            raise
        self._watch()

    def _step(self, active: Bools | None) -> list[Episode]:
        if self._pools:
            parts = [None if active is None else active[start:stop] for start, stop in self._bounds]
            return [episode for found in self._ask("step", parts) for episode in found]
        self._calls += 1
        try:
            return self._slices[0].step(active)
        finally:
            if self._slices[0].events:
                self._settle()

    def _ask(self, command: Command, arguments: Sequence[object]) -> list[Any]:
        self._calls += 1
        asked = list(zip(self._slices, arguments, strict=True))
        try:
            if not self._pools:
                return [part.serve(command, argument) for part, argument in asked]
            jobs = [
                pool.submit(part.serve, command, argument)
                for pool, (part, argument) in zip(self._pools, asked, strict=True)
            ]
            wait(jobs)  # all of them: a failure is raised when no thread is at work any more
        finally:
            self._settle()
        return [job.result() for job in jobs]

    def begin_again(self) -> None:
        """Every env leaves its episode for a new one of its own stream, on a new replay log."""
        for part in self._slices:
            part.begin_again()
        self._settle()

    def _settle(self) -> None:
        for part in self._slices:
            if part.events:
                events, part.events = part.events, []
                self._record(events)

    def _sign(self) -> object:
        places = tuple(tuple(part.at) for part in self._slices)
        return None if all(row == IDLE for row, *_ in places) else (self._calls, places)

    def _alarm(self) -> None:
        """Nothing can be done about it from here but to say so."""
        for part in self._slices:
            row, activity, _ = part.at
            if row == IDLE:
                continue
            sentence = (
                f"environment {part.first_index + row} has not returned from "
                f"{ACTIVITIES[activity]} for {self._timeout_s:g} s"
            )
            print(f"spotter: {sentence}", file=sys.stderr)
            if self.note is not None:
                self.note(sentence)

    def close(self) -> None:
        super().close()
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        for part in self._slices:
            part.close()
        self._slices = []


def _first(build: Build) -> tuple[EnvInstance | None, Layout]:
    """An env and its layout; none if inspecting it has made it slower (see envs/replay.py)."""
    instance = build()
    layout = Layout.of(instance)
    if not instance.layers.opened:
        return instance, layout
    instance.close()
    return None, layout
