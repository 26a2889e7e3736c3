"""What no training loop can beat: the environments alone, and learning alone.

Environments alone: the same envs with random actions. Learning alone: the same rollout learnt
from again and again. One after the other they bound the rate by 1 / (1/env + 1/learn).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter import seeding
from spotter.bench.measure import Clock, Trained
from spotter.collect.sources import Inline
from spotter.envs.backends.vector import VectorEnv
from spotter.types import ActionSpec, Array

_POOL: Final = 64
"""Random actions drawn beforehand, so that drawing them is not measured."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Env steps per second, and how often a random policy is rewarded."""

    env_rate: float
    learn_rate: float
    random_steps: int
    rewards: int
    """Of those steps, how many had a reward."""

    overlapped: bool = False
    """Whether environments and learning overlap."""

    @property
    def bound(self) -> float:
        if self.overlapped:
            return min(self.env_rate, self.learn_rate)
        return 1 / (1 / self.env_rate + 1 / self.learn_rate)

    @property
    def steps_between_rewards(self) -> float | None:
        """In one env, on average; None where no reward was seen."""
        return self.random_steps / self.rewards if self.rewards else None


class Meter:
    """Measures both limits, a stretch at a time.

    `subject` is used up: its episodes are no longer in order.
    """

    def __init__(self, subject: Trained, clock: Clock = perf_counter) -> None:
        self._subject, self._clock = subject, clock
        training, source = subject.training, subject.training.source
        assert isinstance(source, Inline), "envs that another process steps cannot be measured"
        gathered = source.next(training.policy, training.progress)
        self._rollout = gathered.rollout
        self._samples = gathered.env_steps - training.env_steps
        subject.hold()
        self._vector = source.worker.vector
        self._vector.reset(seeding.integers(0, "bench", self._vector.count))
        self._actions = random_actions(self._vector)
        self._learnt = self._stepped = self._rewards = 0
        self._learn_s = self._env_s = 0.0

    def measure(self, seconds: float) -> None:
        """Half of the time for each, one update and one step at least."""
        until = self._learn_s + seconds / 2
        self._learn()
        while self._learn_s < until:
            self._learn()
        until = self._env_s + seconds / 2
        self._step()
        while self._env_s < until:
            self._step()

    def _learn(self) -> None:
        self._subject.prepare()  # else a target for the KL would end later updates early
        training = self._subject.training
        began = self._clock()
        training.algorithm.update(self._rollout, training.progress)
        self._learn_s += self._clock() - began
        self._learnt += self._samples

    def _step(self) -> None:
        action = next(self._actions)
        began = self._clock()
        self._vector.step(action)
        self._env_s += self._clock() - began
        self._stepped += self._vector.count
        self._rewards += int(np.count_nonzero(self._vector.buffers.reward))

    def result(self) -> Limits:
        return Limits(
            env_rate=self._stepped / max(self._env_s, 1e-9),
            learn_rate=self._learnt / max(self._learn_s, 1e-9),
            random_steps=self._stepped,
            rewards=self._rewards,
        )


def random_actions(vector: VectorEnv) -> Iterator[Array]:
    """Endless actions for all envs, valid ones where there is a mask."""
    rng = np.random.default_rng(0)
    spec, count = vector.spaces.action, vector.count
    pool = [_draw(spec, count, rng) for _ in range(_POOL)]
    while True:
        for action in pool:
            mask = vector.buffers.mask
            yield action if mask is None else _draw_valid(spec, mask, rng)


def _draw(spec: ActionSpec, count: int, rng: np.random.Generator) -> Array:
    shape = (count, *spec.shape)
    if spec.kind == "box":
        return rng.uniform(-1, 1, shape).astype(np.float32)
    if spec.kind == "binary":
        return rng.integers(0, 2, shape)
    return rng.integers(0, np.array(spec.nvec).reshape(spec.shape or ()), shape)


def _draw_valid(spec: ActionSpec, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """A uniform choice among what the mask allows, for each component."""
    weight = rng.random(mask.shape) * mask
    if spec.kind == "binary":
        return ((weight > 0.5) & mask).astype(np.int64)
    ends = np.cumsum(spec.nvec)[:-1]
    chosen = [part.argmax(axis=1) for part in np.split(weight, ends, axis=1)]
    return np.stack(chosen, axis=1).reshape(len(mask), *spec.shape)
