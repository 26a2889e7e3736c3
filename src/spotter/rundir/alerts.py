"""Alerts of a run, from its events and rows: each once, sorted by id.

Where a resume went back to a checkpoint, what was raised after it no longer belongs to the run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spotter.rundir.history import Held, History
from spotter.rundir.values import finite, text, whole

Event = Mapping[str, Any]

_LATE: Final = 0.9
"""Share of the updates after which a run is at its end."""


@dataclass(frozen=True)
class Alert:
    """A rule that fired: how often, since when, what it saw last, what to try."""

    id: str
    level: str
    metric: str
    saw: str
    advice: str
    updates: int
    share: float | None
    """Of all updates; None before the first."""
    first: int | None
    """Env steps when it was first raised."""
    at_end: bool
    """Whether it still held in the last tenth of the updates."""


class Raised:
    """What events say about alerts, one event after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """Each time an alert was raised, in the order they were written."""
        self.counts: dict[str, Event] = {}
        """What the run itself counted when it ended."""

    def add(self, event: Event) -> None:
        kind, name = event.get("event"), text(event.get("id"))
        steps = whole(event.get("env_steps"))
        if kind == "resume" and steps is not None:
            self.events = [one for one in self.events if _steps(one) <= steps]
            self.counts = {}
        elif kind == "alert" and name:
            self.events.append(event)
        elif kind == "alerts":
            self.counts = _counts(event.get("counts"))

    @property
    def ids(self) -> list[str]:
        return sorted({*self.latest, *self.counts})

    @property
    def latest(self) -> dict[str, Event]:
        """The last time each was raised, by id."""
        return {text(event.get("id")): event for event in self.events}

    @property
    def first(self) -> dict[str, int]:
        """Env steps when each was first raised, by id."""
        known = [event for event in self.events if whole(event.get("env_steps")) is not None]
        return {text(event.get("id")): _steps(event) for event in reversed(known)}


def raised(events: Iterable[Event]) -> Raised:
    found = Raised()
    for event in events:
        found.add(event)
    return found


def read(found: Raised, history: History) -> tuple[Alert, ...]:
    """Each once, sorted by id; how often is counted from the rows until the run has ended."""
    latest, first = found.latest, found.first
    ids = sorted({*found.ids, *history.alerts})
    entries = {id: found.counts.get(id) or latest.get(id) or {} for id in ids}
    return tuple(_alert(id, entry, first.get(id), history) for id, entry in entries.items())


def _steps(event: Event) -> int:
    return whole(event.get("env_steps")) or 0


def _counts(written: object) -> dict[str, Event]:
    entries = written if isinstance(written, list) else []
    named = {text(each.get("id")): each for each in entries if isinstance(each, Mapping)}
    return {name: each for name, each in named.items() if name}


def _alert(id: str, entry: Event, first: int | None, history: History) -> Alert:
    level, metric, saw, advice = (
        text(entry.get(key)) for key in ("level", "metric", "saw", "advice")
    )
    held = history.alerts.get(id) or Held(0, 0, 0)
    counted = whole(entry.get("updates"))
    updates = held.updates if counted is None else counted
    everything = history.updates
    if first is None and held.updates:
        first = whole(_steps_at(history, held.first_row))
    return Alert(
        id=id,
        level=level,
        metric=metric,
        saw=saw,
        advice=advice,
        updates=updates,
        share=_share(entry, updates, everything),
        first=first,
        at_end=held.updates > 0 and held.last_update >= _LATE * everything - 1,
    )


def _share(entry: Event, updates: int, everything: int) -> float | None:
    counted = finite(entry.get("share"))
    if counted is not None:
        return counted
    return min(1.0, updates / everything) if everything else None


def _steps_at(history: History, row: int) -> int | None:
    steps = history.column("env_steps")
    value = float(steps[row]) if row < len(steps) else float("nan")
    return int(value) if abs(value) < float("inf") else None
