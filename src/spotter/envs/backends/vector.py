"""The one transition contract, and what the back-ends that are made of slices share.

Every back-end presents same-step autoreset: a step in which an episode ends returns the reward
and flags of that end, the true last observation in `final_obs`, and in `obs` the first
observation of the next episode. At most one of `terminated` and `truncated` is set (termination
wins). `reset(seeds)` starts all envs afresh; later episodes continue each env's own stream.
An env that fails is replaced: its row is `lost`, with no reward, no flag and no episode, and `obs`
begins a new one. `tests/conformance` proves it for any back-end.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

import numpy as np

from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.logbook import Event, Logbook
from spotter.envs.backends.slices import Bools, Buffers, Command, report
from spotter.envs.backends.watchdog import Watchdog
from spotter.envs.signals import Kind
from spotter.types import Array, Episode, Fault, ReplayLog, Spaces

Note = Callable[[str], None]


class VectorEnv(Protocol):
    """N instances of one environment."""

    count: int
    spaces: Spaces
    signal_kinds: tuple[Kind, ...]
    buffers: Buffers
    halves: int
    """Groups of envs that run by themselves; 1 but for an `InTurns`."""
    depths: Mapping[str, int]
    """`obs` leaves that are stacks of so many frames, the newest last."""
    note: Note | None
    """Called with one sentence about an env that hangs for good; from another thread."""

    def reset(self, seeds: Sequence[int]) -> Buffers:
        """Start every env with its own seed."""

    def step(self, action: Array, active: Bools | None = None) -> list[Episode]:
        """Step every active env into `buffers`; returns the episodes that ended."""

    def replay_logs(self) -> list[ReplayLog]:
        """Replay logs that bring fresh envs to where these are."""

    def replay(self, replay_logs: Sequence[ReplayLog]) -> Bools:
        """Bring every env to where its log ends; False for those that began a new episode."""

    def take_faults(self) -> list[Fault]:
        """Which envs failed since the last call."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class InTurns(VectorEnv, Protocol):
    """A back-end whose groups of envs run by themselves while the policy acts for another group."""

    rows: Sequence[slice]
    """The envs of each group."""

    def send(self, half: int, action: Array) -> None:
        """Let a group play on; its rows of the buffers keep their values until `recv`."""

    def recv(self, half: int) -> list[Episode]:
        """Wait for a group; its step is in the buffers then."""


class SliceVector(ABC):
    """Envs in slices (`slices.py`), wherever those run; the logbook is kept here.

    `bounds` are the first env of each slice and the one after its last.
    """

    def __init__(
        self,
        layout: Layout,
        arrays: Mapping[str, Array],
        bounds: Sequence[tuple[int, int]],
        restarts: int,
        timeout_s: float | None,
    ) -> None:
        self.spaces, self.signal_kinds = layout.spaces, layout.kinds
        self.buffers = assemble(arrays)
        self.count = len(self.buffers.reward)
        self.halves = 1
        self.depths: Mapping[str, int] = {}
        self.note: Note | None = None
        self._bounds = bounds
        self._restarts, self._timeout_s = restarts, timeout_s
        self._logbook = Logbook(self.buffers.action, restarts)
        self._calls = 0
        self._watchdog: Watchdog | None = None

    def _watch(self) -> None:
        if self._timeout_s:
            self._watchdog = Watchdog(self._sign, self._alarm, self._timeout_s)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        self._ask("reset", [seeds[start:stop] for start, stop in self._bounds])
        return self.buffers

    def step(self, action: Array, active: Bools | None = None) -> list[Episode]:
        self.buffers.action[...] = action
        self._logbook.note(self.buffers.action, active)
        return self._step(active)

    def replay_logs(self) -> list[ReplayLog]:
        return self._logbook.replay_logs()

    def replay(self, replay_logs: Sequence[ReplayLog]) -> Bools:
        replies = self._ask("replay", [replay_logs[start:stop] for start, stop in self._bounds])
        arrived = np.zeros(self.count, np.bool_)
        for (start, stop), reply in zip(self._bounds, replies, strict=True):
            if reply is not None:  # else its worker did not survive it
                arrived[start:stop] = reply
        for row in np.flatnonzero(arrived).tolist():
            self._logbook.load(row, replay_logs[row])
        return arrived

    def take_faults(self) -> list[Fault]:
        return self._logbook.take_faults()

    def _record(self, events: Sequence[Event]) -> None:
        too_many = self._logbook.settle(events)
        if too_many is not None:
            raise report(too_many, self._restarts)

    @abstractmethod
    def _ask(self, command: Command, arguments: Sequence[object]) -> list[object]:
        """Have every slice obey (`Slice.serve`), with its argument; returns their replies."""

    @abstractmethod
    def _step(self, active: Bools | None) -> list[Episode]:
        """Step every slice; the actions are in the buffers."""

    @abstractmethod
    def _sign(self) -> object:
        """What changes while envs make progress; None while none is waited for."""

    @abstractmethod
    def _alarm(self) -> None:
        """That has not changed for `timeout_s`."""

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
