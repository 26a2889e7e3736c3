"""What a person sees of a run: a live table on a terminal, one live line in a notebook, plain lines
anywhere else."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

from rich.console import Console as Terminal
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from spotter.sinks.base import Ending, Row, Sink, Start
from spotter.sinks.terminal.live import LiveTable
from spotter.sinks.terminal.notebook import NotebookLine, in_notebook
from spotter.sinks.terminal.plain import Plain
from spotter.text.numbers import printable
from spotter.types import Evaluation


class Console:
    """Readable progress, in the way the terminal allows."""

    def __init__(
        self, terminal: Terminal | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        is_notebook = terminal is None and in_notebook()
        self._terminal = terminal or _standard_output()
        way = LiveTable if _redraws(self._terminal) else Plain
        self._way: Sink = NotebookLine(clock) if is_notebook else way(self._terminal, clock)

    def open(self, start: Start) -> None:
        with self._while_it_lasts():
            self._way.open(start)

    def note(self, text: str) -> None:
        with self._while_it_lasts():
            self._way.note(text)

    def row(self, row: Row) -> None:
        with self._while_it_lasts():
            self._way.row(row)

    def evaluation(self, evaluation: Evaluation) -> None:
        with self._while_it_lasts():
            self._way.evaluation(evaluation)

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        with self._while_it_lasts():
            self._way.event(kind, data)

    def close(self, ending: Ending | None) -> None:
        with self._while_it_lasts():
            self._way.close(ending)

    @contextmanager
    def _while_it_lasts(self) -> Iterator[None]:
        """A terminal may go away (a lost connection, a full disk): the run continues without it."""
        try:
            yield
        except OSError:
            self._terminal.quiet = True


class Output(Terminal):
    """Where lines and tables go. What they hold may come from a stranger's file, so it cannot
    command the terminal; rich itself would let most of it through."""

    def on_broken_pipe(self) -> None:
        raise  # rich calls this where it has caught the error, and would end the process

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text
            if segment.control or text.isprintable():
                yield segment
            else:
                yield Segment(printable(text), segment.style)


def _standard_output() -> Terminal:
    # FORCE_COLOR makes rich call a pipe a terminal; it asks for colours, not for cursor movement
    return Output(highlight=False, force_interactive=None if sys.stdout.isatty() else False)


def _redraws(terminal: Terminal) -> bool:
    """Whether lines can be redrawn, with bars and lines beyond ASCII."""
    return terminal.is_terminal and terminal.is_interactive and terminal.encoding.startswith("utf")
