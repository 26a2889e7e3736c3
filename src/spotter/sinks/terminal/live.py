"""The live table on a terminal: drawn in place by a thread of its own, four times a second."""

import atexit
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from rich.console import Console as Terminal
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from spotter.sinks.base import Ending, Row, Start
from spotter.sinks.terminal import summary
from spotter.sinks.terminal.board import Board, Message
from spotter.sinks.terminal.table import View
from spotter.text.events import evaluation_sentence, resumed, sentence
from spotter.types import Evaluation

_PER_SECOND: Final = 4


class LiveTable:
    """Takes rows as they come; looks at them only when it draws."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._seen: Row | None = None
        self._seen_at = clock()
        self._start: Start | None = None
        self._live: Live | None = None
        self._is_over = False

    def open(self, start: Start) -> None:
        self._start = start
        self._seen_at = self._clock()
        self._board = Board(start.catalogue, self._clock)
        if start.env_steps:
            self.note(resumed(start.env_steps))
        if start.summary:
            self._terminal.print(summary.Blocks(start.summary))
        self._live = Live(
            get_renderable=self.view,
            console=self._terminal,
            refresh_per_second=_PER_SECOND,
            vertical_overflow="crop",
        )
        atexit.register(self._restore)
        self._live.start()

    def note(self, text: str) -> None:
        self._board.messages.append(Message(text))

    def row(self, row: Row) -> None:
        self._board.add(row)

    def evaluation(self, evaluation: Evaluation) -> None:
        if evaluation.seeds == "test":
            self.note(evaluation_sentence(evaluation))

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        text = sentence(kind, data)
        if text:
            self.note(text)

    def close(self, ending: Ending | None) -> None:
        self._is_over = ending is not None
        self._restore()
        if ending is None or self._start is None:
            return
        for part in self._farewell(self._start, ending):
            self._terminal.print(part, highlight=False)

    def view(self) -> RenderableType:
        """The table as it stands now."""
        start = self._start
        assert start is not None, "the table is drawn after open()"
        entries = self._board.show()
        newest = self._board.newest
        metrics = newest.metrics if newest else {}
        if newest is not self._seen:
            self._seen, self._seen_at = newest, self._clock()
        since_s = self._clock() - self._seen_at
        eta_s = None if self._is_over else metrics.get("time/eta_s")
        config = start.config
        return View(
            run=start.run.id if start.run else "",
            what=f"{config.env.id} · {config.algo.name}",
            entries=entries,
            messages=() if self._is_over else tuple(self._board.messages),
            elapsed_s=metrics.get("time/elapsed_s", 0.0) + since_s,
            eta_s=None if eta_s is None else max(0.0, eta_s - since_s),
            env_steps=newest.env_steps if newest else start.env_steps,
            budget=config.budget.env_steps,
            fps=metrics.get("time/fps"),
            updates_per_s=metrics.get("time/updates_per_s"),
            rollout=None if self._is_over else start.rollout(),
            pause=start.pause(),
        )

    def _farewell(self, start: Start, ending: Ending) -> list[RenderableType]:
        parts: list[RenderableType] = [summary.MetricSummary(self._board.by_priority())]
        notes = [Text(f" note: {m.text}") for m in self._board.messages if m.level is None]
        parts += [*notes, Text("")] if notes else []
        if ending.alerts:
            parts.append(summary.alert_list(ending.alerts))
        parts.append(summary.Verdict.of(start, ending, self._board.newest).box())
        return parts

    def _restore(self) -> None:
        """Stop drawing, leave the last table, and show the cursor whatever happens."""
        atexit.unregister(self._restore)
        live, self._live = self._live, None
        if live is None:
            return
        try:
            live.stop()
        finally:
            self._terminal.show_cursor(True)
