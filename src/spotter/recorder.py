"""From updates to readable numbers: aggregate, check names, hand to every sink.

A metric nobody declared is a bug and stops the run; sinks never see undeclared names.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol, Self

from spotter.config import RunConfig
from spotter.metrics.alerts import Alert, AlertCount
from spotter.metrics.spec import Catalogue
from spotter.rundir.run import Run
from spotter.types import Episode, Evaluation, Progress, Update

_WINDOW = 100


@dataclass(frozen=True, slots=True)
class Start:
    """What sinks are told before the first row."""

    config: RunConfig
    catalogue: Catalogue
    run: Run | None
    threshold: float | None
    summary: Mapping[str, Mapping[str, str]]
    """Blocks for the reader (Run, Environment, Training), each label -> text."""
    env_steps: int
    """Where a resumed run goes on; 0 for a new one."""
    rollout: Callable[[], tuple[int, int]]
    """Vector steps collected and due in the present rollout; may be asked from another thread."""


@dataclass(frozen=True, slots=True)
class Row:
    """One update as every sink sees it."""

    update: int
    env_steps: int
    vector_steps: int
    metrics: Mapping[str, float]
    alerts: tuple[Alert, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    reason: str
    test: Evaluation | None
    best: float | None
    """The best evaluation score."""
    env_steps: int
    seconds: float
    alerts: tuple[AlertCount, ...]


class Sink(Protocol):
    """Somewhere numbers go."""

    def open(self, start: Start) -> None: ...

    def note(self, text: str) -> None:
        """A sentence for the reader: a warning, a choice that was made."""

    def row(self, row: Row) -> None: ...

    def evaluation(self, evaluation: Evaluation) -> None: ...

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Something that happened: a checkpoint, a video, a change, a fault."""

    def close(self, ending: Ending | None) -> None:
        """The last call; None if an error ended the run."""


class Recorder:
    """Writes to all sinks alike."""

    def __init__(self, start: Start, sinks: Sequence[Sink]) -> None:
        self._config = start.config
        self._catalogue = start.catalogue
        self._sinks = sinks
        self._recent: deque[Episode] = deque(maxlen=_WINDOW)
        self._episodes = 0
        self.ending: Ending | None = None
        for sink in sinks:
            sink.open(start)

    def note(self, text: str) -> None:
        for sink in self._sinks:
            sink.note(text)

    def write(self, update: Update) -> Row:
        """Aggregate one update and show it to every sink."""
        self._recent.extend(update.episodes)
        self._episodes += len(update.episodes)
        metrics = {
            **self._episode_metrics(),
            **update.metrics,
            **self._settings(Progress(update.env_steps, self._config.budget.env_steps)),
            **{f"time/{stage}_s": seconds for stage, seconds in update.seconds.items()},
        }
        for key in metrics:
            assert self._catalogue.find(key), f"metric {key} is not declared"
        row = Row(update.index, update.env_steps, update.vector_steps, metrics)
        for sink in self._sinks:
            sink.row(row)
        return row

    def evaluation(self, evaluation: Evaluation) -> None:
        for sink in self._sinks:
            sink.evaluation(evaluation)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        for sink in self._sinks:
            sink.event(kind, data)

    def _episode_metrics(self) -> dict[str, float]:
        """Nothing but the count until an episode has finished: no mean of nothing."""
        metrics: dict[str, float] = {"train/episodes": self._episodes}
        if self._recent:
            metrics["train/score"] = fmean(episode.score for episode in self._recent)
            metrics["train/reward"] = fmean(episode.reward for episode in self._recent)
            metrics["train/length"] = fmean(episode.length for episode in self._recent)
            for name in self._recent[-1].parts:
                metrics[f"reward/{name}"] = fmean(e.parts[name] for e in self._recent)
        return metrics

    def _settings(self, progress: Progress) -> dict[str, float]:
        return {f"hp/{path}": value.at(progress) for path, value in self._config.schedules()}

    def close(self) -> None:
        for sink in self._sinks:
            sink.close(self.ending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
