"""The terms of an objective, each stated once: its loss and the loss's slope.

The functions take arrays and tensors alike. A loss is a mean over samples, [B]; a slope is its
derivative by what the policy says about each sample: log-probability, entropy or value. Every
engine carries slopes on to the weights in its own way, so no loss is ever differentiated. For
arrays, `objectives.py` has compiled versions of three of them; these are their reference.
"""

from collections.abc import Mapping
from functools import reduce
from operator import add
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spotter.engines import plain
from spotter.engines.plain import Floats
from spotter.rollouts.rollout import X

B = TypeVar("B", Tensor, Floats)
"""Samples, [B]."""
Scalar = float | Tensor
"""A tensor without dimensions, where torch computes."""


class Term(NamedTuple, Generic[X]):
    """One part of an objective."""

    loss: Scalar
    slope: X


class Evaluated(NamedTuple, Generic[X]):
    """What the present policy says about actions taken earlier; all [B]."""

    log_prob: X
    entropy: X
    raw_value: X
    """In the units the critic learns in: others than those of returns with PopArt only."""


class Slopes(NamedTuple, Generic[X]):
    """Derivatives of an objective by what the policy says."""

    log_prob: X
    """By that of each sample."""
    entropy: Scalar
    """By the mean."""
    raw_value: X | None
    """By that of each sample; None where the critic does not learn."""


class Objective(NamedTuple, Generic[X]):
    """What is minimised: its terms by metric name, and where they lead."""

    terms: dict[str, Scalar]
    slopes: Slopes[X]


def _namespace(x: Tensor | Floats) -> ModuleType:
    return torch if isinstance(x, Tensor) else np


def exp(x: B) -> B:
    found: B = _namespace(x).exp(x)
    return found


def mean(x: Tensor | npt.NDArray[np.bool_ | np.float32]) -> Scalar:
    return x.float().mean() if isinstance(x, Tensor) else plain.mean(x)


def _clip(x: B, low: Scalar, high: Scalar) -> B:
    return x.clip(low, high)  # type: ignore[arg-type]  # both are numbers, or both tensors


def policy_gradient(log_prob: B, advantage: B) -> Term[B]:
    """−E[A log π] (Williams, 1992); by log π."""
    return Term(-mean(advantage * log_prob), advantage * (-1 / len(advantage)))


def clipped_surrogate(ratio: B, advantage: B, clip: Scalar) -> Term[B]:
    """−E[min(r A, clip(r, 1 ± ε) A)] (Schulman et al., 2017, equation 7); by log r."""
    xp = _namespace(ratio)
    free = ratio * advantage
    held = _clip(ratio, 1 - clip, 1 + clip) * advantage
    # where the clipped term is the smaller one it is constant; on a tie both are the same
    slope = xp.where(held < free, xp.zeros_like(free), free * (-1 / len(free)))
    return Term(-mean(xp.minimum(free, held)), slope)


def value_loss(
    value: B,
    target: B,
    *,
    huber_delta: float | None = None,
    old_value: B | None = None,
    clip: Scalar | None = None,
) -> Term[B]:
    """E[½ (V − R)²], or Huber's error; by V.

    With `clip`, the worse of that and the error of a value held within `clip` of the old one.
    """
    loss, slope = _error(value - target, huber_delta)
    if clip is not None:
        assert old_value is not None, "value clipping needs the values the rollout was made with"
        xp = _namespace(value)
        moved = value - old_value
        held, _ = _error(old_value + _clip(moved, -clip, clip) - target, huber_delta)
        # beyond the range the held value is constant; within, both are the same
        is_constant = (held > loss) & (abs(moved) > clip)
        slope = xp.where(is_constant, xp.zeros_like(slope), slope)
        loss = xp.maximum(loss, held)
    return Term(mean(loss), slope * (1 / len(slope)))


def _error(difference: B, huber_delta: float | None) -> tuple[B, B]:
    """Of each sample, and its slope."""
    square = 0.5 * difference * difference
    if huber_delta is None:
        return square, difference
    size = abs(difference)
    beyond = huber_delta * (size - 0.5 * huber_delta)
    loss = _namespace(size).where(size <= huber_delta, square, beyond)
    return loss, difference.clip(-huber_delta, huber_delta)


def objective(
    policy: Term[B],
    value: Term[B] | None,
    entropy: B,
    *,
    value_weight: Scalar,
    entropy_weight: Scalar,
    metrics: Mapping[str, Scalar] | None = None,
) -> Objective[B]:
    """policy + c₁ value − c₂ E[entropy]; no `value` where the critic does not learn.

    `metrics` are reported along with the terms.
    """
    spread, of_value = mean(entropy), None
    terms = {"loss/policy": policy.loss}
    if value is not None:
        terms["loss/value"], of_value = value_weight * value.loss, value_weight * value.slope
    terms["loss/entropy"] = -entropy_weight * spread
    terms["loss/total"] = reduce(add, terms.values())
    terms["policy/entropy"] = spread
    if metrics is not None:
        terms |= metrics
    return Objective(terms, Slopes(policy.slope, -entropy_weight, of_value))


def policy_shift(log_ratio: B, clip: Scalar, ratio: B | None = None) -> dict[str, Scalar]:
    """How far the policy moved from the one that collected: two KL estimates, clip fraction."""
    change = (exp(log_ratio) if ratio is None else ratio) - 1
    return {
        # k1 is unbiased but may be negative; k3 is never negative and has low variance
        "policy/kl": -mean(log_ratio),
        "policy/approx_kl": mean(change - log_ratio),
        "policy/clip_fraction": mean(abs(change) > clip),
    }
