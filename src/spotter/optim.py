"""One gradient step: learning rates from schedules, clipping, and norms by part."""

import torch
from torch import Tensor, nn

from spotter import functional as F
from spotter.config import AlgoConfig
from spotter.nets.actor_critic import Policy
from spotter.types import Progress


class Optimizer:
    """A torch optimizer with a rate for what only the critic uses, and one for the rest."""

    def __init__(self, policy: Policy, config: AlgoConfig) -> None:
        self._config = config
        self._parts = policy.parts()
        self.parameters = list(policy.parameters())
        critic = policy.critic_parameters()
        own = {id(parameter) for parameter in critic}
        rest = [parameter for parameter in self.parameters if id(parameter) not in own]
        self.torch = _build(config.optimizer, [rest, critic])

    def set_rates(self, progress: Progress, factor: float = 1.0) -> None:
        lr = self._config.lr.at(progress)
        critic_lr = self._config.critic_lr.at(progress) if self._config.critic_lr else lr
        for group, rate in zip(self.torch.param_groups, (lr, critic_lr), strict=True):
            group["lr"] = rate * factor

    def step(self, loss: Tensor, progress: Progress) -> Tensor:
        """Backward, clip, step; returns the gradient norm before clipping."""
        self.torch.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        limit = self._config.max_grad_norm
        most = limit.at(progress) if limit is not None else float("inf")
        norm = nn.utils.clip_grad_norm_(self.parameters, most)
        self.torch.step()
        return norm

    def gradient_norms(self) -> dict[str, Tensor]:
        """Norms of the last step's (clipped) gradients by part of the network."""
        return {
            f"grad/{name}": F.norm([p.grad for p in parameters if p.grad is not None])
            for name, parameters in self._parts.items()
        }


def _build(name: str, groups: list[list[nn.Parameter]]) -> torch.optim.Optimizer:
    params = [{"params": group} for group in groups]
    if name == "adam":
        return torch.optim.Adam(params, lr=0.0, eps=1e-5, fused=True)
    if name == "adamw":
        return torch.optim.AdamW(params, lr=0.0, eps=1e-5, fused=True)
    if name == "rmsprop":
        return torch.optim.RMSprop(params, lr=0.0, alpha=0.99, eps=1e-5)
    return torch.optim.SGD(params, lr=0.0)
