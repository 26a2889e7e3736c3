"""Normalisers that belong to the policy: saved with it, changed only by training.

Statistics are merged batch-wise in float64 and held in float32, which every device has.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from spotter.types import Leaf


class RunningNorm(nn.Module):
    """Mean and standard deviation of everything seen so far, per feature."""

    CLIP: ClassVar = 10.0

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("var", torch.ones(shape))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / (self.var + 1e-8).sqrt()).clamp(-self.CLIP, self.CLIP)

    @torch.no_grad()
    def update(self, batch: Tensor) -> None:
        """Merge [B, …] observations (Chan's parallel formula)."""
        var, mean = torch.var_mean(batch.cpu().double(), dim=0, correction=0)
        old_mean, old_var = self.mean.cpu().double(), self.var.cpu().double()
        seen, size = int(self.count), batch.shape[0]
        total = seen + size
        delta = mean - old_mean
        spread = old_var * seen + var * size + delta.square() * seen * size / total
        self.mean.copy_(old_mean + delta * size / total)
        self.var.copy_(spread / total)
        self.count.fill_(total)


class BoundsNorm(nn.Module):
    """A Box's finite bounds to [-1, 1]; dimensions without bounds pass through."""

    centre: Tensor
    radius: Tensor

    def __init__(self, leaf: Leaf) -> None:
        super().__init__()
        low, high = torch.tensor(leaf.low), torch.tensor(leaf.high)
        bounded = low.isfinite() & high.isfinite() & (high > low)
        centre = torch.where(bounded, (low + high) / 2, torch.zeros_like(low))
        radius = torch.where(bounded, (high - low) / 2, torch.ones_like(low))
        self.register_buffer("centre", centre)
        self.register_buffer("radius", radius)

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.centre) / self.radius


def is_scaled(leaf: Leaf) -> bool:
    """Whether the space says that its numbers are small already.

    Statistics would amplify those that hardly vary, such as rays that rarely meet anything.
    """
    return bool(leaf.low) and min(leaf.low) >= -1 and max(leaf.high) <= 1


class ValueNorm(nn.Module):
    """PopArt (van Hasselt et al., 2016): the critic predicts standardised returns.

    When the statistics move, the value head is rescaled so that its predictions do not.
    """

    mean: Tensor
    square: Tensor
    std: Tensor
    updates: Tensor

    def __init__(self, head: nn.Linear, rate: float = 0.1) -> None:
        super().__init__()
        self._head = [head]  # in a list: the policy already owns these parameters
        self._rate = rate
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("square", torch.ones(()))
        self.register_buffer("std", torch.ones(()))
        self.register_buffer("updates", torch.zeros(()))

    def normalize(self, value: Tensor) -> Tensor:
        return (value - self.mean) / self.std

    def restore(self, normalized: Tensor) -> Tensor:
        return normalized * self.std + self.mean

    @torch.no_grad()
    def update(self, target: Tensor) -> None:
        old_mean, old_std = self.mean.clone(), self.std.clone()
        self.updates += 1
        rate = torch.clamp(1 / self.updates, min=self._rate)  # an average until the first window
        self.mean += rate * (target.mean() - self.mean)
        self.square += rate * (target.square().mean() - self.square)
        self.std.copy_((self.square - self.mean.square()).clamp_min(1e-8).sqrt())
        head = self._head[0]
        head.weight *= old_std / self.std
        head.bias.copy_((old_std * head.bias + old_mean - self.mean) / self.std)
