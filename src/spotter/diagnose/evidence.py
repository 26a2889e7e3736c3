"""What the alert rules look at: the row, recent means, the past of a metric, the score curve.

Single updates are noisy and of very different size, from forty env steps to a hundred thousand.
So rules see blocks: the mean over the rows of at least a thousand env steps.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any, Final, Literal

from spotter.diagnose.bounds import Bounds
from spotter.diagnose.curve import ScoreCurve
from spotter.diagnose.facts import Facts, hard_bounds
from spotter.metrics.spec import Catalogue
from spotter.types import Episode

Clock = Literal["row", "block", "curve", "evaluation"]
"""When there is something new to judge."""

BLOCK_STEPS: Final = 1000
RECENT_BLOCKS: Final = 5
_FEWEST_BLOCKS: Final = 3
_FEWEST_FOR_MEDIAN: Final = 10
_LONGEST_PAST: Final = 128
_NEARLY_BEST: Final = 0.02
"""Share of the range of scores."""
_OF_THE_MACHINE: Final = "time/fps"
"""Not carried over a resume, which may be on another one."""


class Blocks:
    """One metric by blocks."""

    __slots__ = ("count", "first", "past", "peak", "recent", "seen", "stride", "total")

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0
        self.first: float | None = None
        """Of the first row that had it."""
        self.peak: float | None = None
        self.recent: deque[float] = deque(maxlen=RECENT_BLOCKS)
        self.past: list[float] = []
        """The whole run, ever more thinly sampled."""
        self.stride, self.seen = 1, 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1
        if self.first is None:
            self.first = value

    def close(self) -> None:
        """End a block; one without a value leaves no trace."""
        if not self.count:
            return
        mean = self.total / self.count
        self.total, self.count = 0.0, 0
        self.recent.append(mean)
        self.peak = mean if self.peak is None else max(self.peak, mean)
        if self.seen % self.stride == 0:
            self.past.append(mean)
            if len(self.past) == _LONGEST_PAST:
                del self.past[1::2]
                self.stride *= 2
        self.seen += 1

    def state(self) -> list[Any]:
        recent = list(self.recent)
        counts = [self.total, self.count, self.stride, self.seen]
        return [self.first, self.peak, recent, self.past[:], *counts]

    def restore(self, state: Sequence[Any]) -> None:
        self.first, self.peak, recent, past, self.total, self.count, self.stride, self.seen = state
        self.recent = deque(recent, maxlen=RECENT_BLOCKS)
        self.past = list(past)


class Evidence:
    """Everything a rule may ask."""

    def __init__(self, facts: Facts, catalogue: Catalogue, followed: Sequence[str]) -> None:
        """`followed`: metrics that rules want block by block."""
        self.facts = facts
        self.bounds = Bounds(catalogue, hard_bounds(facts))
        self.curve = ScoreCurve()
        self.metrics: Mapping[str, float] = {}
        self.unfinite: tuple[str, ...] = ()
        """Metrics of this row that are no finite numbers."""
        self.update = self.env_steps = 0
        self.before: int | None = None
        """Env steps of the row before; None on the first."""
        self.evaluations: deque[tuple[float, float]] = deque(maxlen=3)
        """The last evaluation scores, each with the training score then."""
        self.solved = False
        """By the latest evaluation."""
        self._scored_at: float | None = None
        self._series = {key: Blocks() for key in (*followed, *_of_this_run(facts))}
        self._block_start = 0
        self._rows = 0

    def note(
        self,
        metrics: Mapping[str, float],
        update: int,
        env_steps: int,
        episodes: Sequence[Episode],
    ) -> list[Clock]:
        """Take one row in; says which clocks have ticked."""
        self.before = self.env_steps if self._rows else None
        self._rows += 1
        self.metrics, self.update, self.env_steps = metrics, update, env_steps
        finite = math.isfinite(sum(metrics.values()))  # one bad number spoils the sum
        self.unfinite = () if finite else _unfinite(metrics)
        self.bounds.note(metrics)
        for key, series in self._series.items():
            value = metrics.get(key)
            if value is not None and (finite or math.isfinite(value)):
                series.add(value)
        clocks: list[Clock] = ["row"]
        if not 0 <= env_steps - self._block_start < BLOCK_STEPS:
            self._block_start = env_steps
            for series in self._series.values():
                series.close()
            clocks.append("block")
        if episodes and self.curve.add(episodes, env_steps):
            clocks.append("curve")
        if "eval/score" in metrics and self._is_new_evaluation(metrics):
            clocks.append("evaluation")
        return clocks

    def _is_new_evaluation(self, metrics: Mapping[str, float]) -> bool:
        """A row may repeat the last evaluation; only a new one counts."""
        scored_at = metrics.get("eval/env_steps", self.env_steps)
        if scored_at == self._scored_at or not math.isfinite(metrics["eval/score"]):
            return False
        self._scored_at = scored_at
        self.solved = bool(metrics.get("eval/solved", 0.0) > 0)
        trained = metrics.get("train/score")
        if trained is None or not math.isfinite(trained):
            return False
        self.evaluations.append((metrics["eval/score"], trained))
        return True

    @property
    def is_first(self) -> bool:
        """The very first row of a run, not of a resumed one."""
        return self.before is None and self.update <= 1

    def recent(self, key: str) -> float | None:
        """Mean over the last five blocks; None before there are three."""
        blocks = self._series[key].recent
        return fmean(blocks) if len(blocks) >= _FEWEST_BLOCKS else None

    def first(self, key: str) -> float | None:
        """On the first row that had it."""
        return self._series[key].first

    def peak(self, key: str) -> float | None:
        """The largest block so far."""
        return self._series[key].peak

    def usual(self, key: str) -> float | None:
        """Median over the run so far; None before there are ten blocks."""
        past = self._series[key].past
        return median(past) if len(past) >= _FEWEST_FOR_MEDIAN else None

    @property
    def reached(self) -> bool:
        """At the threshold, by the latest evaluation or by the training score.

        Without a threshold: as good as the best score there is.
        """
        threshold, recent, known = self.facts.threshold, self.curve.recent, self.facts.score_range
        if threshold is None and known is not None:
            threshold = known[1] - _NEARLY_BEST * (known[1] - known[0])
        if threshold is None:
            return False
        return self.solved or (recent is not None and recent.mean >= threshold)

    @property
    def improving(self) -> bool:
        """The last quarter of the run scored clearly better than the one before.

        Until there are enough episodes for that: the last ones better than the first.
        """
        pair = self.curve.quarters or (self.curve.start, self.curve.recent)
        before, last = pair
        if before is None or last is None:
            return False
        gain = last.mean - before.mean
        return gain > max(0.2 * before.std, 2 * math.hypot(before.error, last.error))

    @property
    def promising(self) -> bool:
        """Nothing to worry about: solved, nearly so, or getting better."""
        start, recent, threshold = self.curve.start, self.curve.recent, self.facts.threshold
        if self.reached or self.improving or start is None or recent is None:
            return True
        if threshold is None:
            return recent.mean - start.mean >= 2 * start.std
        return recent.mean - start.mean >= 0.9 * (threshold - start.mean)

    def state(self) -> dict[str, object]:
        return {
            "rows": self._rows,
            "update": self.update,
            "env_steps": self.env_steps,
            "block_start": self._block_start,
            "series": {key: series.state() for key, series in self._series.items()},
            "curve": self.curve.state(),
            "bounds": self.bounds.state(),
            "evaluations": [list(pair) for pair in self.evaluations],
            "solved": self.solved,
            "scored_at": self._scored_at,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._rows = state["rows"]
        self.update, self.env_steps = state["update"], state["env_steps"]
        self._block_start = state["block_start"]
        for key, saved in state["series"].items():
            if key in self._series and key != _OF_THE_MACHINE:
                self._series[key].restore(saved)
        self.curve.restore(state["curve"])
        self.bounds.restore(state["bounds"])
        self.evaluations.extend((score, trained) for score, trained in state["evaluations"])
        self.solved, self._scored_at = state["solved"], state["scored_at"]


def _unfinite(metrics: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(key for key, value in metrics.items() if not math.isfinite(value))


def _of_this_run(facts: Facts) -> Iterator[str]:
    """What is followed of each component of an action, and of each reward for what is new."""
    yield from (f"intrinsic/{name}/share" for name in facts.intrinsic)
    yield from (f"reward/{name}" for name in facts.counted)
    for part in facts.components():
        if not part.suffix:
            continue
        if part.choices is None:
            yield f"policy/std{part.suffix}"
        else:
            yield from (f"action/share{part.suffix}/{choice}" for choice in range(part.choices))
