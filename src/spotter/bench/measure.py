"""Timing: how fast a `Training` is, where its time goes, and how much faster another one is.

Two settings are only ever compared in turns (A B B A), so that a machine that slows down or
speeds up meanwhile treats both alike; what counts is the ratio within each pair.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Final, Protocol, Self

import torch

from spotter.config import RunConfig
from spotter.training.training import Training
from spotter.types import Update

Clock = Callable[[], float]
STAGES: Final = ("env", "policy", "transfer", "learn", "idle")
_WORTH: Final = 1.05
_HOPELESS: Final = 0.8
_WARM_UP: Final = 2
"""Updates that are not counted: memory is touched, code compiled, caches filled."""


class Subject(Protocol):
    """What is measured: something that makes updates."""

    def prepare(self) -> None:
        """Called before each stretch of measuring."""

    def step(self) -> Update: ...


@dataclass(frozen=True, slots=True)
class Sample:
    """One stretch of training."""

    updates: int
    env_steps: int
    wall_s: float
    stages: Mapping[str, float]
    """Seconds by stage; `idle` is what no stage accounts for."""

    @classmethod
    def joined(cls, samples: Sequence[Self]) -> Self:
        """Several stretches as one."""
        return cls(
            updates=sum(one.updates for one in samples),
            env_steps=sum(one.env_steps for one in samples),
            wall_s=sum(one.wall_s for one in samples),
            stages={stage: sum(one.stages[stage] for one in samples) for stage in STAGES},
        )

    @property
    def rate(self) -> float:
        """Env steps per second."""
        return self.env_steps / self.wall_s

    @property
    def update_s(self) -> float:
        return self.wall_s / self.updates

    def share(self, stage: str) -> float:
        return self.stages[stage] / self.wall_s

    def microseconds(self, stage: str) -> float:
        """Per env step."""
        return 1e6 * self.stages[stage] / self.env_steps

    @property
    def bottleneck(self) -> str:
        return max(STAGES, key=lambda stage: self.stages[stage])


def sample(subject: Subject, seconds: float, clock: Clock = perf_counter) -> Sample:
    """Whole updates, one at least, until so many seconds have passed."""
    subject.prepare()
    updates = env_steps = 0
    stages = dict.fromkeys(STAGES, 0.0)
    began = now = clock()
    while not updates or now - began < seconds:
        update = subject.step()
        now = clock()
        updates += 1
        env_steps += update.new_env_steps
        for stage, spent in update.seconds.items():
            stages[stage] += spent
    wall = max(now - began, 1e-9)
    stages["idle"] += max(0.0, wall - sum(stages.values()))
    return Sample(updates, env_steps, wall, stages)


def warm_up(subject: Subject, seconds: float = 0.0, clock: Clock = perf_counter) -> None:
    subject.prepare()
    began = clock()
    done = 0
    while done < _WARM_UP or clock() - began < seconds:
        subject.step()
        done += 1


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster, over several pairs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Self:
        return cls(median(ratios), min(ratios), max(ratios))

    @property
    def spread(self) -> float:
        """Half of the whole range: with so few pairs anything narrower would flatter."""
        return (self.high - self.low) / 2

    @property
    def is_faster(self) -> bool:
        """Faster in every single pair, and by enough to care."""
        return self.low > 1 and self.median >= _WORTH


def alternate(
    a: Subject, b: Subject, rounds: int, seconds: float, clock: Clock = perf_counter
) -> Ratio:
    """The speed of `b` over that of `a`, in `rounds` times A B B A of `seconds` each.

    A `b` that is clearly slower is not measured any further; one that seems faster has to prove
    it once more, for among many changes some always get lucky.
    """
    ratios: list[float] = []
    done = 0
    while done < rounds or (done < 2 * rounds and Ratio.of(ratios).is_faster):
        done += 1
        for first, second in ((a, b), (b, a)):
            rates = {id(who): sample(who, seconds, clock).rate for who in (first, second)}
            ratios.append(rates[id(b)] / rates[id(a)])
        if max(ratios) < _HOPELESS:
            break
    return Ratio.of(ratios)


@dataclass(frozen=True)
class Weights:
    """A snapshot of a policy, to measure others with the very same policy.

    Better policies have longer episodes; without this, those that learnt more would be measured
    on another task.
    """

    policy: Mapping[str, object]
    algorithm: Mapping[str, object]


class Trained:
    """A `Training` under measurement. Threads belong to the process, so each brings its own."""

    def __init__(self, config: RunConfig, weights: Weights | None = None) -> None:
        self.training = Training(config)
        self.threads = torch.get_num_threads()
        self.weights = weights

    def prepare(self) -> None:
        torch.set_num_threads(self.threads)
        if self.weights is not None:
            self.training.policy.load_state_dict(dict(self.weights.policy))
            self.training.algorithm.restore(copy.deepcopy(self.weights.algorithm))

    def step(self) -> Update:
        return self.training.step()

    def hold(self) -> Weights:
        """From now on every stretch begins with what the policy knows at present."""
        self.weights = Weights(
            policy={name: x.clone() for name, x in self.training.policy.state_dict().items()},
            algorithm=copy.deepcopy(self.training.state()["algorithm"]),
        )
        return self.weights

    def close(self) -> None:
        self.training.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
