"""What a vector knows about its envs: replay logs of their latest episodes, and failures.

It is kept where the actions are sent from, so it survives the death of a worker process.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter import seeding
from spotter.envs.replay import Start
from spotter.types import Array, Fault, ReplayLog

Event = tuple[int, Start | Fault]
"""Something that happened to an env within a step, in order."""

UNKNOWN: Final = ReplayLog({}, None, ())
"""The replay log of an episode that cannot be played again."""
_TIDY_EVERY: Final = 4096  # vector steps
_LONGEST: Final = 100_000  # vector steps; memory stays bounded where episodes never end
_LAST: Final = 8


def next_seed(seed: int | None) -> int:
    """The seed of the env that replaces one with this seed."""
    return seeding.integer(seed or 0, "replacement")


class Logbook:
    """Actions of all envs since the snapshot each of them was last taken of, and faults."""

    def __init__(self, action: npt.NDArray[Any], restarts: int = 0) -> None:
        count = len(action)
        self._restarts = restarts
        self._shape, self._dtype = action.shape, action.dtype
        self._all_active = b"\x01" * count
        self._given: list[bytes] = []  # of all envs together: little work per vector step
        self._active: list[bytes] = []
        self._from = [0] * count
        self._starts: list[Start | None] = [None] * count
        self.seeds: list[int | None] = [None] * count
        """What each env's random stream began with."""
        self._before: list[tuple[Array, ...]] = [()] * count
        self._faults: list[Fault] = []
        self.failures = 0

    def note(self, action: Array, active: npt.NDArray[np.bool_] | None) -> None:
        """Before each step: what the envs are about to be given."""
        self._given.append(action.tobytes())
        self._active.append(self._all_active if active is None else active.tobytes())
        if len(self._given) % _TIDY_EVERY == 0:
            self._tidy()

    def settle(self, events: Iterable[Event]) -> Fault | None:
        """After each step: new logs begin, faults get theirs; returns the one too many, if any."""
        last_straw = None
        for row, event in events:
            if isinstance(event, Start):
                self.begin(row, event)
                continue
            self._faults.append(replace(event, replay_log=self.replay_log(row)))
            self.failures += 1
            if self.failures > self._restarts:
                last_straw = self._faults[-1]
        return last_straw

    def begin(self, row: int, start: Start, actions: tuple[Array, ...] = ()) -> None:
        """A replay log begins here, or continues after these actions."""
        self._starts[row], self._before[row] = start, actions
        self._from[row] = len(self._given)
        self.seeds[row] = start.state.get("seed", start.seed)

    def load(self, row: int, replay_log: ReplayLog) -> None:
        """An env is where this replay log ends."""
        self.begin(row, Start(replay_log.start, replay_log.seed), replay_log.actions)

    def replay_log(self, row: int) -> ReplayLog:
        return self._replay_logs([row])[0]

    def replay_logs(self) -> list[ReplayLog]:
        return self._replay_logs(range(len(self._starts)))

    def _replay_logs(self, rows: Sequence[int]) -> list[ReplayLog]:
        first = min(self._from[row] for row in rows)
        steps = len(self._given) - first
        given = np.frombuffer(b"".join(self._given[first:]), self._dtype)
        given = given.reshape(steps, *self._shape)
        active = np.frombuffer(b"".join(self._active[first:]), np.bool_)
        active = active.reshape(steps, self._shape[0])
        replay_logs = []
        for row in rows:
            start, since = self._starts[row], slice(self._from[row] - first, None)
            actions = given[since, row][active[since, row]]
            known = start and ReplayLog(start.state, start.seed, (*self._before[row], *actions))
            replay_logs.append(known or UNKNOWN)
        return replay_logs

    def last_actions(self, row: int) -> list[object]:
        return [action.tolist() for action in self.replay_log(row).actions[-_LAST:]]

    def take_faults(self) -> list[Fault]:
        """Faults since the last call."""
        faults, self._faults = self._faults, []
        return faults

    def _tidy(self) -> None:
        """Drop actions that no log needs, and logs that have become too long to replay."""
        steps = len(self._given)
        for row, first in enumerate(self._from):
            if steps - first > _LONGEST:
                self._starts[row], self._before[row], self._from[row] = None, (), steps
        done = min(self._from)
        del self._given[:done], self._active[:done]
        self._from = [first - done for first in self._from]
