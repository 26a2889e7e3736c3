"""How fast training goes now, and how long the rest will take.

Only busy seconds count: what the caller hands in, that is without evaluation and saving. No clock
is read here.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

_WINDOW_S: Final = 10.0
_SLOT_S: Final = 0.1
"""Quick updates share a slot, so that ten thousand of them need a hundred slots."""


class Pace:
    """Speed over about the last ten busy seconds, and over the last update at least."""

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque()  # each [env steps, busy seconds, updates]
        self._env_steps = self._busy_s = self._updates = 0.0

    def add(self, env_steps: int, busy_s: float) -> None:
        """One update: the env steps it made and the seconds they and the learning took."""
        slots = self._slots
        if slots and slots[-1][1] < _SLOT_S:
            slot = slots[-1]
            slot[0] += env_steps
            slot[1] += busy_s
            slot[2] += 1
        else:
            slots.append([env_steps, busy_s, 1])
        self._env_steps += env_steps
        self._busy_s += busy_s
        self._updates += 1
        if len(slots) > 1 and self._busy_s - slots[0][1] >= _WINDOW_S:
            self._forget()

    def _forget(self) -> None:
        slots = self._slots
        while len(slots) > 1 and self._busy_s - slots[0][1] >= _WINDOW_S:
            self._busy_s -= slots.popleft()[1]
        # Summed again, because subtracting would accumulate rounding errors.
        self._env_steps, self._busy_s, self._updates = (
            sum(each) for each in zip(*slots, strict=True)
        )

    @property
    def fps(self) -> float:
        """Env steps per second; 0 before there is anything to go by."""
        return self._env_steps / self._busy_s if self._busy_s > 0 else 0.0

    @property
    def updates_per_s(self) -> float:
        return self._updates / self._busy_s if self._busy_s > 0 else 0.0

    def eta_s(self, remaining_env_steps: int) -> float:
        """Seconds the remaining env steps will take; 0 while no speed is known."""
        fps = self.fps
        return max(0, remaining_env_steps) / fps if fps > 0 else 0.0

    def state(self) -> dict[str, object]:
        return {"slots": [list(slot) for slot in self._slots]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._slots = deque([float(x) for x in slot] for slot in state["slots"])
        sums = [sum(each) for each in zip(*self._slots, strict=True)] or [0.0, 0.0, 0.0]
        self._env_steps, self._busy_s, self._updates = sums
