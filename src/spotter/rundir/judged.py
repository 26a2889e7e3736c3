"""The score a run is judged by, from run.json alone: quick enough for a list of all runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spotter.intervals import Interval
from spotter.rundir.values import finite, number, whole

Info = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """A score of the weights a run keeps: on which seeds, how sure, over how many episodes."""

    seeds: str
    """`test`, or `eval`, by which these weights were chosen: the best of many flatters."""
    interval: Interval
    env_steps: int | None
    """At which training had these weights; None where an older version did not say."""

    @property
    def mean(self) -> float:
        return self.interval.mean

    @property
    def half(self) -> float | None:
        """Of the 95 % confidence interval over episodes; None where it is not known."""
        return self.interval.half

    @property
    def episodes(self) -> int:
        """0 where that is not known."""
        return self.interval.count


def judged(info: Info) -> Judged | None:
    """The test score, else the best evaluation."""
    return test(info) or best(info)


def test(info: Info) -> Judged | None:
    return _judged(info, "score", "test")


def best(info: Info) -> Judged | None:
    return _judged(info, "best", "eval")


def _judged(info: Info, name: str, seeds: str) -> Judged | None:
    mean = number(info[name])
    if mean is None or math.isnan(mean):
        return None
    half, episodes = finite(info[f"{name}_interval"]), whole(info[f"{name}_episodes"])
    return Judged(seeds, Interval(mean, half, episodes or 0), whole(info[f"{name}_env_steps"]))
