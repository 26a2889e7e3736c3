"""The live table as lines of styled text, fitted to a terminal's width and height.

Laid out by hand: rich's own tables take many milliseconds, during which training would wait.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from spotter.diagnose.alerts import Level
from spotter.sinks.terminal.board import Entry, Message
from spotter.text.numbers import amount, change, count, share, stopwatch

Line = list[tuple[str, str]]
"""Pieces of text, each with the name of a style."""

LEVEL_STYLES: Final[dict[Level, str]] = {
    "critical": "bold red",
    "warning": "yellow",
    "info": "cyan",
}
SPARKLINE_STYLE: Final = "dim cyan"
KEY_METRICS: Final = ("train/score", "eval/score")
_SPARKLINE: Final = 32
_BAR: Final = 32
_NUMBER: Final = 10
_NAME: Final = 28
_ALERT: Final = 24
_NARROW_ALERT: Final = 10
_SPEEDS: Final = 56
_ROOMY: Final = 30
_TIGHT: Final = 16


@dataclass(frozen=True)
class View:
    """Everything one drawing of the table needs."""

    run: str
    what: str
    """Environment and algorithm."""
    entries: Sequence[Entry]
    messages: Sequence[Message]
    elapsed_s: float
    eta_s: float | None
    env_steps: int
    budget: int | None
    fps: float | None
    updates_per_s: float | None
    rollout: tuple[int, int] | None
    """Vector steps collected and due; None once the run is over."""
    pause: str = ""
    """What training waits for."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(options.max_width, options.size.height - 1):
            segments = [Segment(text, console.get_style(style)) for text, style in line]
            yield from Segment.adjust_line_length(segments, options.max_width, pad=False)
            yield Segment.line()

    def lines(self, width: int, height: int) -> list[Line]:
        """At most `height` lines; the least important rows give way."""
        head = self._head(width)
        bars = self._bars(width)
        roomy = height >= _ROOMY
        feed = 4 if roomy else 3 if height >= _TIGHT else 2
        gap: list[Line] = [[]] if roomy else []
        space = height - len(head) - len(bars) - feed - 2 * len(gap) - 1
        rows = _rows(self.entries, max(space, 1), width)
        lines = [*head, *gap, *rows, *gap, *bars, *_feed(self.messages, feed, width)]
        return lines[: max(height, 1)]

    def _head(self, width: int) -> list[Line]:
        who: Line = [(f" {self.run}", "bold"), ("  " if self.run else "", ""), (self.what, "")]
        speeds = [
            *([] if self.fps is None else [(f"{amount(self.fps, 0)} steps/s", "")]),
            *([] if self.updates_per_s is None else [(_rate(self.updates_per_s), "")]),
            (stopwatch(self.elapsed_s), "blue"),
            *([] if self.eta_s is None else [(f"ETA {stopwatch(self.eta_s)}", "")]),
        ]
        pace: Line = []
        for piece in speeds:
            pace += [(" · ", "dim"), piece] if pace else [piece]
        # by the widest they get, or the line would wrap and unwrap while numbers change
        if _width(who) + _SPEEDS > width:
            return [who, [(" ", ""), *pace]]
        return [[*who, (" " * (width - _width(who) - _width(pace) - 1), ""), *pace]]

    def _bars(self, width: int) -> list[Line]:
        bars = []
        if self.rollout is not None and self.pause:
            bars.append([(f" {'now':<8}", "dim"), (f"{self.pause} …", "")])
        elif self.rollout is not None:
            bars.append(_bar("rollout", *self.rollout, "vector steps", width))
        bars.append(_bar("run", self.env_steps, self.budget or 0, "env steps", width))
        return bars


def _rate(updates_per_s: float) -> str:
    return f"{amount(updates_per_s, 1 if updates_per_s < 100 else 0)} updates/s"


def _bar(label: str, done: int, due: int, unit: str, width: int) -> Line:
    """A bar where it is known how much is due and there is room, the count in any case."""
    head = (f" {label:<8}", "dim")
    if due <= 0:
        return [head, (f"{count(done)} {unit}", "")]
    fraction = min(max(done / due, 0.0), 1.0)
    text, percent = f"{count(done)} of {count(due)} {unit}", f"  {share(fraction)}"
    # by the widest they get, or the bar would shrink as it fills
    widest = 2 * len(count(due)) + len(f" of  {unit}  100 %")
    size = _clamp(width - len(head[0]) - 2 - widest, 0, _BAR)
    filled = int(fraction * size)
    bar: Line = [("━" * filled, "blue"), ("─" * (size - filled), "dim"), ("  ", "")]
    return [head, *(bar if size else []), (text, ""), (percent, "dim")]


def _rows(entries: Sequence[Entry], space: int, width: int) -> list[Line]:
    kept = _most_important(entries, space)
    group = max((len(entry.group) for entry in kept), default=0)
    name = _clamp(max((cell_len(entry.name) for entry in kept), default=0), len("metric"), _NAME)
    ids = max((len(_alert_text(entry)) for entry in kept), default=0)
    before = 1 + group + 1 + name + 1 + _NUMBER + 1 + _NUMBER + 2
    sparkline = _clamp(width - before - 2 - _clamp(ids, _NARROW_ALERT, _ALERT), 0, _SPARKLINE)
    room = width - before - sparkline - 2
    alert = "alert" if room >= len("alert") else ""
    title = (
        f" {'':<{group}} {'metric':<{name}} {'value':>{_NUMBER}} {'change':>{_NUMBER}}  "
        f"{'trend' if sparkline else '':<{sparkline}}  {alert}"
    )
    missing = len(entries) - len(kept)
    hidden = f"  ({missing} hidden)" if missing else ""
    lines: list[Line] = [[(title[: width - len(hidden)], "dim"), (hidden, "yellow")]]
    above = ""
    for entry in kept:
        shown_group = "" if entry.group == above else entry.group
        above = entry.group
        lines.append(
            [
                (f" {shown_group:<{group}} ", "dim"),
                (set_cell_size(entry.name, name) + " ", _name_style(entry)),
                *_numbers(entry),
                ("  ", ""),
                (f"{entry.series.sparkline(sparkline):<{sparkline}}  ", SPARKLINE_STYLE),
                *_alerts(entry, room),
            ]
        )
    return lines


def _most_important(entries: Sequence[Entry], space: int) -> Sequence[Entry]:
    if len(entries) <= space:
        return entries
    # whatever ever alerted comes first, and stays, so that the table does not jump
    ranked = sorted(entries, key=lambda entry: (not entry.alerts, entry.spec.priority))
    kept = {entry.key for entry in ranked[:space]}
    return [entry for entry in entries if entry.key in kept]


def _name_style(entry: Entry) -> str:
    weight = "bold" if entry.key in KEY_METRICS else ""
    return f"{weight} {LEVEL_STYLES[entry.alerts[0].level]}" if entry.firing else weight


def _numbers(entry: Entry) -> Line:
    """Value and change; the change is coloured where the catalogue says which way is better."""
    series, precision = entry.series, entry.spec.precision
    if series.is_empty:
        return [(f"{'-':>{_NUMBER}} {'':>{_NUMBER}}", "dim")]
    value_style = "bold" if entry.key in KEY_METRICS else ""
    if not math.isfinite(series.last):
        value_style = "bold red"
    difference = change(series.previous, series.last, precision)
    return [
        (f"{amount(series.last, precision):>{_NUMBER}}", value_style),
        (f" {difference:>{_NUMBER}}", _change_style(entry, difference)),
    ]


def _change_style(entry: Entry, difference: str) -> str:
    if entry.spec.better is None or difference in ("", "0"):
        return "dim"
    rising = not difference.startswith("-")
    return "green" if rising == (entry.spec.better == "high") else "red"


def _alerts(entry: Entry, room: int) -> Line:
    """The worst one that fires now in its colour; what is over stays, dim."""
    if not entry.alerts:
        return []
    text = _fitted(_alert_text(entry), room)
    return [(text, LEVEL_STYLES[entry.alerts[0].level] if entry.firing else "dim")]


def _alert_text(entry: Entry) -> str:
    if not entry.alerts:
        return ""
    more = f" +{len(entry.alerts) - 1}" if len(entry.alerts) > 1 else ""
    return entry.alerts[0].id + more


def _feed(messages: Sequence[Message], space: int, width: int) -> list[Line]:
    """The newest messages that fit, in the order they came; an alert takes a second line."""
    kept: list[list[Line]] = []
    for message in reversed(messages):
        style = LEVEL_STYLES[message.level] if message.level else "yellow"
        label = "alert" if message.level else "note"
        lines: list[Line] = [[(f" {label:<8}", style), (_fitted(message.text, width - 9), "")]]
        if message.advice:
            lines.append([(" " * 9, ""), (_fitted(message.advice, width - 9), "dim")])
        if sum(map(len, kept)) + len(lines) > space:
            break
        kept.insert(0, lines)
    return [line for lines in kept for line in lines]


def _fitted(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)) + "…"


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _width(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)
