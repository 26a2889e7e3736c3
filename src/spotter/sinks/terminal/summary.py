"""What stands before and after a run: the blocks at the start, the numbers and verdict at the end.

Made of rich's own parts, since nothing here is drawn more than once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import ROUNDED
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from spotter.diagnose.alerts import AlertCount
from spotter.intervals import Interval
from spotter.sinks.base import Ending, Row, Start
from spotter.sinks.terminal.board import Entry
from spotter.sinks.terminal.series import Series
from spotter.sinks.terminal.table import LEVEL_STYLES, SPARKLINE_STYLE
from spotter.text.numbers import (
    amount,
    count,
    duration,
    number,
    often,
    plural,
    plus_minus,
    score,
    speed,
)
from spotter.types import Evaluation

_REASONS: Final = {
    "budget": "budget spent",
    "interrupted": "interrupted by the user",
    "terminated": "asked to stop by the system",
    "hangup": "the terminal was closed",
    "alert": "an alert asked for it (alerts.actions)",
}
_ASKED: Final = ("interrupted", "terminated", "hangup")
_LEAST_WANTED: Final = ("std", "min", "mean", "max")
_SPARKLINE: Final = 32
_GAP: Final = 3
_BLOCK: Final = 32
"""Narrower than this, with its gap, a block cannot be read."""


@dataclass(frozen=True)
class Blocks:
    """Titled lists of label and text, as many side by side as the width allows."""

    blocks: Mapping[str, Mapping[str, str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        tables = [_block(title, block) for title, block in self.blocks.items()]
        wide = [Measurement.get(console, options, table).maximum + _GAP for table in tables]
        beside = options.max_width // _BLOCK
        if sum(wide) - _GAP <= options.max_width:
            beside = len(tables)
        for at in range(0, len(tables), max(beside, 1)):
            grid = Table.grid(padding=(0, 0, 0, _GAP), pad_edge=False)
            grid.add_row(*tables[at : at + max(beside, 1)])
            yield grid
            yield Text("")


def _block(title: str, block: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(f" {title}", style="bold"), "")
    for label, text in block.items():
        table.add_row(Text(f" {label}", style="dim"), Text(text))
    return table


@dataclass(frozen=True)
class MetricSummary:
    """Each metric over the whole run, in the order given; the trend takes what width is left."""

    entries: Sequence[Entry]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        entries = [entry for entry in self.entries if not entry.series.is_empty]
        name = max((len(entry.key) for entry in entries), default=0)
        room = options.max_width - 1 - name
        columns = {head: [head, *texts] for head, texts in _statistics(entries).items()}
        widths = {head: max(map(len, column)) for head, column in columns.items()}
        dropped = []
        for head in _LEAST_WANTED:
            if sum(width + 2 for width in widths.values()) <= room:
                break
            del widths[head]
            dropped.append(head)
        left = room - sum(width + 2 for width in widths.values()) - 2
        trend = max(0, min(_SPARKLINE, left))
        yield Text("")
        heads = "".join(f"  {head:>{width}}" for head, width in widths.items())
        title = "  trend" if left >= len("trend") else ""
        yield Text(f" {'metric':<{name}}{heads}{title}", style="dim", no_wrap=True)
        for place, entry in enumerate(entries, 1):
            line = Text(f" {entry.key:<{name}}", no_wrap=True, overflow="crop")
            for head, width in widths.items():
                text = columns[head][place]
                line.append(f"  {text:>{width}}", style="red" if "nan" in text else "")
            line.append(f"  {entry.series.sparkline(trend)}", style=SPARKLINE_STYLE)
            yield line
        if dropped:
            yield Text(f" left out for lack of room: {', '.join(dropped)}", style="dim")
        yield Text("")


def _statistics(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """A text for each entry under each head."""

    def texts(value: Callable[[Series], float]) -> list[str]:
        return [amount(value(entry.series), entry.spec.precision) for entry in entries]

    return {
        "min": texts(lambda series: series.low),
        "max": texts(lambda series: series.high),
        "mean": texts(lambda series: series.mean),
        "std": texts(lambda series: series.std),
        "last": texts(lambda series: series.last),
    }


def alert_list(alerts: Sequence[AlertCount]) -> RenderableType:
    """The same words as `alert_lines`, coloured by level."""
    parts: list[RenderableType] = [Text(" Alerts", style="bold")]
    for alert in alerts:
        head, *rest = _alert_words(alert)
        parts.append(Text(f" {head}", style=LEVEL_STYLES[alert.last.level]))
        parts.extend(Padding(Text(line), (0, 0, 0, 3)) for line in rest)
    parts.append(Text(""))
    return Group(*parts)


def alert_lines(alerts: Sequence[AlertCount]) -> Iterator[str]:
    for alert in alerts:
        head, *rest = _alert_words(alert)
        yield f"alert {head}"
        yield from (f"  {line}" for line in rest)


def _alert_words(alert: AlertCount) -> tuple[str, ...]:
    last = alert.last
    when = f"env steps {count(alert.first_env_steps)} to {count(alert.last_env_steps)}"
    return (
        f"{last.id} ({last.level}): {often(alert.updates, alert.share)}, {when}",
        f"saw {last.saw}",
        f"try: {last.advice}",
        f"see: {last.link}",
    )


@dataclass(frozen=True)
class Verdict:
    """How a run ended, in a word and a list of facts."""

    word: str
    style: str
    facts: Mapping[str, str]

    @classmethod
    def of(cls, start: Start, ending: Ending, newest: Row | None) -> "Verdict":
        word, style = _outcome(start, ending)
        return cls(word, style, _facts(start, ending, newest))

    def box(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for label, text in self.facts.items():
            table.add_row(label, Text(text))
        panel = Panel.fit(
            table,
            title=Text(f" {self.word} ", style=f"bold {self.style}"),
            border_style=self.style,
            box=ROUNDED,
            padding=(0, 2),
        )
        return Padding(panel, (0, 0, 0, 1))

    def lines(self) -> Iterator[str]:
        yield self.word
        width = max(map(len, self.facts))
        yield from (f"  {label:<{width}}  {text}" for label, text in self.facts.items())


def _outcome(start: Start, ending: Ending) -> tuple[str, str]:
    if ending.reason in _ASKED:
        return "INTERRUPTED", "yellow"
    if ending.test is None or start.threshold is None:
        return "FINISHED", "blue"
    return ("SOLVED", "green") if ending.solved else ("NOT SOLVED", "red")


def _speed(newest: Row | None) -> str:
    """Over the whole run, as everybody else says it."""
    metrics = newest.metrics if newest else {}
    train_s, wall_fps = metrics.get("time/train_s"), metrics.get("time/wall_fps")
    if newest is None or not train_s or wall_fps is None:
        return ""
    return speed(newest.env_steps / train_s, wall_fps)


def _over(found: Interval, noun: str) -> str:
    return f"{plus_minus(found.mean, found.half)} over {plural(found.count, noun)}"


def _cut(test: Evaluation) -> str:
    return f"{sum(test.truncated)} of {plural(len(test.truncated), 'episode')}"


def _facts(start: Start, ending: Ending, newest: Row | None) -> dict[str, str]:
    facts = {"test score": "not scored"}
    if ending.test is not None:
        facts["test score"] = _over(ending.test.interval, "held-out episode")
    if start.threshold is not None:
        facts["threshold"] = number(start.threshold)
        if ending.test is not None:
            gap = ending.test.score - start.threshold
            facts["gap"] = f"{'' if gap < 0 else '+'}{score(gap)}"
    if ending.test is not None and any(ending.test.truncated):
        facts["cut"] = f"{_cut(ending.test)} reached the time limit"
    if ending.best is not None:
        at = "" if ending.kept_at is None else f", at {count(ending.kept_at)} env steps"
        facts["best evaluation"] = f"{_over(ending.best, 'episode')}{at}"
    if ending.last is not None:
        facts["last weights"] = f"{_over(ending.last, 'episode')}; the best are kept"
    if newest is not None and "train/score" in newest.metrics:
        facts["training score"] = score(newest.metrics["train/score"])
    facts["stopped"] = _REASONS.get(ending.reason, ending.reason)
    facts["env steps"] = count(ending.env_steps)
    facts["time"] = duration(ending.seconds)
    if speed_words := _speed(newest):
        facts["speed"] = speed_words
    if start.run is not None:
        facts["run"] = str(start.run.folder)
    return facts
