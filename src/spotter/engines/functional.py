"""The mathematics all algorithms share: pure functions of tensors, no state, no logging.

Shapes: [T, N] = time × environment, [B] = flattened samples. `episode_end` is true where an
episode ended for whatever reason; bootstrapping is already inside `next_value` (0 where
terminated, V(final observation) where truncated), so nothing here asks how an episode ended.
"""

import torch
from torch import Tensor

from spotter.engines.losses import clipped_surrogate as clipped_surrogate
from spotter.engines.losses import exp as exp
from spotter.engines.losses import mean as mean
from spotter.engines.losses import objective as objective
from spotter.engines.losses import policy_gradient as policy_gradient
from spotter.engines.losses import policy_shift as policy_shift
from spotter.engines.losses import value_loss as value_loss


def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    episode_end: Tensor,
    gamma: float,
    lam: float,
) -> Tensor:
    """Generalised advantage estimation, [T, N]; `episode_end` cuts the recursion."""
    delta = reward + gamma * next_value - value
    decay = gamma * lam * (~episode_end).to(delta.dtype)
    return _reverse_scan(delta, decay)


def discounted_returns(
    reward: Tensor, next_value: Tensor, episode_end: Tensor, gamma: float
) -> Tensor:
    """Reward-to-go, [T, N]; `next_value` is added where an episode or the rollout ends."""
    ends = episode_end.clone()
    ends[-1] = True
    tail = torch.where(ends, gamma * next_value, torch.zeros_like(next_value))
    return _reverse_scan(reward + tail, gamma * (~ends).to(reward.dtype))


def episode_returns(to_go: Tensor, episode_end: Tensor) -> Tensor:
    """Each step's whole-episode return, [T, N]: the reward-to-go of the episode's first step.

    The first row must start an episode.
    """
    started = torch.zeros_like(episode_end)
    started[0] = True
    started[1:] = episode_end[:-1]
    whole = to_go.clone()
    for t in range(1, to_go.shape[0]):
        whole[t] = torch.where(started[t], to_go[t], whole[t - 1])
    return whole


def _reverse_scan(x: Tensor, decay: Tensor) -> Tensor:
    """y[t] = x[t] + decay[t] · y[t+1]."""
    result = torch.empty_like(x)
    running = torch.zeros_like(x[0])
    for t in range(x.shape[0] - 1, -1, -1):
        running = torch.addcmul(x[t], decay[t], running)
        result[t] = running
    return result


def moments(**values: Tensor) -> dict[str, Tensor]:
    """Mean and standard deviation of each, as `name/mean` and `name/std`."""
    found: dict[str, Tensor] = {}
    for name, x in values.items():
        std, mean = torch.std_mean(x, correction=0)
        found |= {f"{name}/mean": mean, f"{name}/std": std}
    return found


def averages(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each entry."""
    return {name: torch.stack([row[name] for row in rows]).mean() for name in rows[0]}


def numbers(metrics: dict[str, Tensor | float]) -> dict[str, float]:
    """All of them as floats, with one wait for the device."""
    tensors = {name: value for name, value in metrics.items() if isinstance(value, Tensor)}
    device = next(iter(tensors.values())).device
    together = torch.stack([value.float().to(device) for value in tensors.values()]).tolist()
    read = dict(zip(tensors, together, strict=True))
    return {name: read[name] if name in read else float(metrics[name]) for name in metrics}


def std(x: Tensor) -> Tensor:
    """Sample standard deviation."""
    return x.std()


def standardize(x: Tensor) -> Tensor:
    """Zero mean, unit variance over all elements; a single element becomes 0, never NaN."""
    if x.numel() < 2:
        return torch.zeros_like(x)
    return (x - x.mean()) / (x.std() + 1e-8)


def explained_variance(value: Tensor, target: Tensor) -> Tensor:
    """1 − Var(target − value) / Var(target); 0 where targets do not vary."""
    if target.numel() < 2:
        return target.new_zeros(())
    spread = target.var()
    explained = 1 - (target - value).var() / spread.clamp_min(1e-12)
    return torch.where(spread > 1e-12, explained, torch.zeros_like(explained))


def dead_fraction(activations: list[Tensor]) -> Tensor:
    """Share of units whose output, after the activation, is the same for every sample of [B, …].

    That is a ReLU stuck at 0 and equally a saturated tanh.
    """
    dead = [(layer.amax(0) - layer.amin(0) < 1e-6).flatten() for layer in activations]
    return torch.cat(dead).float().mean() if dead else torch.zeros(())


def norm(tensors: list[Tensor]) -> Tensor:
    """Euclidean norm of all elements of all tensors."""
    if not tensors:
        return torch.zeros(())
    parts = torch.stack([torch.linalg.vector_norm(tensor) for tensor in tensors])
    total: Tensor = torch.linalg.vector_norm(parts)
    return total
