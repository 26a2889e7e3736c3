"""What can go wrong in a run: `Watcher` looks at every row and says what it saw and what to try.

The rules are in rules.py, how each looks at the numbers in judges.py, what they look at in
evidence.py.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spotter.diagnose.evidence import Clock, Evidence
from spotter.diagnose.facts import Facts
from spotter.diagnose.rule import Level, Online
from spotter.diagnose.rules import ALERTS, BY_ID, FOLLOWED, unknown_ids
from spotter.metrics.spec import Catalogue
from spotter.types import Episode

__all__ = ["Alert", "AlertCount", "Facts", "Level", "Watcher", "unknown_ids"]

HELP: Final = "spotter help"
"""Prints a chapter of the documentation, which an installed user has no file of."""


def _more(id: str) -> str:
    return f"{HELP} alerts.{id}"


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule firing on one row."""

    id: str
    metric: str
    level: Level
    saw: str
    advice: str

    @property
    def link(self) -> str:
        """Where to read on."""
        return _more(self.id)


@dataclass(frozen=True, slots=True)
class AlertCount:
    """How often a rule fired in a run, and what it saw last."""

    last: Alert
    updates: int
    share: float
    """Of all updates."""
    first_env_steps: int
    last_env_steps: int


@dataclass(slots=True)
class _Watch:
    """One rule at work: how long it has been so, whether it speaks, how often it did."""

    id: str
    level: Level
    rule: Online
    bad: int = 0
    fine: int = 0
    since: float | None = None
    """Elapsed seconds when it began to be bad."""
    active: bool = False
    last: Alert | None = None
    updates: int = 0
    first: int = 0
    last_env_steps: int = 0

    def judge(self, evidence: Evidence) -> None:
        rule = self.rule
        seen = rule.judge(evidence)
        if seen is None:
            self.bad, self.since = 0, None
            self.fine += 1
            if self.fine >= rule.fall:
                self.active = False
            return
        self.bad += 1
        self.fine = 0
        now = evidence.metrics.get("time/elapsed_s")
        self.since = now if self.since is None else self.since
        long_enough = now is None or self.since is None or now - self.since >= rule.lasting_s
        if self.active or (self.bad >= rule.rise and long_enough):
            self.active = True
            self.last = Alert(self.id, seen.metric, self.level, seen.text, rule.advice)

    def count(self, env_steps: int) -> None:
        if not self.updates:
            self.first = env_steps
        self.updates += 1
        self.last_env_steps = env_steps

    def state(self) -> dict[str, object]:
        last = self.last
        return {
            "bad": self.bad,
            "fine": self.fine,
            "active": self.active,
            "last": [last.metric, last.saw] if last else None,
            "updates": self.updates,
            "env_steps": [self.first, self.last_env_steps],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.bad, self.fine, self.active = state["bad"], state["fine"], state["active"]
        if state["last"]:
            metric, saw = state["last"]
            self.last = Alert(self.id, metric, self.level, saw, self.rule.advice)
        self.updates = state["updates"]
        self.first, self.last_env_steps = state["env_steps"]


class Watcher:
    """Looks at every row of a run; keeps what it needs to remember, and counts."""

    def __init__(
        self,
        facts: Facts,
        catalogue: Catalogue,
        ignore: Collection[str] = (),
        advise: Callable[[str], str] = str,
    ) -> None:
        """`advise` leaves out of an advice what the run's config has no use for."""
        self._evidence = Evidence(facts, catalogue, FOLLOWED)
        self._watches = [
            _Watch(id, BY_ID[id].level, replace(rule, advice=advise(rule.advice) or _more(id)))
            for id, rule in sorted(ALERTS.items())
            if id not in ignore and rule.applies(facts)
        ]
        self._by_clock: dict[Clock, list[_Watch]] = {
            clock: [watch for watch in self._watches if watch.rule.clock == clock]
            for clock in ("row", "block", "curve", "evaluation")
        }
        self._rows = 0

    def see(
        self,
        metrics: Mapping[str, float],
        update: int,
        env_steps: int,
        episodes: Sequence[Episode] = (),
    ) -> tuple[Alert, ...]:
        """The alerts that are active on this row, sorted by id."""
        self._rows += 1
        for clock in self._evidence.note(metrics, update, env_steps, episodes):
            for watch in self._by_clock[clock]:
                watch.judge(self._evidence)
        alerts = []
        for watch in self._watches:
            if watch.active and watch.last:
                watch.count(env_steps)
                alerts.append(watch.last)
        return tuple(alerts)

    def counts(self) -> tuple[AlertCount, ...]:
        """Every rule that ever fired, sorted by id."""
        return tuple(
            AlertCount(
                last=watch.last,
                updates=watch.updates,
                share=watch.updates / self._rows,
                first_env_steps=watch.first,
                last_env_steps=watch.last_env_steps,
            )
            for watch in self._watches
            if watch.last and watch.updates
        )

    def state(self) -> dict[str, object]:
        """Plain data; a watcher restored from it continues as if never stopped."""
        return {
            "rows": self._rows,
            "evidence": self._evidence.state(),
            "rules": {watch.id: watch.state() for watch in self._watches},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Rules that were ignored then, or are now, are no trouble."""
        self._rows = state["rows"]
        self._evidence.restore(state["evidence"])
        for watch in self._watches:
            if watch.id in state["rules"]:
                watch.restore(state["rules"][watch.id])
