"""Alerts of many runs in the order they were raised, a page at a time.

Those a resume went back before no longer belong to their run and are left out, as everywhere.

A cursor is the time of the last alert that was shown, and how many alerts of that very millisecond
were, by run: the next page begins behind it, and skips none that was written meanwhile.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from spotter.launch.logs import changed_at
from spotter.mcp.answers import as_text, clip, plain
from spotter.pages.digest.tokens import tokens
from spotter.rundir import identity
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.types import UserError

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")
_MOST: Final = 200
_CLOCKS_S: Final = 60.0
"""By how much the clock of a file system may be behind."""

Alert = dict[str, Any]


@dataclass(frozen=True)
class Cursor:
    """Where the last look ended."""

    time: str = ""
    seen: Mapping[str, int] = field(default_factory=dict)
    """Run -> how many of its alerts of exactly that time were shown."""

    @classmethod
    def read(cls, text: str) -> "Cursor":
        time, _, counts = text.partition("#")
        try:
            pairs = [pair.split(":") for pair in counts.split(",") if pair]
            cursor = cls(time, {run: int(count) for run, count in pairs})
            cursor.seconds()
        except ValueError:
            raise UserError(
                f"since: {text[:60]!r} is no cursor; give the `cursor` of an earlier answer"
            ) from None
        return cursor

    def seconds(self) -> float:
        """Since 1970; 0 at the very beginning."""
        if not self.time:
            return 0.0
        when = datetime.fromisoformat(self.time)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()

    def after(self, shown: list[Alert]) -> "Cursor":
        if not shown:
            return self
        time = shown[-1]["time"]
        before = self.seen if time == self.time else {}
        now = Counter(alert["run"] for alert in shown if alert["time"] == time)
        return Cursor(time, dict(Counter(before) + now))

    def __str__(self) -> str:
        if not self.seen:
            return self.time
        return f"{self.time}#{','.join(f'{run}:{count}' for run, count in self.seen.items())}"


def has_news(run: Run, cursor: Cursor) -> bool:
    """Whether anything was written into its events since."""
    return changed_at(run.events_path) >= cursor.seconds() - _CLOCKS_S


def page(runs: Iterable[Run], cursor: Cursor, limit: int) -> dict[str, object]:
    """The first alerts behind a cursor, as many as so many tokens hold, and the next cursor."""
    found = sorted(
        (alert for run in runs for alert in _behind(run, cursor)),
        key=lambda alert: (alert["time"], alert["run"]),
    )
    shown = found[:_MOST]
    while True:
        data: dict[str, object] = {"alerts": shown, "cursor": str(cursor.after(shown))}
        if len(shown) < len(found):
            count = f"{len(shown)} of {len(found)} shown, the earliest"
            data["cut"] = f"alerts: {count}; ask again with since=cursor"
        if len(shown) <= 1 or tokens(as_text(plain(data))) <= limit:
            return data
        shown = shown[: len(shown) // 2]


def _behind(run: Run, cursor: Cursor) -> Iterator[Alert]:
    """In the order they were written. What claims to be of the future is shown when that comes."""
    known, now = cursor.seen.get(run.id, 0), identity.now()
    for event in RunView(run).raised:
        time = str(event.get("time", ""))
        if not _TIME.fullmatch(time):
            continue
        if time == cursor.time and known:
            known -= 1
        elif cursor.time <= time <= now:
            yield _described(run.id, time, event)


def _described(run: str, time: str, event: Mapping[str, object]) -> Alert:
    steps = event.get("env_steps")
    return {
        "time": time,
        "run": run,
        "id": clip(str(event.get("id", "")), 80),
        "level": clip(str(event.get("level", "")), 20),
        "env_steps": steps if isinstance(steps, int | float) else None,
        "saw": clip(str(event.get("saw", ""))),
        "advice": clip(str(event.get("advice", ""))),
    }
