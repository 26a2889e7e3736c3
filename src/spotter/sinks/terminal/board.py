"""What the live table knows: every metric's series, which alerts fired, the newest messages.

Rows are only put in a queue while training runs; they are taken in when the table is drawn.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import RLock
from typing import Final

from spotter.diagnose.alerts import Alert, Level
from spotter.diagnose.rule import urgency
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.sinks.base import Row
from spotter.sinks.terminal.series import Series

_QUEUE: Final = 1024
_MESSAGES: Final = 100
_AGAIN_S: Final = 60.0
_IN_THE_HEAD: Final = ("run/progress", "time/elapsed_s", "time/eta_s")


@dataclass(frozen=True, slots=True)
class Message:
    """A note, or an alert with its advice, for the lines below the table."""

    text: str
    level: Level | None = None
    """None for a note."""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table."""

    key: str
    spec: MetricSpec
    series: Series
    alerts: tuple[Alert, ...]
    """Every alert that ever fired on it, worst first."""
    firing: bool
    """Whether one of them fires now; that one stands first."""

    @property
    def group(self) -> str:
        return self.key.partition("/")[0] if "/" in self.key else ""

    @property
    def name(self) -> str:
        return self.key.partition("/")[2] or self.key


class NewAlerts:
    """Which alerts are worth a sentence: quiet before, and not shown within the last minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._firing: set[str] = set()
        self._described: dict[str, float] = {}

    def among(self, alerts: Iterable[Alert]) -> list[Alert]:
        now = self._clock()
        fresh = []
        firing = set()
        for alert in alerts:
            firing.add(alert.id)
            quiet_s = now - self._described.get(alert.id, -_AGAIN_S)
            if alert.id not in self._firing and quiet_s >= _AGAIN_S:
                self._described[alert.id] = now
                fresh.append(alert)
        self._firing = firing
        return fresh


class Board:
    """Filled by the training thread, read by the one that draws."""

    def __init__(self, catalogue: Catalogue, clock: Callable[[], float]) -> None:
        self._catalogue = catalogue
        self._order = {spec.key: place for place, spec in enumerate(catalogue)}
        self._groups = _group_order(catalogue)
        self._queue: deque[Row] = deque()
        self._lock = RLock()
        self._new_alerts = NewAlerts(clock)
        self._series: defaultdict[str, Series] = defaultdict(Series)
        self._specs: dict[str, MetricSpec] = {}
        self._alerts: defaultdict[str, dict[str, Alert]] = defaultdict(dict)
        self._fired: set[str] = set()
        self._firing: set[str] = set()
        self.messages: deque[Message] = deque(maxlen=_MESSAGES)
        self.newest: Row | None = None

    def add(self, row: Row) -> None:
        """Called a thousand times a second: no work here unless no thread draws."""
        self._queue.append(row)
        if len(self._queue) >= _QUEUE:
            self.take_in()

    def take_in(self) -> None:
        with self._lock:
            columns: defaultdict[str, list[float]] = defaultdict(list)
            while self._queue:
                row = self.newest = self._queue.popleft()
                for key, value in row.metrics.items():
                    columns[key].append(value)
                self._note_alerts(row.alerts)
            for key, values in columns.items():
                self._series[key].extend(values)

    def show(self) -> list[Entry]:
        """The rows of the table in their order; what they show counts as seen."""
        with self._lock:
            is_new = bool(self._queue)
            self.take_in()
            if is_new:
                self._firing, self._fired = self._fired, set()
            entries = self.entries()
            for entry in entries:
                entry.series.show()
        return entries

    def entries(self) -> list[Entry]:
        """Shown metrics and those that ever alerted, group by group, by priority within."""
        keys = [key for key in (*self._series, *self._alerts) if self._is_shown(key)]
        return [self._entry(key) for key in sorted(set(keys), key=self._place)]

    def by_priority(self) -> list[Entry]:
        """The same rows, most important first whatever their group."""
        return sorted(self.entries(), key=lambda e: (e.spec.priority, self._place(e.key)))

    def _note_alerts(self, alerts: tuple[Alert, ...]) -> None:
        for alert in alerts:
            self._fired.add(alert.id)
            if alert.metric:
                self._alerts[alert.metric][alert.id] = alert
        for alert in self._new_alerts.among(alerts):
            self.messages.append(
                Message(f"{alert.id}: saw {alert.saw}", alert.level, f"try: {alert.advice}")
            )

    def _entry(self, key: str) -> Entry:
        def order(alert: Alert) -> tuple[bool, int, str]:
            return alert.id not in self._firing, urgency(alert.level), alert.id

        alerts = sorted(self._alerts[key].values(), key=order) if key in self._alerts else []
        firing = bool(alerts) and alerts[0].id in self._firing
        return Entry(key, self._spec(key), self._series[key], tuple(alerts), firing)

    def _is_shown(self, key: str) -> bool:
        return key in self._alerts or (self._spec(key).shown and key not in _IN_THE_HEAD)

    def _spec(self, key: str) -> MetricSpec:
        if key not in self._specs:
            self._specs[key] = self._catalogue.find(key) or MetricSpec(key, "")
        return self._specs[key]

    def _place(self, key: str) -> tuple[tuple[int, int], int, int, str]:
        spec = self._spec(key)
        last = len(self._order)
        group = self._groups.get(key.partition("/")[0], (spec.priority, last))
        return group, spec.priority, self._order.get(spec.key, last), key


def _group_order(catalogue: Catalogue) -> dict[str, tuple[int, int]]:
    """A group stands where its most important metric would; known before the first row."""
    order: dict[str, tuple[int, int]] = {}
    for place, spec in enumerate(catalogue):
        group = spec.key.partition("/")[0]
        order[group] = min(order.get(group, (spec.priority, place)), (spec.priority, place))
    return order
