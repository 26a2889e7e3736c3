"""Action heads in NumPy with hand-derived gradients: the twins of `nets/heads.py`.

Everything lies transposed, [entries, B]: reductions over a handful of entries are then a few
operations on long rows instead of very many on short ones. `read` takes what the head's linear
layer put out; the methods after it speak about that. Masked entries have probability 0.

Choosing needs no probabilities: `draw` takes random numbers for several vector steps off the
stream, in the order in which the reference would, and `choose` makes actions of one step's share.
"""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from spotter.types import ActionSpec

Floats = npt.NDArray[np.float32]
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

    def read(self, out: Floats) -> None:
        out = out[self._axis]
        shifted = out - out.max(axis=0)
        weights = np.exp(shifted)
        total = np.add.reduce(weights, axis=0)
        self.log_probs = np.subtract(shifted, np.log(total), out=shifted)
        self.probs = np.divide(weights, total, out=weights)
        self._rows = np.arange(out.shape[1])

    def log_prob(self, action: npt.NDArray[Any]) -> Floats:
        self._action = action
        chosen: Floats = self.log_probs[action, self._rows]
        return chosen

    def entropy(self) -> Floats:
        entropy: Floats = -np.add.reduce(self.probs * self.log_probs, axis=0)
        self._entropy = entropy
        return entropy

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        """Derivative by `out`, given those by `log_prob(action)` and by each row's entropy."""
        if of_entropy:
            # in this order: a masked entry's huge logarithm meets its probability of 0 first
            slope: Floats = self.probs * (self.log_probs + self._entropy)
            slope *= np.float32(of_entropy)
            slope += self.probs * of_log_prob
        else:
            slope = self.probs * of_log_prob
        np.negative(slope, out=slope)
        slope[self._action, self._rows] += of_log_prob
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

    def read(self, out: Floats) -> None:
        for part in self._parts:
            part.read(out)

    def log_prob(self, action: npt.NDArray[Any]) -> Floats:
        chosen = [part.log_prob(action[:, i]) for i, part in enumerate(self._parts)]
        total: Floats = np.add.reduce(chosen, axis=0)
        return total

    def entropy(self) -> Floats:
        total: Floats = np.add.reduce([part.entropy() for part in self._parts], axis=0)
        return total

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

    def read(self, out: Floats) -> None:
        self._out = out
        tail = np.log1p(np.exp(-np.abs(out)))
        self.on = np.minimum(out, 0) - tail
        self.off = np.minimum(-out, 0) - tail
        self._probs = np.exp(self.on)

    def log_prob(self, action: npt.NDArray[Any]) -> Floats:
        self._action = action.T
        total: Floats = np.add.reduce(np.where(self._action != 0, self.on, self.off), axis=0)
        return total

    def entropy(self) -> Floats:
        terms = self._probs * self.on + np.exp(self.off) * self.off
        total: Floats = -np.add.reduce(terms, axis=0)
        return total

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        slope: Floats = (self._action - self._probs).astype(np.float32) * of_log_prob
        if of_entropy:
            slope -= self._probs * self._out * np.exp(self.off) * np.float32(of_entropy)
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

    def read(self, out: Floats) -> None:
        self._mean = out

    def log_prob(self, action: npt.NDArray[Any]) -> Floats:
        action = action.T
        raw = action
        if self._squash:
            action = action.clip(-1 + 1e-6, 1 - 1e-6)
            raw = np.arctanh(action)
        self._scale = np.exp(-self._log_std)
        self._z = (raw - self._mean) * self._scale
        density = -0.5 * self._z * self._z - self._log_std - np.float32(_HALF_LOG_2PI)
        if self._squash:
            density -= np.log1p(-action * action)
        total: Floats = np.add.reduce(density, axis=0)
        return total

    def entropy(self) -> Floats:
        per_row = np.add.reduce(np.float32(0.5 + _HALF_LOG_2PI) + self._log_std[:, 0])
        return np.full(self._mean.shape[1], per_row, np.float32)

    def slope(self, of_log_prob: Floats, of_entropy: float) -> Floats:
        by_log_std = (self._z * self._z - 1) @ of_log_prob
        self.log_std_slope[:] = by_log_std + of_entropy * self._mean.shape[1]
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


def masked(out: Floats, mask: npt.NDArray[np.bool_] | None) -> Floats:
    """[entries, B] with impossible entries sunk; `mask` is [B, entries]."""
    if mask is not None:
        out[~mask.T] = _NEVER
    return out
