"""What servers remember of the runs they were asked about, so that a file is read only once.

Shared by all pages and tools of a process, safe in threads. Everything is as it is now: each
question reads on from where the last one ended.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from spotter.rundir.alerts import Raised
from spotter.rundir.files import line_object
from spotter.rundir.history import Doubles, History, Search
from spotter.rundir.lines import Tail
from spotter.rundir.run import Run
from spotter.rundir.view import fps_of, wall_fps_of

T = TypeVar("T")

SCORE: Final = "train/score"
_HISTORIES: Final = 32
"""A run of 5,000 updates takes 3 MB."""
_SEARCHES: Final = 256
"""Of a long run 80 kB; the page that compares draws 50 runs."""
_ABOUT_ALERTS: Final = re.compile(rb'"event": ?"(?:alerts?|resume)"')


@dataclass(frozen=True)
class Glance:
    """A run as a list shows it."""

    scores: Doubles
    fps: float | None
    wall_fps: float | None
    alerts: tuple[str, ...]


class Histories:
    """The metrics of the runs looked at lately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: OrderedDict[Hashable, History] = OrderedDict()
        self._searches: OrderedDict[Hashable, Search] = OrderedDict()
        self._glances: dict[Hashable, _Glances] = {}

    def of(self, run: Run) -> History:
        """Every metric."""
        path = run.metrics_path
        with self._lock:
            return _kept(self._histories, path, lambda: History(path), _HISTORIES).refresh()

    def search(self, run: Run, key: str) -> Search:
        """One metric, and the names of all; reads without parsing."""
        path = run.metrics_path
        with self._lock:
            found = _kept(
                self._searches, (path, key), lambda: Search(path, key, with_names=True), _SEARCHES
            )
            return found.refresh()

    def glance(self, run: Run) -> Glance:
        """The little a list of many runs shows of each; reads without parsing."""
        with self._lock:
            return self._glances.setdefault(run.folder, _Glances(run)).refresh()


def _kept(known: "OrderedDict[Hashable, T]", key: Hashable, make: Callable[[], T], most: int) -> T:
    """The one used last comes last; the first goes where there are too many."""
    found = known[key] = known.pop(key, None) or make()
    while len(known) > most:
        known.popitem(last=False)
    return found


class _Glances:
    """Follows the score, the last row, and the alerts of one run."""

    def __init__(self, run: Run) -> None:
        self._rows, self._events = Search(run.metrics_path, SCORE), Tail(run.events_path)
        self._alerts = Raised()

    def refresh(self) -> Glance:
        rows = self._rows.refresh()
        again, blocks = self._events.read()
        if again:
            self._alerts = Raised()
        for block in blocks:
            for line in block.splitlines():
                if _ABOUT_ALERTS.search(line) and (event := line_object(line)):
                    self._alerts.add(event)
        row: dict[str, Any] = rows.last_row
        return Glance(rows.curve.values, fps_of(row), wall_fps_of(row), tuple(self._alerts.ids))
