"""Action heads in NumPy with hand-derived gradients: the counterparts of `policy/heads.py`.

Everything lies transposed, [entries, B]: reductions over a handful of entries are then a few
operations on long rows instead of very many on short ones. `evaluate` takes what the head's linear
layer put out and returns log-probabilities of actions and entropies, both [B]; `slope` speaks about
what it saw. Masked entries have probability 0.

Choosing needs no probabilities: `draw` takes random numbers for several vector steps off the
stream, in the order in which the reference would, and `choose` makes actions of one step's share.
"""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from spotter.engines import kernels
from spotter.engines.plain import Floats
from spotter.types import ActionSpec, Array

Noise = Any
"""One vector step's random numbers, in whatever shape the head likes."""
_HALF_LOG_2PI: Final = 0.5 * math.log(2 * math.pi)
_NEVER: Final = float(np.finfo(np.float32).min / 2)


class Categorical:
    """One choice among n."""

    def __init__(self, entries: int, first: int = 0) -> None:
        self._entries = entries
        self._axis = slice(first, first + entries)

    def draw(self, steps: int, count: int, generator: torch.Generator) -> list[Noise]:
        uniform = torch.rand((steps, count, self._entries), generator=generator).numpy()
        np.clip(uniform, 1e-20, 1 - 1e-7, out=uniform)
        gumbel = -np.log(-np.log(uniform.swapaxes(1, 2)))
        return list(gumbel)

    def choose(self, out: Floats, noise: Noise | None) -> npt.NDArray[np.int64]:
        """A random action, or without noise the likeliest."""
        out = out[self._axis]
        best: npt.NDArray[np.int64] = (out if noise is None else out + noise).argmax(axis=0)
        return best

    def evaluate(self, out: Floats, action: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        out = out[self._axis]
        self._action = action
        self._log_probs, self._probs = np.empty_like(out), np.empty_like(out)
        log_prob = np.empty(len(action), np.float32)
        self._entropy = np.empty_like(log_prob)
        kernels.categorical(out, action, self._log_probs, self._probs, log_prob, self._entropy)
        return log_prob, self._entropy

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        """Derivative by `out`, given those by each row's log-probability and entropy."""
        slope = np.empty_like(self._probs)
        kernels.categorical_slope(
            self._log_probs,
            self._probs,
            self._action,
            self._entropy,
            of_log_prob,
            of_entropy,
            slope,
        )
        return slope


class MultiCategorical:
    """Several independent choices."""

    def __init__(self, nvec: tuple[int, ...]) -> None:
        firsts = np.cumsum((0, *nvec[:-1])).tolist()
        self._parts = [Categorical(n, first) for n, first in zip(nvec, firsts, strict=True)]

    def draw(self, steps: int, count: int, generator: torch.Generator) -> list[Noise]:
        return [[part.draw(1, count, generator)[0] for part in self._parts] for _ in range(steps)]

    def choose(self, out: Floats, noise: Noise | None) -> npt.NDArray[np.int64]:
        noises = [None] * len(self._parts) if noise is None else noise
        chosen = [part.choose(out, own) for part, own in zip(self._parts, noises, strict=True)]
        return np.stack(chosen, -1)

    def evaluate(self, out: Floats, action: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        found = [part.evaluate(out, action[:, i]) for i, part in enumerate(self._parts)]
        log_prob, entropy = np.add.reduce(found, axis=0)
        return log_prob, entropy

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        return np.concatenate([part.slope(of_log_prob, of_entropy) for part in self._parts])


class Bernoulli:
    """Independent on/off switches."""

    def __init__(self, entries: int) -> None:
        self._entries = entries

    def draw(self, steps: int, count: int, generator: torch.Generator) -> list[Noise]:
        return list(torch.rand((steps, count, self._entries), generator=generator).numpy())

    def choose(self, out: Floats, noise: Noise | None) -> npt.NDArray[np.int64]:
        if noise is None:
            return (out > 0).T.astype(np.int64)
        with np.errstate(over="ignore"):  # infinity gives the right probability, 0
            chances = 1 / (1 + np.exp(-out))
        chosen: npt.NDArray[np.int64] = (noise < chances.T).astype(np.int64)
        return chosen

    def evaluate(self, out: Floats, action: Array) -> tuple[Floats, Floats]:
        self._out, self._action = out, action.T
        tail = np.log1p(np.exp(-np.abs(out)))
        on = np.minimum(out, 0) - tail
        off = np.minimum(-out, 0) - tail
        self._probs, self._others = np.exp(on), np.exp(off)
        log_prob: Floats = np.add.reduce(np.where(self._action != 0, on, off), axis=0)
        entropy: Floats = -np.add.reduce(self._probs * on + self._others * off, axis=0)
        return log_prob, entropy

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        slope: Floats = (self._action - self._probs).astype(np.float32) * of_log_prob
        if of_entropy:
            slope -= self._probs * self._out * self._others * np.float32(of_entropy)
        return slope


class Normal:
    """Independent Gaussians; squashed, their tanh (entropy then is that of the Gaussian)."""

    def __init__(self, log_std: Floats, squash: bool) -> None:
        self._log_std = log_std[:, None]
        self._squash = squash
        self.log_std_slope = np.zeros_like(log_std)
        """What `slope` found for the log standard deviation."""

    def draw(self, steps: int, count: int, generator: torch.Generator) -> list[Noise]:
        # one step at a time: torch draws Gaussians otherwise when there are many
        shape = (count, len(self._log_std))
        return [torch.randn(shape, generator=generator).numpy() for _ in range(steps)]

    def choose(self, out: Floats, noise: Noise | None) -> Floats:
        raw: Floats = out.T.copy()
        if noise is not None:
            raw += np.exp(self._log_std).T * noise
        return np.tanh(raw) if self._squash else raw

    def evaluate(self, out: Floats, action: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        action = action.T
        raw = action
        if self._squash:
            action = action.clip(-1 + 1e-6, 1 - 1e-6)
            raw = np.arctanh(action)
        self._scale = np.exp(-self._log_std)
        self._z = (raw - out) * self._scale
        density = -0.5 * self._z * self._z - self._log_std - np.float32(_HALF_LOG_2PI)
        if self._squash:
            density -= np.log1p(-action * action)
        log_prob: Floats = np.add.reduce(density, axis=0)
        entropy = np.add.reduce(np.float32(0.5 + _HALF_LOG_2PI) + self._log_std[:, 0])
        return log_prob, np.full(len(log_prob), entropy, np.float32)

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        by_log_std = (self._z * self._z - 1) @ of_log_prob
        self.log_std_slope[:] = by_log_std + of_entropy * len(of_log_prob)
        slope: Floats = self._z * self._scale * of_log_prob
        return slope


Distribution = Categorical | MultiCategorical | Bernoulli | Normal


def make(action: ActionSpec, log_std: Floats | None, squash: bool) -> Distribution:
    if action.kind == "discrete":
        return Categorical(action.nvec[0])
    if action.kind == "multi_discrete":
        return MultiCategorical(action.nvec)
    if action.kind == "binary":
        return Bernoulli(action.shape[0])
    assert log_std is not None
    return Normal(log_std, squash)


def masked(out: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    """[entries, B] with impossible entries sunk; `mask` is [B, entries]."""
    out[~mask.T] = _NEVER
    return out
