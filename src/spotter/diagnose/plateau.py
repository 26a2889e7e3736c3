"""When a metric stops improving: which change is due, and whether the last one helped.

Pure logic on values; what a change does to a setting is the caller's business.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Change:
    """What is due now."""

    kind: Literal["apply", "revert"]
    action: int
    """Its place in the list of actions."""
    best: float
    value: float


@dataclass(frozen=True, slots=True)
class _Applied:
    action: int
    value: float
    """Of the metric, at that time."""
    until: int
    """Env steps at which the cooldown ends."""


class Plateau:
    """Actions in turn, each after `patience_steps` without an improvement of `min_delta`.

    After an action nothing happens for `cooldown_steps`; then, if the metric is no better than it
    was when the action was applied, a "revert" is due, which the caller may decline. Patience
    counts from there.
    """

    def __init__(
        self,
        better: Literal["high", "low"],
        patience_steps: int,
        min_delta: float,
        cooldown_steps: int,
        actions: int,
    ) -> None:
        assert actions > 0, "a plateau needs something to do"
        self._sign = 1.0 if better == "high" else -1.0
        self._patience_steps = patience_steps
        self._min_delta = min_delta
        self._cooldown_steps = cooldown_steps
        self._actions = actions
        self._best: float | None = None
        self._since = 0
        self._next = 0
        self._applied: _Applied | None = None

    def see(self, value: float, env_steps: int) -> Change | None:
        """Take one more value; a number that is not finite says nothing."""
        if not math.isfinite(value):
            return None
        if self._best is None or self._is_better(value, self._best):
            self._best, self._since = value, env_steps
        if self._applied is not None:
            return self._after_change(self._applied, value, env_steps)
        if env_steps - self._since < self._patience_steps:
            return None
        action = self._next
        self._next = (action + 1) % self._actions
        self._applied = _Applied(action, value, env_steps + self._cooldown_steps)
        return Change("apply", action, self._best, value)

    def _after_change(self, applied: _Applied, value: float, env_steps: int) -> Change | None:
        if env_steps < applied.until:
            return None
        assert self._best is not None
        self._applied = None
        self._since = env_steps
        if self._is_better(value, applied.value):
            return None
        return Change("revert", applied.action, self._best, value)

    def _is_better(self, value: float, than: float) -> bool:
        return self._sign * (value - than) > self._min_delta

    def state(self) -> dict[str, object]:
        applied = self._applied
        return {
            "best": self._best,
            "since": self._since,
            "next": self._next,
            "applied": [applied.action, applied.value, applied.until] if applied else None,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore; the list of actions may be shorter than it was."""
        self._best = state["best"]
        self._since = int(state["since"])
        self._next = int(state["next"]) % self._actions
        applied = _Applied(*state["applied"]) if state["applied"] else None
        self._applied = applied if applied and applied.action < self._actions else None
