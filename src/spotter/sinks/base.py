"""What a sink is, and what it is given: how a run starts, a row for every update, how it ended.

A sink writes numbers somewhere else: a file, a screen, a tracker. The recorder calls it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from spotter.config import RunConfig
from spotter.diagnose.alerts import Alert, AlertCount
from spotter.intervals import Interval
from spotter.metrics.spec import Catalogue
from spotter.rundir.run import Run
from spotter.types import Evaluation


@dataclass(frozen=True, slots=True)
class Start:
    """What sinks receive before the first row."""

    config: RunConfig
    catalogue: Catalogue
    run: Run | None
    threshold: float | None
    summary: Mapping[str, Mapping[str, str]]
    """Blocks for the reader (Run, Environment, Training), each label -> text."""
    env_steps: int
    """Where a resumed run continues; 0 for a new one."""
    rollout: Callable[[], tuple[int, int]]
    """Vector steps collected and due in the present rollout; may be asked from another thread."""
    pause: Callable[[], str] = str
    """What training waits for now, in words; empty while it trains. Any thread."""


@dataclass(frozen=True, slots=True)
class Row:
    """One update as every sink sees it."""

    AXES: ClassVar = ("update", "env_steps", "vector_steps")

    update: int
    env_steps: int
    vector_steps: int
    metrics: Mapping[str, float]
    alerts: tuple[Alert, ...] = ()

    def as_data(self) -> dict[str, object]:
        """As it stands in metrics.jsonl."""
        places = (self.update, self.env_steps, self.vector_steps)
        axes = dict(zip(self.AXES, places, strict=True))
        fired = {"alerts": [alert.id for alert in self.alerts]} if self.alerts else {}
        return {**axes, **self.metrics, **fired}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    reason: str
    test: Evaluation | None
    solved: bool
    best: Interval | None
    """Score of the weights that are kept, over all their evaluation episodes."""
    kept_at: int | None
    """Env steps of training at which it had these weights."""
    last: Interval | None
    """Evaluation score of the last weights, where these are not the ones that are kept."""
    env_steps: int
    seconds: float
    alerts: tuple[AlertCount, ...]


class Sink(Protocol):
    """Somewhere numbers go. A class made from this one needs the methods it has a use for."""

    def open(self, start: Start) -> None:
        """The first call."""
        return

    def note(self, text: str) -> None:
        """A sentence for the reader: a warning, a choice that was made."""
        return

    def row(self, row: Row) -> str | None:
        """May return a sentence for the reader, which every sink is given as a note."""
        return None

    def evaluation(self, evaluation: Evaluation) -> None:
        """A score, when it is known; its numbers are in the next row as well."""
        return

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        """Something that happened: a checkpoint, a video, a change, a fault."""
        return

    def close(self, ending: Ending | None) -> None:
        """The last call; None if an error ended the run."""
        return
