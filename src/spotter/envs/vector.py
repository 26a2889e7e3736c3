"""The one transition contract, and the back-end that runs in this process.

Every back-end presents same-step autoreset: a step in which an episode ends returns the reward
and flags of that end, the true last observation in `final_obs`, and in `obs` the first
observation of the next episode. At most one of `terminated` and `truncated` is set (termination
wins). `reset(seeds)` starts all copies afresh; later episodes continue each copy's own stream.
A copy that fails is replaced: its row is `lost`, with no reward, no flag and no episode, and `obs`
begins a new one. `tests/conformance` proves it for any back-end.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from spotter.envs.layout import Layout, assemble
from spotter.envs.logbook import Logbook
from spotter.envs.signals.base import Kind
from spotter.envs.slices import ACTIVITIES, IDLE, Bools, Buffers, Copy, Slice, report
from spotter.envs.watchdog import Watchdog
from spotter.types import Episode, Fault, Spaces, Tape

Note = Callable[[str], None]


class VectorEnv(Protocol):
    """N copies of one environment."""

    count: int
    spaces: Spaces
    signal_kinds: tuple[Kind, ...]
    buffers: Buffers
    note: Note | None
    """Told in one sentence about a copy that hangs and cannot be helped; from another thread."""

    def reset(self, seeds: Sequence[int]) -> Buffers:
        """Start every copy with its own seed."""

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        """Step every active copy into `buffers`; returns the episodes that ended."""

    def tapes(self) -> list[Tape]:
        """What it takes to bring fresh copies to where these are."""

    def play(self, tapes: Sequence[Tape]) -> Bools:
        """Bring every copy to where its tape ends; False for those that began a new episode."""

    def take_faults(self) -> list[Fault]:
        """Which copies failed since the last call."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class InTurns(VectorEnv, Protocol):
    """A back-end whose groups of copies play by themselves, so that one can be answered meanwhile.

    `obs` leaves of `depths` are stacks of that many pictures, the newest last.
    """

    halves: int
    rows: Sequence[slice]
    """The copies of each group."""
    depths: Mapping[str, int]

    def send(self, half: int, action: npt.NDArray[Any]) -> None:
        """Let a group play on; its rows of the buffers keep their values until `recv`."""

    def recv(self, half: int) -> list[Episode]:
        """Wait for a group; its step is in the buffers then."""


class SyncVector:
    """All copies in one loop: the reference, and the fastest for cheap environments."""

    def __init__(
        self,
        build: Callable[[], Copy],
        count: int,
        restarts: int = 0,
        timeout_s: float | None = None,
    ) -> None:
        copies = [build()]
        layout = Layout.of(copies[0])
        if copies[0].layers.opened:
            copies.pop().close()
        copies += [build() for _ in range(count - len(copies))]
        self.count = count
        self.spaces = layout.spaces
        self.signal_kinds = layout.kinds
        fields = layout.fields(count)
        self.buffers = assemble({k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()})
        self.note: Note | None = None
        self._slice = Slice(copies, self.buffers, build, restarts)
        self._logbook = Logbook(self.buffers.action, restarts)
        self._calls = 0
        self._restarts, self._timeout_s = restarts, timeout_s
        self._watchdog = Watchdog(self._sign, self._alarm, timeout_s) if timeout_s else None

    def reset(self, seeds: Sequence[int]) -> Buffers:
        self._calls += 1
        try:
            self._slice.reset(seeds)
        finally:
            self._settle()
        return self.buffers

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        self._calls += 1
        self.buffers.action[...] = action
        self._logbook.note(self.buffers.action, active)
        try:
            episodes = self._slice.step(active)
        finally:
            if self._slice.events:
                self._settle()
        return episodes

    def tapes(self) -> list[Tape]:
        return self._logbook.tapes()

    def play(self, tapes: Sequence[Tape]) -> Bools:
        self._calls += 1
        try:
            arrived = self._slice.play(tapes)
        finally:
            self._settle()
        for row, tape in enumerate(tapes):
            if arrived[row]:
                self._logbook.load(row, tape)
        return np.array(arrived)

    def begin_anew(self) -> None:
        """Every copy leaves its episode for a new one of its own stream, on a new tape."""
        self._slice.begin_anew()
        self._settle()

    def take_faults(self) -> list[Fault]:
        return self._logbook.take_faults()

    def _settle(self) -> None:
        events, self._slice.events = self._slice.events, []
        too_many = self._logbook.settle(events)
        if too_many is not None:
            raise report(too_many, self._restarts)

    def _sign(self) -> Any:
        row, activity, replayed = self._slice.at
        return None if row == IDLE else (self._calls, row, activity, replayed)

    def _alarm(self) -> None:
        """Nothing can be done about it from here but to say so."""
        row, activity, _ = self._slice.at
        sentence = (
            f"environment copy {row} has not returned from {ACTIVITIES[activity]} "
            f"for {self._timeout_s:g} s"
        )
        print(f"spotter: {sentence}", file=sys.stderr)
        if self.note is not None:
            self.note(sentence)

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        self._slice.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
