"""Action heads: features in, a distribution out, for each kind of action space.

Plain tensor code instead of `torch.distributions`: same mathematics, no argument checks and no
objects on the hot path. Masks are [B, entries] booleans, true where an action is valid; an invalid
action has probability 0 and adds nothing to the entropy.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy.layers import initialized
from spotter.types import ActionSpec

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Distribution(Protocol):
    """One distribution per row of a batch."""

    def sample(self, generator: torch.Generator | None) -> Tensor: ...

    def mode(self) -> Tensor: ...

    def log_prob(self, action: Tensor) -> Tensor:
        """[B]"""

    def entropy(self) -> Tensor:
        """[B]"""


def choose(
    distribution: Distribution, generator: torch.Generator | None, deterministic: bool
) -> Tensor:
    return distribution.mode() if deterministic else distribution.sample(generator)


class Categorical:
    """One choice among n."""

    def __init__(self, logits: Tensor) -> None:
        self.log_probs = logits - logits.logsumexp(-1, keepdim=True)

    def sample(self, generator: torch.Generator | None) -> Tensor:
        uniform = torch.rand(
            self.log_probs.shape, generator=generator, device=self.log_probs.device
        )
        gumbel = -torch.log(-torch.log(uniform.clamp_(1e-20, 1 - 1e-7)))
        return (self.log_probs + gumbel).argmax(-1)

    def mode(self) -> Tensor:
        return self.log_probs.argmax(-1)

    def log_prob(self, action: Tensor) -> Tensor:
        return self.log_probs.gather(-1, action.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -(self.log_probs.exp() * self.log_probs).sum(-1)


class MultiCategorical:
    """Several independent choices."""

    def __init__(self, logits: Tensor, nvec: tuple[int, ...]) -> None:
        self.parts = [Categorical(part) for part in torch.split(logits, list(nvec), -1)]

    def sample(self, generator: torch.Generator | None) -> Tensor:
        return torch.stack([part.sample(generator) for part in self.parts], -1)

    def mode(self) -> Tensor:
        return torch.stack([part.mode() for part in self.parts], -1)

    def log_prob(self, action: Tensor) -> Tensor:
        chosen = [part.log_prob(action[..., i]) for i, part in enumerate(self.parts)]
        return torch.stack(chosen, -1).sum(-1)

    def entropy(self) -> Tensor:
        return torch.stack([part.entropy() for part in self.parts], -1).sum(-1)


class Bernoulli:
    """Independent on/off switches."""

    def __init__(self, logits: Tensor) -> None:
        self.on, self.off = nn.functional.logsigmoid(logits), nn.functional.logsigmoid(-logits)

    def sample(self, generator: torch.Generator | None) -> Tensor:
        uniform = torch.rand(self.on.shape, generator=generator, device=self.on.device)
        return (uniform < self.on.exp()).long()

    def mode(self) -> Tensor:
        return (self.on > self.off).long()

    def log_prob(self, action: Tensor) -> Tensor:
        return torch.where(action.bool(), self.on, self.off).sum(-1)

    def entropy(self) -> Tensor:
        return -(self.on.exp() * self.on + self.off.exp() * self.off).sum(-1)


class Normal:
    """Independent Gaussians; squashed, their tanh (entropy then is that of the Gaussian)."""

    def __init__(self, mean: Tensor, log_std: Tensor, squash: bool) -> None:
        self.mean, self.log_std, self.squash = mean, log_std, squash

    def sample(self, generator: torch.Generator | None) -> Tensor:
        noise = torch.randn(self.mean.shape, generator=generator, device=self.mean.device)
        raw = self.mean + self.log_std.exp() * noise
        return raw.tanh() if self.squash else raw

    def mode(self) -> Tensor:
        return self.mean.tanh() if self.squash else self.mean

    def log_prob(self, action: Tensor) -> Tensor:
        raw = action
        if self.squash:
            action = action.clamp(-1 + 1e-6, 1 - 1e-6)
            raw = torch.atanh(action)
        z = (raw - self.mean) * torch.exp(-self.log_std)
        density = -0.5 * z.square() - self.log_std - _HALF_LOG_2PI
        if self.squash:
            density = density - torch.log1p(-action.square())
        return density.sum(-1)

    def entropy(self) -> Tensor:
        per_row = (0.5 + _HALF_LOG_2PI + self.log_std).sum()
        return per_row.expand(self.mean.shape[0])


class Head(nn.Module):
    """Linear layer (and a log-std for Box) that parametrises the right distribution."""

    log_std: Tensor

    def __init__(self, features: int, action: ActionSpec, config: PolicyConfig) -> None:
        super().__init__()
        self._action = action
        self._squash = config.squash
        outputs = action.shape[0] if action.kind in ("box", "binary") else sum(action.nvec)
        self.linear = initialized(
            nn.Linear(features, outputs), config.policy_gain, config.orthogonal
        )
        if action.kind == "box":
            self.log_std = nn.Parameter(torch.full((outputs,), config.log_std))

    def forward(self, features: Tensor, mask: Tensor | None) -> Distribution:
        out: Tensor = self.linear(features)
        if mask is not None:
            # The most negative finite number: exp() gives exactly 0 and 0·log 0 stays 0, not NaN.
            out = out.masked_fill(~mask, torch.finfo(out.dtype).min / 2)
        if self._action.kind == "discrete":
            return Categorical(out)
        if self._action.kind == "multi_discrete":
            return MultiCategorical(out, self._action.nvec)
        if self._action.kind == "binary":
            return Bernoulli(out)
        return Normal(out, self.log_std, self._squash)
