"""Which samples of a batch follow each other: what a policy with memory is evaluated with.

Minibatches are whole sequences: all steps of some envs in a rollout. Episodes that begin inside
are sequences of their own, so nothing is padded and no state crosses from one episode to the next.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from spotter.policy.actor import PolicyState
from spotter.policy.memory import Sequences
from spotter.types import UserError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where each sample [B] lies in a rollout."""

    env: Ints
    place: Ints
    """Among the samples of its env, in time."""
    begins: Bools
    """Whether it is the first step of an episode that began inside the rollout."""
    counts: Ints
    """Samples of each env, [N]."""
    steps: int
    """Of the rollout."""
    state: PolicyState
    """What the policy remembered of each env before the rollout, [N, …]."""

    @classmethod
    def of(
        cls, episode_end: Bools, keep: npt.NDArray[Any] | None, state: PolicyState
    ) -> "Timeline":
        """Of a rollout [T, N]; `keep`, flat, says which samples there are: None for all."""
        steps, count = episode_end.shape
        begins = np.zeros_like(episode_end)
        begins[1:] = episode_end[:-1]
        kept = np.ones((steps, count), np.bool_) if keep is None else keep.reshape(steps, count)
        place, flat = np.cumsum(kept, axis=0) - 1, kept.reshape(-1)
        env = np.tile(np.arange(count), steps)
        return cls(
            env[flat], place.reshape(-1)[flat], begins.reshape(-1)[flat], kept.sum(axis=0), steps,
            state,
        )  # fmt: skip

    def select(self, indices: Any) -> "Timeline":
        """Of some samples."""
        if isinstance(indices, torch.Tensor):
            indices = indices.cpu().numpy()
        return replace(
            self, env=self.env[indices], place=self.place[indices], begins=self.begins[indices]
        )

    def minibatches(self, size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """All samples once: those of `size` / `steps` envs at a time, chosen at random."""
        by_env = np.argsort(self.env, kind="stable")
        of_env = np.split(by_env, np.cumsum(self.counts)[:-1])
        there = np.flatnonzero(self.counts)  # an env that failed in every step has none
        envs = there[torch.randperm(len(there), generator=generator).numpy()]
        for some in np.split(envs, range(self._at_once(size), len(envs), self._at_once(size))):
            yield torch.from_numpy(np.concatenate([of_env[env] for env in some]))

    def parts(self, size: int) -> int:
        """How many minibatches that makes."""
        return math.ceil(int(np.count_nonzero(self.counts)) / self._at_once(size))

    def _at_once(self, size: int) -> int:
        """Envs in a minibatch of so many samples."""
        return max(1, size // self.steps)

    def sequences(self) -> Sequences:
        """The samples as `Policy.evaluate` takes them."""
        by_env = np.argsort(self.env, kind="stable")
        env, place = self.env[by_env], self.place[by_env]
        self._check_whole(env, place)
        is_first = self.begins[by_env] | (place == 0)
        starts = np.flatnonzero(is_first)
        sequence = np.cumsum(is_first) - 1
        step = np.arange(len(env)) - starts[sequence]
        lengths = np.bincount(sequence)
        longest_first = np.argsort(-lengths, kind="stable")
        rank = np.argsort(longest_first)
        order = by_env[np.lexsort((rank[sequence], step))]
        return Sequences(
            torch.from_numpy(order),
            np.bincount(step).tolist(),
            self._states(env[starts], self.begins[by_env][starts], longest_first),
        )

    def _states(self, env: Ints, begins: Bools, order: Ints) -> PolicyState:
        """Before each sequence: as the rollout began, or zero where an episode begins."""
        rows, zero = torch.from_numpy(env[order]), torch.from_numpy(begins[order])
        found = []
        for part in self.state:
            chosen = part[rows.to(part.device)]
            flags = zero.to(part.device).view(-1, *[1] * (chosen.dim() - 1))
            found.append(chosen.masked_fill(flags, 0))
        return tuple(found)

    def _check_whole(self, env: Ints, place: Ints) -> None:
        """Every step of an env, in time, or none: a state follows from all steps before."""
        there, first = np.unique(env, return_index=True)
        counts = np.diff(np.append(first, len(env)))
        in_time = np.arange(len(env)) - np.repeat(first, counts)
        if not (np.array_equal(place, in_time) and np.array_equal(counts, self.counts[there])):
            raise UserError(
                "this algorithm learns from samples in any order, and policy.core needs whole "
                "sequences; take them from `Batch.minibatches`, or leave policy.core out"
            )
