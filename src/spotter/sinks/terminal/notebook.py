"""Progress in a notebook: one line with a bar that is drawn again in place, and nothing else.

How a run ended is in its result, which a notebook displays by itself.
"""

import html
import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final, Protocol

from spotter.sinks.base import Ending, Row, Start
from spotter.sinks.terminal.board import NewAlerts
from spotter.text.numbers import count, duration, plus_minus, score
from spotter.types import Evaluation

_EVERY_S: Final = 0.5
_MOST_MESSAGES: Final = 5


class Handle(Protocol):
    """What IPython gives for something shown that can be changed."""

    def update(self, shown: object) -> None: ...


class Shown:
    """A line of text, with markup where a notebook can draw it."""

    def __init__(self, text: str, markup: str) -> None:
        self._text = text
        self._markup = markup

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._markup


def in_notebook() -> bool:
    """Whether output goes to a Jupyter kernel, whatever draws it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _display(shown: Shown) -> Handle:
    from IPython.display import display

    handle: Handle = display(shown, display_id=True)  # type: ignore[no-untyped-call]
    return handle


class NotebookLine:
    """One line per run: bar, env steps, scores, speed and what is left; messages below it."""

    def __init__(
        self,
        clock: Callable[[], float] = monotonic,
        display: Callable[[Shown], Handle] = _display,
    ) -> None:
        self._clock = clock
        self._display = display
        self._next = clock()
        self._new_alerts = NewAlerts(clock)
        self._handle: Handle | None = None
        self._newest: Row | None = None
        self._evaluation = ""
        self._messages: dict[str, None] = {}

    def open(self, start: Start) -> None:
        self._start = start
        self._show()

    def note(self, text: str) -> None:
        self._messages[text] = None
        self._show()

    def row(self, row: Row) -> None:
        self._newest = row
        for alert in self._new_alerts.among(row.alerts):
            self._messages[f"alert {alert.id}: saw {alert.saw}; try: {alert.advice}"] = None
        if self._clock() >= self._next:
            self._show()

    def evaluation(self, evaluation: Evaluation) -> None:
        found = evaluation.interval
        self._evaluation = f"{evaluation.seeds} {plus_minus(found.mean, found.half)}"
        self._show()

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        """Checkpoints, videos and changes are in the report."""

    def close(self, ending: Ending | None) -> None:
        words = "stopped by an error"
        if ending is not None:
            words = f"{ending.reason} after {duration(ending.seconds)}"
        self._show(words)

    def _show(self, ended: str = "") -> None:
        self._next = self._clock() + _EVERY_S
        shown = Shown(self._text(ended), self._markup(ended))
        if self._handle is None:
            self._handle = self._display(shown)
        else:
            self._handle.update(shown)

    @property
    def _done(self) -> float | None:
        """The share of the budget that is spent; None where there is no budget in env steps."""
        budget = self._start.config.budget.env_steps
        return None if not budget else min(1.0, self._env_steps / budget)

    @property
    def _env_steps(self) -> int:
        return self._newest.env_steps if self._newest else self._start.env_steps

    def _parts(self, ended: str) -> list[str]:
        config, metrics = self._start.config, self._newest.metrics if self._newest else {}
        of_all = f" of {count(config.budget.env_steps)}" if config.budget.env_steps else ""
        parts = [
            f"{config.env.id} · {config.algo.name}",
            f"{count(self._env_steps)}{of_all} env steps",
        ]
        if "train/score" in metrics:
            parts.append(f"train {score(metrics['train/score'])}")
        if self._evaluation:
            parts.append(self._evaluation)
        if ended:
            return [*parts, ended]
        if "time/fps" in metrics:
            parts.append(f"{metrics['time/fps']:,.0f} steps/s")
        if metrics.get("time/eta_s") is not None:
            parts.append(f"{duration(metrics['time/eta_s'])} left")
        return parts

    def _text(self, ended: str) -> str:
        done = "" if self._done is None else f"{self._done:4.0%} "
        return "\n".join([done + " · ".join(self._parts(ended)), *self._latest()])

    def _markup(self, ended: str) -> str:
        bar = ""
        if self._done is not None:
            bar = (
                f'<progress value="{self._done:.3f}" max="1" '
                'style="width:12em;vertical-align:middle"></progress> '
            )
        lines = [html.escape(line) for line in self._latest()]
        below = "".join(f'<div style="opacity:0.75">{line}</div>' for line in lines)
        return f"<div>{bar}{html.escape(' · '.join(self._parts(ended)))}</div>{below}"

    def _latest(self) -> list[str]:
        return list(self._messages)[-_MOST_MESSAGES:]
