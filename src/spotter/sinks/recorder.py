"""From updates to readable numbers: aggregate, check names, hand to every sink.

An undeclared metric is a bug and stops the run; sinks never see undeclared names.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from operator import attrgetter
from statistics import fmean, pstdev
from time import perf_counter
from typing import Any, Self

from spotter.diagnose.alerts import Alert, AlertCount, Watcher
from spotter.sinks.base import Ending, Row, Sink, Start
from spotter.sinks.jsonl import Jsonl
from spotter.sinks.pace import Pace
from spotter.types import Episode, Evaluation, Update

_WINDOW = 100


class Recorder:
    """Writes to all sinks alike."""

    def __init__(
        self,
        start: Start,
        sinks: Sequence[Sink],
        watcher: Watcher | None = None,
        clock: Callable[[], float] = perf_counter,
        of_run: Sequence[Sink] = (),
    ) -> None:
        self._config = start.config
        self._catalogue = start.catalogue
        self._threshold = start.threshold
        self._sinks = [*sinks, *of_run]
        self._of_run = of_run
        """Those that write into the run's folder."""
        self._watcher = watcher
        self._clock = clock
        self._recent: deque[Episode] = deque(maxlen=_WINDOW)
        self._episodes = 0
        self._means: dict[str, float] | None = None
        """Of the recent episodes; they change only when one has ended."""
        self._best_score: float | None = None
        self._run = start.run
        self._steps_to_threshold: int | None = None
        self._train_steps_to_threshold: int | None = None
        self._pace = Pace()
        self._train_s = 0.0
        self._evaluations = 0
        self._evaluating_s = 0.0
        self._elapsed_before = 0.0
        self._began = self._last_write = clock()
        self._waiting: dict[str, float] = {}
        self._spent: dict[str, float] = {}
        self.ending: Ending | None = None
        self._open(start)

    def _open(self, start: Start) -> None:
        """Every sink, or none: what one sink has put up must not stay behind."""
        with ExitStack() as opened:
            for sink in self._sinks:
                sink.open(start)
                opened.callback(sink.close, None)
            opened.pop_all()

    def note(self, text: str) -> None:
        for sink in self._sinks:
            sink.note(text)

    def event(self, kind: str, data: Mapping[str, object]) -> None:
        for sink in self._sinks:
            sink.event(kind, data)

    def evaluation(self, evaluation: Evaluation) -> None:
        """Show a score to every sink at once; its numbers go into the next row."""
        for sink in self._sinks:
            sink.evaluation(evaluation)
        self._waiting |= evaluation_metrics(evaluation)
        if evaluation.solved:
            first = self._steps_to_threshold
            now = evaluation.env_steps
            self._steps_to_threshold = now if first is None else min(first, now)

    def spend(self, stage: str, seconds: float) -> None:
        """Time that is neither collecting nor learning, for the next row: eval, save."""
        if stage == "eval":
            self._evaluations += 1
            self._evaluating_s += seconds
        self._spent[stage] = self._spent.get(stage, 0.0) + seconds

    def write(self, update: Update) -> Row:
        """Aggregate one update, look for trouble, show it to every sink."""
        if update.episodes or self._means is None:
            self._recent.extend(update.episodes)
            self._episodes += len(update.episodes)
            self._means = self._episode_metrics(update.env_steps)
        metrics = {
            **self._means,
            **self._reached(),
            **self._waiting,
            **update.metrics,
            **self._times(update),
        }
        self._waiting = {}
        for key in metrics:
            assert self._catalogue.find(key), f"metric {key} is not declared"
        alerts: tuple[Alert, ...] = ()
        if self._watcher:
            alerts = self._watcher.see(metrics, update.index, update.env_steps, update.episodes)
        row = Row(update.index, update.env_steps, update.vector_steps, metrics, alerts)
        remarks = [sink.row(row) for sink in self._sinks]
        for remark in filter(None, remarks):
            self.note(remark)
        return row

    def amend(self) -> None:
        """Scores that belong to the last row: a stop had come before they were known."""
        for sink in self._of_run:
            if self._waiting and isinstance(sink, Jsonl) and sink.amend(self._waiting):
                self._waiting = {}

    @property
    def train_score(self) -> float | None:
        """Mean score of the last training episodes."""
        return self._mean_of("score")

    @property
    def train_length(self) -> float | None:
        """Their mean length."""
        return self._mean_of("length")

    def _mean_of(self, name: str) -> float | None:
        """As the last row has it; asked for at every update, and changed only by new episodes."""
        if self._means is not None:
            return self._means.get(f"train/{name}")
        return _mean([*map(attrgetter(name), self._recent)]) if self._recent else None

    @property
    def train_steps_to_threshold(self) -> int | None:
        """Env steps until the mean score of the last training episodes reached the threshold."""
        return self._train_steps_to_threshold

    @property
    def elapsed_s(self) -> float:
        """Of the whole run, over every resume."""
        return self._elapsed_before + self._clock() - self._began

    @property
    def evaluating_s(self) -> float:
        """Of that, what training waited for evaluations and tests."""
        return self._evaluating_s

    def alert_counts(self) -> tuple[AlertCount, ...]:
        return self._watcher.counts() if self._watcher else ()

    def state(self) -> dict[str, object]:
        """The state that a resumed run's recorder starts from."""
        return {
            "recent": [asdict(episode) for episode in self._recent],
            "episodes": self._episodes,
            "best_score": self._best_score,
            "train_steps_to_threshold": self._train_steps_to_threshold,
            "pace": self._pace.state(),
            "train_s": self._train_s,
            "evaluations": self._evaluations,
            "evaluating_s": self._evaluating_s,
            "elapsed_s": self.elapsed_s,
            "watcher": self._watcher.state() if self._watcher else None,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._recent.extend(Episode(**episode) for episode in state["recent"])
        self._episodes = state["episodes"]
        self._best_score = state["best_score"]
        # older versions knew the training mean only, and called it so
        old = "train_steps_to_threshold" not in state
        self._train_steps_to_threshold = state[f"{'' if old else 'train_'}steps_to_threshold"]
        # evaluations may have come in after the checkpoint, of weights before it
        self._steps_to_threshold = self._run.info()["steps_to_threshold"] if self._run else None
        self._pace.restore(state["pace"])
        self._train_s = state.get("train_s", 0.0)
        self._evaluations = state.get("evaluations", 0)
        self._evaluating_s = state.get("evaluating_s", 0.0)
        self._elapsed_before = state["elapsed_s"]
        if self._watcher and state["watcher"] is not None:
            self._watcher.restore(state["watcher"])

    def _episode_metrics(self, env_steps: int) -> dict[str, float]:
        """Nothing but the count until an episode has finished: no mean of nothing."""
        metrics: dict[str, float] = {"train/episodes": self._episodes}
        if not self._recent:
            return metrics
        score = _mean([episode.score for episode in self._recent])
        best = score if self._best_score is None else max(self._best_score, score)
        self._best_score = best
        metrics |= {
            "train/score": score,
            "train/score_best": best,
            "train/score_last": self._recent[-1].score,
            "train/reward": _mean([episode.reward for episode in self._recent]),
            "train/length": _mean([episode.length for episode in self._recent]),
            "train/truncated": _mean([not episode.terminated for episode in self._recent]),
        }
        for name in self._recent[-1].parts:
            known = [e.parts[name] for e in self._recent if name in e.parts]
            metrics[f"reward/{name}"] = _mean(known)
        for name in self._recent[-1].info:
            metrics[f"info/{name}"] = _mean([e.info[name] for e in self._recent if name in e.info])
        return metrics | self._merit(score, env_steps)

    def _merit(self, score: float, env_steps: int) -> dict[str, float]:
        """Samples until the training score reached the threshold."""
        if self._train_steps_to_threshold is None:
            enough = len(self._recent) >= min(_WINDOW, self._config.eval.most_episodes)
            if self._threshold is None or not enough or score < self._threshold:
                return {}
            self._train_steps_to_threshold = env_steps
        return {"merit/train_steps_to_threshold": float(self._train_steps_to_threshold)}

    def _reached(self) -> dict[str, float]:
        """Samples until an evaluation reached the threshold: what trainings are compared by."""
        steps = self._steps_to_threshold
        return {} if steps is None else {"merit/steps_to_threshold": float(steps)}

    def _times(self, update: Update) -> dict[str, float]:
        now = self._clock()
        wall, self._last_write = now - self._last_write, now
        busy_s = sum(update.seconds.values())
        self._pace.add(update.new_env_steps, busy_s)
        self._train_s += busy_s
        stages = {**update.seconds, **self._spent}
        self._spent = {}
        metrics = {f"time/{stage}_s": seconds for stage, seconds in stages.items()}
        metrics |= {
            "time/idle_s": max(0.0, wall - sum(stages.values())),
            "time/fps": self._pace.fps,
            "time/updates_per_s": self._pace.updates_per_s,
            "time/wall_fps": update.env_steps / max(self.elapsed_s, 1e-9),
            "time/train_s": self._train_s,
            "time/elapsed_s": self.elapsed_s,
        }
        return metrics | self._rest(update.env_steps)

    def _rest(self, env_steps: int) -> dict[str, float]:
        """How much of the budget is used, and how long the rest will last."""
        budget, elapsed_s = self._config.budget, self.elapsed_s
        limits = []
        if budget.env_steps:
            left = budget.env_steps - env_steps
            limits.append(self._pace.eta_s(left) + self._evaluations_s(left, env_steps))
        if budget.minutes:
            limits.append(max(0.0, budget.minutes * 60 - elapsed_s))
        if not limits:
            return {}
        return {"run/progress": budget.fraction(env_steps, elapsed_s), "time/eta_s": min(limits)}

    def _evaluations_s(self, left: int, env_steps: int) -> float:
        """What evaluations will take until so many env steps more, the final test included."""
        if not self._evaluations or left <= 0:
            return 0.0
        config = self._config.eval
        every = config.every_steps
        if every == "auto":
            every = max(1, env_steps // self._evaluations)  # as often as before
        due = left // every if every else 0
        waits = due if config.mode == "inline" else 0
        return (waits + 1) * self._evaluating_s / self._evaluations

    def end_run(self) -> None:
        """The files of the run are complete; what is said from now on is for the others."""
        self._sinks = [sink for sink in self._sinks if sink not in self._of_run]
        for sink in self._of_run:
            sink.close(self.ending)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close(self.ending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def evaluation_metrics(evaluation: Evaluation) -> dict[str, float]:
    """By name, as they are written in rows."""
    name = evaluation.seeds
    return {
        f"{name}/score": evaluation.score,
        f"{name}/score_std": float(pstdev(evaluation.scores)),
        f"{name}/length": fmean(evaluation.lengths),
        f"{name}/truncated": fmean(evaluation.truncated or (0.0,)),
        f"{name}/stalled": fmean(evaluation.stalled or (0.0,)),
        f"{name}/solved": float(evaluation.solved),
        f"{name}/env_steps": float(evaluation.env_steps),
    }


def _mean(values: Sequence[float]) -> float:
    """Exactly rounded, like `statistics.fmean`, without its detour through generators."""
    return math.fsum(values) / len(values)
