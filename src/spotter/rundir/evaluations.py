"""Evaluations of a run, from its events: each score once, with its interval.

Where a resume went back to a checkpoint, evaluations of later weights no longer belong to the run,
and of two with the same weights and seeds the later one counts. An event that lacks what a score
needs is left out and named in a sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spotter.intervals import Interval, interval
from spotter.rundir.values import number, text, whole

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Score:
    """How the weights at `env_steps` did on held-out seeds."""

    env_steps: int
    seeds: str
    """Which: eval, test, or another set."""
    interval: Interval
    """Of the mean, over the episodes of this evaluation."""
    scores: tuple[float, ...]
    threshold: float | None
    solved: bool
    deterministic: bool
    truncated: int | None
    """Episodes cut off by a time limit; None where they were not counted."""
    fingerprint: str
    event: Event
    """As it was written."""

    @property
    def is_test(self) -> bool:
        return self.seeds == "test"

    @property
    def mean(self) -> float:
        return self.interval.mean

    @property
    def episodes(self) -> int:
        return self.interval.count


@dataclass(frozen=True)
class Evaluations:
    """Every evaluation that belongs to a run, in the order they were made."""

    scores: tuple[Score, ...]
    problems: tuple[str, ...] = ()

    @property
    def steps_to_threshold(self) -> int | None:
        """Env steps of the first weights whose evaluation reached the threshold."""
        return min((score.env_steps for score in self.scores if score.solved), default=None)

    def last(self, seeds: str, mean: float | None) -> Score | None:
        """The latest evaluation on these seeds that gave this score."""
        alike = (score for score in reversed(self.scores) if score.seeds == seeds)
        return next((score for score in alike if score.mean == mean), None)

    @property
    def threshold(self) -> float | None:
        """As the latest evaluation had it."""
        known = (score.threshold for score in reversed(self.scores))
        return next((level for level in known if level is not None), None)


def read(events: Iterable[Event]) -> Evaluations:
    found: dict[tuple[str, int], Score] = {}
    problems = []
    for event in events:
        if event.get("event") == "resume":
            steps = whole(event.get("env_steps"))
            if steps is not None:
                found = {key: old for key, old in found.items() if key[1] <= steps}
        elif event.get("event") == "evaluation":
            score = parse(event)
            if score is None:
                problems.append(f"an evaluation {_when(event)}cannot be read: {_lack(event)}")
                continue
            found.pop((score.seeds, score.env_steps), None)
            found[score.seeds, score.env_steps] = score
    return Evaluations(tuple(found.values()), tuple(problems))


def parse(written: Event) -> Score | None:
    """An evaluation as events.jsonl holds it; None if it lacks what a score needs."""
    steps, scores = whole(written.get("env_steps")), _scores(written.get("scores"))
    seeds = text(written.get("seeds"))
    if steps is None or not scores or not seeds:
        return None
    over, mean = interval(scores), number(written.get("score"))
    # as it was written: another way to add up gives another last digit
    over = over if mean is None else replace(over, mean=mean)
    return _score(written, steps, seeds, over, scores)


def parse_certificate(written: object, seeds: str, env_steps: int) -> Score | None:
    """An entry of score.json, beside the weights of `env_steps`; single scores may be missing."""
    if not isinstance(written, Mapping):
        return None
    score = parse({**written, "seeds": seeds, "env_steps": env_steps})
    mean = number(written.get("score"))
    if score or mean is None:
        return score
    over = Interval(mean, None, whole(written.get("episodes")) or 0)
    return _score(written, env_steps, seeds, over, ())


def _score(
    written: Event, env_steps: int, seeds: str, over: Interval, scores: tuple[float, ...]
) -> Score:
    threshold, reached = number(written.get("threshold")), written.get("solved")
    if not isinstance(reached, bool):
        reached = threshold is not None and over.mean >= threshold
    return Score(
        env_steps=env_steps,
        seeds=seeds,
        interval=over,
        scores=scores,
        threshold=threshold,
        solved=reached,
        deterministic=bool(written.get("deterministic")),
        truncated=_truncated(written.get("truncated")),
        fingerprint=text(written.get("fingerprint")),
        event=written,
    )


def _scores(written: object) -> tuple[float, ...]:
    """Empty unless every one of them is a number."""
    if not isinstance(written, Sequence) or isinstance(written, str | bytes):
        return ()
    found = [number(value) for value in written]
    return tuple(value for value in found if value is not None) if None not in found else ()


def _truncated(written: object) -> int | None:
    """One entry per episode; older versions did not write any."""
    return sum(map(bool, written)) if isinstance(written, list) and written else None


def _when(event: Event) -> str:
    steps = whole(event.get("env_steps"))
    return "" if steps is None else f"at {steps:,} env steps "


def _lack(event: Event) -> str:
    if whole(event.get("env_steps")) is None:
        return "it has no env_steps"
    return "it has no scores" if text(event.get("seeds")) else "it has no seeds"
