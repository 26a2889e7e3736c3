"""Progress as plain lines, for log files and pipes: no colours, no cursor movement."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from rich.console import Console as Terminal
from rich.text import Text

from spotter.sinks.base import Ending, Row, Start
from spotter.sinks.terminal import summary
from spotter.sinks.terminal.board import NewAlerts
from spotter.text.events import evaluation_sentence, resumed, sentence
from spotter.types import Evaluation

_EVERY_S: Final = 1.0
_COLUMNS: Final = (
    ("score", "train/score", "{:.1f}"),
    ("length", "train/length", "{:.0f}"),
    ("entropy", "policy/entropy", "{:.3f}"),
    ("kl", "policy/approx_kl", "{:.4f}"),
    ("expl.var", "value/explained_variance", "{:.2f}"),
    ("steps/s", "time/fps", "{:.0f}"),
)


class Plain:
    """A line about once a second, and one for whatever else is worth it."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._next = clock()
        self._new_alerts = NewAlerts(clock)
        self._start: Start | None = None
        self._newest: Row | None = None

    def open(self, start: Start) -> None:
        self._start = start
        config = start.config
        self._print(
            f"{config.env.id} · {config.algo.name} · {config.env.count} envs · "
            f"{config.budget} · seed {config.seed}"
        )
        for title, block in start.summary.items():
            self._print(f"{title}: {' · '.join(f'{name} {text}' for name, text in block.items())}")
        if start.env_steps:
            self.note(resumed(start.env_steps))
        self._print(f"{'env steps':>12}{''.join(f'{name:>10}' for name, _, _ in _COLUMNS)}")

    def note(self, text: str) -> None:
        self._print(f"note: {text}")

    def row(self, row: Row) -> None:
        self._newest = row
        for alert in self._new_alerts.among(row.alerts):
            self._print(f"alert {alert.id}: saw {alert.saw}; try: {alert.advice}")
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        cells = (
            form.format(row.metrics[key]) if key in row.metrics else "-"
            for _, key, form in _COLUMNS
        )
        self._print(f"{row.env_steps:>12,}{''.join(f'{cell:>10}' for cell in cells)}")

    def evaluation(self, evaluation: Evaluation) -> None:
        self._print(f"{evaluation.env_steps:>12,}  {evaluation_sentence(evaluation)}")

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        text = sentence(kind, data)
        if text:
            self.note(text)

    def close(self, ending: Ending | None) -> None:
        if ending is None or self._start is None:
            return
        for line in summary.alert_lines(ending.alerts):
            self._print(line)
        for line in summary.Verdict.of(self._start, ending, self._newest).lines():
            self._print(line)

    def _print(self, line: str) -> None:
        encoding = self._terminal.encoding
        safe = line.encode(encoding, "replace").decode(encoding)
        self._terminal.print(Text(safe), soft_wrap=True)
