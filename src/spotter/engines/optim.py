"""One gradient step on one flat vector: rates from schedules, clipping, the update rule.

All parameters are views into one tensor and gradients are joined into another, so clipping and
the update are a handful of operations whatever the network looks like. The rules are torch's own
(`tests/engines/test_optim.py` compares them); `torch.optim` itself is left alone because building
one of its optimizers loads the compiler stack, which takes longer than CartPole.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from spotter.config import AlgoConfig
from spotter.engines import functional as F
from spotter.engines import kernels, plain
from spotter.engines.plain import Floats
from spotter.policy.actor_critic import Policy
from spotter.types import Progress

_EPS: Final = 1e-5
BETAS: Final = (0.9, 0.999)
_RMS_DECAY: Final = 0.99
_WEIGHT_DECAY: Final = 0.01


class Optimizer:
    """Steps a policy; what only the critic uses may have a rate of its own."""

    def __init__(self, policy: Policy, config: AlgoConfig) -> None:
        self.config = config
        critic = policy.critic_parameters()
        own = {id(parameter) for parameter in critic}
        learnt = (parameter for parameter in policy.parameters() if parameter.requires_grad)
        rest = [parameter for parameter in learnt if id(parameter) not in own]
        self._parameters = [*rest, *critic]
        self.flat, places = flatten(self._parameters)
        self.gradient = torch.zeros_like(self.flat)
        self._parts = {
            name: [places[id(parameter)] for parameter in part]
            for name, part in policy.parts().items()
        }
        self._places = places
        self.split = sum(parameter.numel() for parameter in rest)
        """Where in `flat` the parameters begin that only the critic uses."""
        self.rule = RULES[config.optimizer](self.flat)
        self.rates = (0.0, 0.0)
        """Learning rates now: up to `split`, and from there on."""

    def set_rates(self, progress: Progress, factor: float = 1.0) -> None:
        lr = self.config.lr.at(progress)
        critic_lr = self.config.critic_lr.at(progress) if self.config.critic_lr else lr
        self.rates = (lr * factor, critic_lr * factor)

    def step(self, loss: Tensor, progress: Progress) -> Tensor:
        """Differentiate, clip, step; returns the gradient norm before clipping."""
        self.differentiate(loss)
        return self.apply(progress)

    def differentiate(
        self, outputs: Tensor | Sequence[Tensor], slopes: Sequence[Tensor] | None = None
    ) -> None:
        """Fill `gradient` in, given a loss; or what it depends on and its slopes by that."""
        gradients = torch.autograd.grad(outputs, self._parameters, slopes, allow_unused=True)
        pairs = zip(gradients, self._parameters, strict=True)
        pieces = [(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs]
        torch.cat(pieces, out=self.gradient)

    @torch.no_grad()
    def apply(self, progress: Progress) -> Tensor:
        """Clip `gradient`, already filled in, and step along it; returns its norm before."""
        if self.flat.device.type == "cpu":  # one pass over memory instead of ten
            return torch.tensor(self.apply_numpy(progress))
        norm: Tensor = torch.linalg.vector_norm(self.gradient)
        limit = self.config.max_grad_norm
        if limit is not None:
            self.gradient *= (limit.at(progress) / (norm + 1e-6)).clamp(max=1.0)
        change = self.rule.change(self.flat, self.gradient)
        lr, critic_lr = self.rates
        self.flat[: self.split].sub_(change[: self.split], alpha=lr)
        self.flat[self.split :].sub_(change[self.split :], alpha=critic_lr)
        return norm

    def apply_numpy(self, progress: Progress) -> float:
        """`apply` on the CPU, without the overhead of small tensors."""
        flat, gradient = self._arrays
        limit = self.config.max_grad_norm
        norm = kernels.clip(gradient, math.inf if limit is None else limit.at(progress))
        self.rule.step_numpy(flat, gradient, self.split, *self.rates)
        return norm

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        return self.flat.numpy(), self.gradient.numpy()

    def gradient_of(self, parameter: Tensor) -> Tensor:
        """Where a parameter's gradient lies within `gradient`."""
        return self.gradient[self._places[id(parameter)]].view(parameter.shape)

    def state(self) -> dict[str, object]:
        """What the rule remembers, by name."""
        return dict(vars(self.rule))

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, value in vars(self.rule).items():
            if isinstance(value, Tensor):
                value.copy_(torch.as_tensor(state[name]))
            else:
                setattr(self.rule, name, state[name])

    def gradient_norms(self) -> dict[str, object]:
        """Norms of the last step's (clipped) gradients by part of the network."""
        if self.gradient.device.type == "cpu":
            gradient = self.gradient.numpy()
            return {
                f"grad/{name}": math.sqrt(
                    sum(float(np.dot(gradient[place], gradient[place])) for place in places)
                )
                for name, places in self._parts.items()
            }
        return {
            f"grad/{name}": F.norm([self.gradient[place] for place in places])
            for name, places in self._parts.items()
        }


def flatten(parameters: list[nn.Parameter]) -> tuple[Tensor, dict[int, slice]]:
    """Move parameters into one vector; returns it and the place of each by `id`."""
    flat = torch.cat([parameter.detach().flatten() for parameter in parameters])
    places: dict[int, slice] = {}
    offset = 0
    for parameter in parameters:
        place = slice(offset, offset + parameter.numel())
        parameter.data = flat[place].view(parameter.shape)
        places[id(parameter)] = place
        offset = place.stop
    return flat, places


class Sgd:
    """Plain gradient descent."""

    def __init__(self, flat: Tensor) -> None:
        pass

    def change(self, flat: Tensor, gradient: Tensor) -> Tensor:
        """What to subtract, times the learning rate."""
        return gradient

    def step_numpy(
        self, flat: Floats, gradient: Floats, split: int, lr: float, critic_lr: float
    ) -> None:
        """`change` for arrays, and made at once; from `split` on with `critic_lr`."""
        plain.descend(flat, gradient.copy(), split, lr, critic_lr)


class RmsProp:
    """Hinton's rule; the gradient by its running root mean square."""

    def __init__(self, flat: Tensor) -> None:
        self.square = torch.zeros_like(flat)

    def change(self, flat: Tensor, gradient: Tensor) -> Tensor:
        self.square.mul_(_RMS_DECAY).addcmul_(gradient, gradient, value=1 - _RMS_DECAY)
        return gradient / self.square.sqrt().add_(_EPS)

    def step_numpy(
        self, flat: Floats, gradient: Floats, split: int, lr: float, critic_lr: float
    ) -> None:
        square = self.square.numpy()
        kernels.rmsprop(flat, gradient, square, split, lr, critic_lr, _RMS_DECAY, _EPS)


class Adam:
    """Kingma and Ba (2015), ε = 1e-5 as usual in policy optimisation."""

    decay = 0.0

    def __init__(self, flat: Tensor) -> None:
        self.steps = 0
        self.mean = torch.zeros_like(flat)
        self.square = torch.zeros_like(flat)

    def change(self, flat: Tensor, gradient: Tensor) -> Tensor:
        first, second = BETAS
        self.steps += 1
        corrections = 1 - first**self.steps, math.sqrt(1 - second**self.steps)
        return self.corrected(flat, gradient, *corrections)

    def corrected(
        self, flat: Tensor, gradient: Tensor, of_mean: float | Tensor, of_root: float | Tensor
    ) -> Tensor:
        """`change` with the corrections for the first steps worked out by the caller."""
        first, second = BETAS
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        spread = self.square.sqrt().div_(of_root).add_(_EPS)
        change = torch.div(self.mean, spread).div_(of_mean)
        return change.add_(flat, alpha=self.decay) if self.decay else change

    def step_numpy(
        self, flat: Floats, gradient: Floats, split: int, lr: float, critic_lr: float
    ) -> None:
        self.steps += 1
        kernels.adam(
            flat,
            gradient,
            self.mean.numpy(),
            self.square.numpy(),
            split,
            lr,
            critic_lr,
            self.steps,
            *BETAS,
            _EPS,
            self.decay,
        )


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    decay = _WEIGHT_DECAY


RULES: Final[dict[str, Callable[[Tensor], Sgd | RmsProp | Adam]]] = {
    "sgd": Sgd,
    "rmsprop": RmsProp,
    "adam": Adam,
    "adamw": AdamW,
}
