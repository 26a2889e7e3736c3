"""What the compiled kernels compute, in NumPy: used where they could not be built.

Arrays are float32 unless said otherwise; results go to the arrays named for them. Activations are
numbered, `LINEAR` standing for none. `_kernels.c` has the same functions with the same arguments;
its losses have their reference in `losses.py`, and cores in `policy/recurrence.py`.
"""

import math
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.policy.recurrence import gru as gru
from spotter.policy.recurrence import gru_slopes as gru_slopes
from spotter.policy.recurrence import lstm as lstm
from spotter.policy.recurrence import lstm_slopes as lstm_slopes
from spotter.types import Array

Floats = npt.NDArray[np.float32]
LINEAR: Final = 0
TANH: Final = 1
RELU: Final = 2


class Scratch:
    """Memory for [B, width] that is reused while B does not grow."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._memory: Floats = np.empty((0, width), np.float32)
        self._rows = self._memory

    def rows(self, count: int) -> Floats:
        if len(self._rows) != count:
            if len(self._memory) < count:
                self._memory = np.empty((count, self._width), np.float32)
            self._rows = self._memory[:count]
        return self._rows


@cache
def shared_scratch(width: int, use: str) -> Scratch:
    """For values not needed any more by the next layer: they stay in the cache.

    One thread computes; a collector that works ahead runs in a process of its own.
    """
    return Scratch(width)


def ones(count: int) -> Floats:
    global _ones
    if len(_ones) < count:
        _ones = np.ones(count, np.float32)
    return _ones[:count]


_ones: Floats = np.ones(0, np.float32)


def mean(x: Array) -> float:
    """`x.mean()` without the detour numpy makes."""
    return float(np.add.reduce(x, axis=None)) / x.size


def forward(x: Floats, weight: Floats, bias: Floats, out: Floats, kind: int) -> None:
    """out[B, O] = activation(x[B, I] weightᵀ + bias)."""
    np.matmul(x, weight.T, out=out)
    out += bias
    if kind == TANH:
        np.tanh(out, out=out)
    elif kind == RELU:
        np.maximum(out, 0, out=out)


def backward(
    d: Floats,
    h: Floats | None,
    x: Floats,
    weight: Floats,
    of_weight: Floats,
    of_bias: Floats,
    of_x: Floats | None,
    kind: int,
) -> None:
    """From the derivative by the output h of `forward` to those by weight, bias and (if any) x.

    With an activation, `d` is overwritten by the derivative before it.
    """
    if kind != LINEAR:
        assert h is not None
        slope = shared_scratch(d.shape[1], "slope").rows(len(d))
        if kind == TANH:
            np.multiply(h, h, out=slope)
            np.subtract(1, slope, out=slope)
        else:
            np.greater(h, 0, out=slope)
        d *= slope
    np.matmul(d.T, x, out=of_weight)
    np.matmul(ones(len(d)), d, out=of_bias)
    if of_x is not None and d.shape[1] == 1:
        np.multiply(d, weight, out=of_x)  # a product of one term each is slow as a matrix product
    elif of_x is not None:
        np.matmul(d, weight, out=of_x)


def clip(gradient: Floats, limit: float) -> float:
    """Scale the gradient down to the limit; returns its norm before."""
    norm = math.sqrt(float(np.dot(gradient, gradient)))
    factor = limit / (norm + 1e-6)
    if limit < math.inf and not factor >= 1:  # not a number spreads, as it does in torch
        gradient *= np.float32(factor)
    return norm


def adam(
    flat: Floats,
    gradient: Floats,
    mean: Floats,
    square: Floats,
    split: int,
    lr: float,
    critic_lr: float,
    steps: int,
    first: float,
    second: float,
    eps: float,
    decay: float,
) -> None:
    """Step number `steps`; from `split` on with `critic_lr`."""
    out = shared_scratch(len(flat), "step").rows(1)[0]
    np.subtract(gradient, mean, out=out)
    out *= np.float32(1 - first)
    mean += out
    _blend_squares(square, gradient, second, out)
    np.sqrt(square, out=out)
    # (m / c₁) / (√v / √c₂ + ε), with c₁ and √c₂ moved to where they cost nothing
    out *= np.float32((1 - first**steps) / math.sqrt(1 - second**steps))
    out += np.float32(eps * (1 - first**steps))
    np.divide(mean, out, out=out)
    if decay:
        out += np.float32(decay) * flat
    descend(flat, out, split, lr, critic_lr)


def rmsprop(
    flat: Floats,
    gradient: Floats,
    square: Floats,
    split: int,
    lr: float,
    critic_lr: float,
    keep: float,
    eps: float,
) -> None:
    """A step along the gradient by its running root mean square."""
    out = shared_scratch(len(flat), "step").rows(1)[0]
    _blend_squares(square, gradient, keep, out)
    np.sqrt(square, out=out)
    out += np.float32(eps)
    np.divide(gradient, out, out=out)
    descend(flat, out, split, lr, critic_lr)


def descend(flat: Floats, change: Floats, split: int, lr: float, critic_lr: float) -> None:
    """Subtract the change (overwritten) times its rate."""
    if lr == critic_lr:
        change *= np.float32(lr)
    else:
        change[:split] *= np.float32(lr)
        change[split:] *= np.float32(critic_lr)
    flat -= change


def _blend_squares(square: Floats, gradient: Floats, keep: float, scratch: Floats) -> None:
    """A running mean of squares takes in one more."""
    square *= np.float32(keep)
    np.multiply(gradient, gradient, out=scratch)
    scratch *= np.float32(1 - keep)
    square += scratch


def categorical(
    out: Floats,
    action: npt.NDArray[np.int64],
    log_probs: Floats,
    probs: Floats,
    chosen: Floats,
    entropy: Floats,
) -> None:
    """Of one choice per column: out, log_probs, probs [entries, B]; the rest [B]."""
    np.subtract(out, out.max(axis=0), out=log_probs)
    np.exp(log_probs, out=probs)
    total = np.add.reduce(probs, axis=0)
    log_probs -= np.log(total)
    probs /= total
    chosen[:] = log_probs[action, np.arange(len(action))]
    np.add.reduce(probs * log_probs, axis=0, out=entropy)
    np.negative(entropy, out=entropy)


def categorical_slope(
    log_probs: Floats,
    probs: Floats,
    action: npt.NDArray[np.int64],
    entropy: Floats,
    of_log_prob: Floats,
    of_entropy: float,
    slope: Floats,
) -> None:
    """Derivative by `out` of `categorical`, given those by `chosen` and by each entropy."""
    if of_entropy:
        # in this order: a masked entry's huge logarithm meets its probability of 0 first
        np.multiply(probs, log_probs + entropy, out=slope)
        slope *= np.float32(-of_entropy)
        slope -= probs * of_log_prob
    else:
        np.multiply(probs, -of_log_prob, out=slope)
    slope[action, np.arange(len(action))] += of_log_prob


def standardize(x: Floats, out: Floats) -> None:
    """Zero mean, unit variance; a single element becomes 0."""
    np.subtract(x, np.float32(mean(x)), out=out)
    if len(x) > 1:
        out /= np.float32(math.sqrt(float(np.dot(out, out)) / (len(x) - 1)) + 1e-8)
