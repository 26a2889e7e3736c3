"""What `functional.py` says about tensors, about arrays.

Names and meanings are the same, so an algorithm reads alike on either path.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from spotter.engines import kernels, losses
from spotter.engines.losses import Scalar, Term
from spotter.engines.losses import exp as exp
from spotter.engines.losses import objective as objective
from spotter.engines.losses import policy_gradient as policy_gradient
from spotter.engines.plain import Floats
from spotter.engines.plain import mean as mean
from spotter.types import Array

Bools = npt.NDArray[np.bool_]


def gae(
    reward: Floats,
    value: Floats,
    next_value: Floats,
    episode_end: Bools,
    gamma: float,
    lam: float,
) -> Floats:
    """Generalised advantage estimation, [T, N]; `episode_end` cuts the recursion."""
    delta = reward + np.float32(gamma) * next_value - value
    return _reverse_scan(delta, np.float32(gamma * lam) * ~episode_end)


def discounted_returns(
    reward: Floats, next_value: Floats, episode_end: Bools, gamma: float
) -> Floats:
    """Reward-to-go, [T, N]; `next_value` is added where an episode or the rollout ends."""
    ends = episode_end.copy()
    ends[-1] = True
    tail = np.where(ends, np.float32(gamma) * next_value, np.float32(0))
    return _reverse_scan(reward + tail, np.float32(gamma) * ~ends)


def episode_returns(to_go: Floats, episode_end: Bools) -> Floats:
    """Each step's whole-episode return, [T, N]; the first row must start an episode."""
    whole = to_go.copy()
    for t in range(1, len(to_go)):
        whole[t] = np.where(episode_end[t - 1], to_go[t], whole[t - 1])
    return whole


def _reverse_scan(x: Floats, decay: Floats) -> Floats:
    """y[t] = x[t] + decay[t] · y[t+1]."""
    result = x.copy()
    for t in range(len(x) - 2, -1, -1):
        result[t] += decay[t] * result[t + 1]
    return result


def moments(**values: npt.NDArray[Any]) -> dict[str, float]:
    """Mean and standard deviation of each, as `name/mean` and `name/std`."""
    found: dict[str, float] = {}
    for name, x in values.items():
        centre = mean(x)
        found[f"{name}/mean"] = centre
        found[f"{name}/std"] = math.sqrt(_squares(x - np.float32(centre)) / x.size)
    return found


def _squares(x: Array) -> float:
    flat = x.reshape(-1)
    return float(np.dot(flat, flat))


def numbers(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items()}


def averages(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The mean of each entry."""
    return {name: sum(float(row[name]) for row in rows) / len(rows) for name in rows[0]}


def std(x: Floats) -> float:
    """Sample standard deviation."""
    return math.sqrt(_variance(x))


def standardize(x: Floats) -> Floats:
    """Zero mean, unit variance over all elements; a single element becomes 0, never NaN."""
    standard: Floats = np.empty(x.shape, np.float32)
    kernels.standardize(x.reshape(-1), standard.reshape(-1))
    return standard


def clipped_surrogate(ratio: Floats, advantage: Floats, clip: float) -> Term[Floats]:
    """`losses.clipped_surrogate`, compiled where that worked."""
    if kernels.surrogate is None:
        return losses.clipped_surrogate(ratio, advantage, clip)
    slope = np.empty_like(ratio)
    return Term(kernels.surrogate(ratio, advantage, slope, clip), slope)


def value_loss(
    value: Floats,
    target: Floats,
    *,
    huber_delta: float | None = None,
    old_value: Floats | None = None,
    clip: float | None = None,
) -> Term[Floats]:
    """`losses.value_loss`, compiled where that worked."""
    if kernels.value_loss is None:
        return losses.value_loss(
            value, target, huber_delta=huber_delta, old_value=old_value, clip=clip
        )
    assert clip is None or old_value is not None, "clipping needs the values collected with"
    slope = np.empty_like(value)
    loss = kernels.value_loss(
        value,
        target,
        value if old_value is None else old_value,
        slope,
        math.inf if huber_delta is None else huber_delta,
        math.inf if clip is None else clip,
    )
    return Term(loss, slope)


def policy_shift(log_ratio: Floats, clip: float, ratio: Floats | None = None) -> dict[str, Scalar]:
    """`losses.policy_shift`, compiled where that worked."""
    if kernels.shift is None:
        return losses.policy_shift(log_ratio, clip, ratio)
    found = kernels.shift(log_ratio, np.exp(log_ratio) if ratio is None else ratio, clip)
    names = ("policy/kl", "policy/approx_kl", "policy/clip_fraction")
    return dict(zip(names, found, strict=True))


def explained_variance(value: Floats, target: Floats) -> float:
    """1 − Var(target − value) / Var(target); 0 where targets do not vary."""
    if target.size < 2:
        return 0.0
    spread = _variance(target)
    return 1.0 - _variance(target - value) / spread if spread > 1e-12 else 0.0


def _variance(x: Floats) -> float:
    return _squares(x - np.float32(mean(x))) / (x.size - 1)


def dead_fraction(activations: list[Floats]) -> float:
    """Share of units whose output, after the activation, is the same for every sample of [B, …]."""
    units = sum(layer.shape[1] for layer in activations)
    if not units:
        return 0.0
    dead = sum(
        int(np.count_nonzero(layer.max(axis=0) - layer.min(axis=0) < 1e-6)) for layer in activations
    )
    return float(dead / units)
