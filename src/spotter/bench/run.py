"""The whole of a bench: measure, find the limits, try changes until the time is up.

Nothing is written anywhere. Every change is compared with the untouched config in turns; free
changes that helped are tried together at the end, since what each gains alone may not add up.
"""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final

import torch

from spotter.bench.limits import Limits, Meter
from spotter.bench.measure import (
    Clock,
    Ratio,
    Sample,
    Trained,
    Weights,
    alternate,
    sample,
    warm_up,
)
from spotter.bench.trials import (
    FREE,
    Change,
    Present,
    Trial,
    candidates,
    following,
)
from spotter.config import RunConfig
from spotter.system import machine
from spotter.types import UserError

Tell = Callable[[str], None]
_PROFILE, _LIMITS = 0.15, 0.1
"""Shares of the whole time; the rest is for trials."""
_SLICES: Final = 3
_UPDATES_PER_TRIAL: Final = 6  # two to warm up, then A B B A
_TOGETHER: Final = 1.5
"""What is kept for the last trial, in units of a usual one."""


@dataclass(frozen=True)
class Findings:
    """All that was measured."""

    config: RunConfig
    present: Present
    profile: Sample
    limits: Limits
    trials: tuple[Trial, ...]
    not_tried: tuple[Change, ...]
    """For want of time."""

    @property
    def free(self) -> Trial | None:
        """The fastest that leaves learning alone; None if nothing was faster."""
        return self._best(True)

    @property
    def learning(self) -> Trial | None:
        """The fastest that alters learning, where it beats what is free."""
        best, free = self._best(False), self.free
        return best if best and (free is None or best.gain > free.gain) else None

    def _best(self, free: bool) -> Trial | None:
        faster = [trial for trial in self.trials if trial.change.free is free and trial.is_faster]
        return max(faster, key=lambda trial: trial.gain, default=None)


def bench(
    config: RunConfig, seconds: float, tell: Tell = lambda text: None, clock: Clock = perf_counter
) -> Findings:
    """Measure a config for about so many seconds; a long update makes it longer."""
    deadline = clock() + seconds
    tell("measuring the recipe as it is")
    with Trained(config) as base:
        profile, found = _profile(base, seconds, clock)
        weights = base.hold()
        present = _present(base)
        series = Series(config, base, weights, profile.update_s, deadline, tell, clock)
        waiting = series.run(candidates(config, present, profile.bottleneck))
    return Findings(config, present, profile, found, tuple(series.trials), tuple(waiting))


def _profile(base: Trained, seconds: float, clock: Clock) -> tuple[Sample, Limits]:
    """The speed and its limits in turns, so that a busy machine slows down both."""
    samples: list[Sample] = []
    config = base.training.config
    with Trained(_in_turns(config)) as another:
        warm_up(another, clock=clock)
        warm_up(base, clock=clock)
        meter = Meter(another, clock)
        for _ in range(_SLICES):
            samples.append(sample(base, _PROFILE * seconds / _SLICES, clock))
            meter.measure(_LIMITS * seconds / _SLICES)
    return Sample.joined(samples), replace(meter.result(), overlapped=config.algo.overlaps)


def _in_turns(config: RunConfig) -> RunConfig:
    """Envs in this process, whose speed can be measured."""
    if not config.algo.overlaps:
        return config
    data = config.as_data()
    return RunConfig.from_data({**data, "algo": {**data["algo"], "overlap": False}})


@dataclass
class Series:
    """Trials one after another, each with its share of the time that is left."""

    config: RunConfig
    base: Trained
    weights: Weights
    update_s: float
    deadline: float
    tell: Tell
    clock: Clock
    trials: list[Trial] = field(default_factory=list)

    def run(self, changes: list[Change]) -> list[Change]:
        """Try them and what follows from them; returns those that time did not allow."""
        queue = deque(changes)
        while queue and self._left() > _UPDATES_PER_TRIAL * self.update_s:
            share = self._left() / (len(queue) + _TOGETHER)
            trial = self.attempt(queue.popleft(), share)
            known = [change.settings for change in (*queue, *(one.change for one in self.trials))]
            later = following(self.config, trial, self.trials)
            queue.extend(change for change in later if change.settings not in known)
        for change in combinations(self.trials):
            if self._left() > _UPDATES_PER_TRIAL * self.update_s:
                self.attempt(change, self._left() / 2)
        return list(queue)

    def attempt(self, change: Change, seconds: float) -> Trial:
        self.tell(f"trying {change.label}")
        try:
            trial = Trial(change, self._measure(change, seconds))
        except (UserError, RuntimeError, ImportError, MemoryError) as error:
            # a back-end that refuses, a device without memory: say so and continue
            trial = Trial(change, problem=next(iter(str(error).splitlines()), type(error).__name__))
        self.trials.append(trial)
        return trial

    def _measure(self, change: Change, seconds: float) -> Ratio:
        until = self.clock() + seconds
        with ExitStack() as stack:
            other = stack.enter_context(Trained(change.applied(self.config), self.weights))
            warm_up(other, 0.1 * seconds, self.clock)
            left = until - self.clock()
            rounds = 2 if left > 8 * self.update_s else 1
            return alternate(self.base, other, rounds, left / (4 * rounds), self.clock)

    def _left(self) -> float:
        return self.deadline - self.clock()


def combinations(trials: list[Trial]) -> list[Change]:
    """The best of each free group together; then that with the best that alters learning."""
    best = {group: _best_of(trials, (group,)) for group in FREE}
    winners = [trial.change for trial in best.values() if trial]
    altering = _best_of(trials, ("count", "steps", "minibatch"))
    free = _merged(winners)
    found = [Change("together", free, True)] if len(winners) > 1 else []
    if altering and winners:
        both = {**free, **altering.change.settings}
        found.append(Change("together", both, False))
    return found


def _best_of(trials: list[Trial], groups: tuple[str, ...]) -> Trial | None:
    faster = [trial for trial in trials if trial.change.group in groups and trial.is_faster]
    return max(faster, key=lambda trial: trial.gain, default=None)


def _merged(changes: list[Change]) -> Mapping[str, object]:
    return {key: value for change in changes for key, value in change.settings.items()}


def _present(base: Trained) -> Present:
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    return Present(
        backend=base.training.backend.name,
        threads=base.threads,
        device=base.training.device.type,
        devices=tuple(name for name, there in available.items() if there),
        cores=machine.cores(),
    )
