"""What a vector knows about its copies' pasts: tapes of their latest episodes, and their failures.

It stands on the side of whoever sends the actions, so it survives the death of a worker process.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter import seeding
from spotter.envs.tape import Start
from spotter.types import Array, Fault, Tape

Event = tuple[int, Start | Fault]
"""Something that happened to a copy within a step, in order."""

UNKNOWN: Final = Tape({}, None, ())
"""The tape of an episode that cannot be played again."""
_TIDY_EVERY: Final = 4096  # vector steps
_LONGEST: Final = 100_000  # vector steps; memory stays bounded where episodes never end
_LAST: Final = 8


def next_seed(seed: int | None) -> int:
    """The seed of the copy that replaces one with this seed."""
    return seeding.integer(seed or 0, "replacement")


class Logbook:
    """Actions of all copies since the snapshot each of them was last taken of, and faults."""

    def __init__(self, action: npt.NDArray[Any], restarts: int = 0) -> None:
        count = len(action)
        self._restarts = restarts
        self._shape, self._dtype = action.shape, action.dtype
        self._all_active = b"\x01" * count
        self._given: list[bytes] = []  # of all copies together: little work per vector step
        self._active: list[bytes] = []
        self._from = [0] * count
        self._starts: list[Start | None] = [None] * count
        self.seeds: list[int | None] = [None] * count
        """What each copy's random stream began with."""
        self._before: list[tuple[Array, ...]] = [()] * count
        self._faults: list[Fault] = []
        self.failures = 0

    def note(self, action: npt.NDArray[Any], active: npt.NDArray[np.bool_] | None) -> None:
        """Before each step: what the copies are about to be given."""
        self._given.append(action.tobytes())
        self._active.append(self._all_active if active is None else active.tobytes())
        if len(self._given) % _TIDY_EVERY == 0:
            self._tidy()

    def settle(self, events: Iterable[Event]) -> Fault | None:
        """After each step: new tapes begin, faults get theirs; returns the one that is too many."""
        last_straw = None
        for row, event in events:
            if isinstance(event, Start):
                self.begin(row, event)
                continue
            self._faults.append(replace(event, tape=self.tape(row)))
            self.failures += 1
            if self.failures > self._restarts:
                last_straw = self._faults[-1]
        return last_straw

    def begin(self, row: int, start: Start, actions: tuple[Array, ...] = ()) -> None:
        """A tape begins here, or goes on after these actions."""
        self._starts[row], self._before[row] = start, actions
        self._from[row] = len(self._given)
        self.seeds[row] = start.state.get("seed", start.seed)

    def load(self, row: int, tape: Tape) -> None:
        """A copy stands where this tape ends."""
        self.begin(row, Start(tape.start, tape.seed), tape.actions)

    def tape(self, row: int) -> Tape:
        return self._tapes([row])[0]

    def tapes(self) -> list[Tape]:
        return self._tapes(range(len(self._starts)))

    def _tapes(self, rows: Sequence[int]) -> list[Tape]:
        first = min(self._from[row] for row in rows)
        steps = len(self._given) - first
        given = np.frombuffer(b"".join(self._given[first:]), self._dtype)
        given = given.reshape(steps, *self._shape)
        active = np.frombuffer(b"".join(self._active[first:]), np.bool_)
        active = active.reshape(steps, self._shape[0])
        tapes = []
        for row in rows:
            start, since = self._starts[row], slice(self._from[row] - first, None)
            actions = given[since, row][active[since, row]]
            known = start and Tape(start.state, start.seed, (*self._before[row], *actions))
            tapes.append(known or UNKNOWN)
        return tapes

    def last_actions(self, row: int) -> list[Any]:
        return [action.tolist() for action in self.tape(row).actions[-_LAST:]]

    def take_faults(self) -> list[Fault]:
        """Faults since the last call."""
        faults, self._faults = self._faults, []
        return faults

    def _tidy(self) -> None:
        """Forget actions no tape needs, and tapes that have become too long to be played."""
        steps = len(self._given)
        for row, first in enumerate(self._from):
            if steps - first > _LONGEST:
                self._starts[row], self._before[row], self._from[row] = None, (), steps
        done = min(self._from)
        del self._given[:done], self._active[:done]
        self._from = [first - done for first in self._from]
