"""Plain lines on the terminal: a header, progress about once a second, every evaluation."""

from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from rich.console import Console as Terminal

from spotter.recorder import Ending, Row, Start
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


class Console:
    """Readable progress for a person, and for a log file."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal = terminal or Terminal(highlight=False)
        self._last = 0.0

    def open(self, start: Start) -> None:
        config = start.config
        steps = config.budget.env_steps
        budget = f"{steps:,} env steps" if steps else "no step limit"
        self._terminal.print(
            f"[bold]{config.env.id}[/] · {config.algo.name} · {config.env.count} copies · "
            f"{budget} · seed {config.seed}"
        )
        names = "".join(f"{name:>10}" for name, _, _ in _COLUMNS)
        self._terminal.print(f"[dim]{'env steps':>12}{names}[/]")

    def note(self, text: str) -> None:
        self._terminal.print(f"[yellow]note:[/] {text}")

    def row(self, row: Row) -> None:
        if monotonic() - self._last < _EVERY_S:
            return
        self._last = monotonic()
        cells = (
            form.format(row.metrics[key]) if key in row.metrics else "-"
            for _, key, form in _COLUMNS
        )
        self._terminal.print(f"{row.env_steps:>12,}{''.join(f'{cell:>10}' for cell in cells)}")

    def evaluation(self, evaluation: Evaluation) -> None:
        wanted = "" if evaluation.threshold is None else f" (solved at {evaluation.threshold:g})"
        colour = "green" if evaluation.solved else "cyan"
        self._terminal.print(
            f"{evaluation.env_steps:>12,}  [{colour}]{evaluation.seeds} score "
            f"{evaluation.score:.2f}[/] over {len(evaluation.scores)} held-out episodes{wanted}"
        )

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        pass

    def close(self, ending: Ending | None) -> None:
        pass
