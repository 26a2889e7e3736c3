"""Predictions that trunks are trained to make beside the policy: what is seen next, what it pays.

What a trunk must know to predict, heads can use (Jaderberg et al., 2017). Of vectors the change is
predicted, in its own units; of everything else what a fixed random network makes of it, because
pixels are many and most of them do not matter.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy.body import Body, Inputs
from spotter.policy.layers import initialized
from spotter.policy.normalizers import RunningNorm
from spotter.types import Spaces

_HIDDEN: Final = 128
_FEATURES: Final = 32
"""Of the fixed random network."""


class Steps(NamedTuple):
    """Some steps and what came after each, [B, …]."""

    now: Mapping[str, Tensor]
    action: Tensor
    after: Mapping[str, Tensor]
    """Of the next episode where one has ended."""
    reward: Tensor
    goes_on: Tensor
    """1 where `after` belongs to the same episode, else 0."""


class Foresight(nn.Module):
    """A head for each trunk, and what it shall say."""

    def __init__(self, spaces: Spaces, config: PolicyConfig, trunks: Sequence[Body]) -> None:
        super().__init__()
        leaves = spaces.observation
        vectors = {path: leaf for path, leaf in leaves.items() if leaf.kind == "vector"}
        others = {path: leaf for path, leaf in leaves.items() if path not in vectors}
        self._vectors, self._action = list(vectors), spaces.action
        numbers = sum(prod(leaf.shape) for leaf in vectors.values())
        self._outputs = numbers + (_FEATURES if others else 0)
        self.outcome, self.paid = RunningNorm((self._outputs,)), RunningNorm(())
        self.look: Body | None = None
        if others:
            fixed = {"hidden": (_FEATURES,), "activation": "tanh", "norm": None}
            plain = config.model_copy(update={**fixed, "precision": "float32"})
            self.inputs = Inputs(others, plain.model_copy(update={"normalize_obs": None}))
            self.look = Body(others, plain, any(leaf.kind == "image" for leaf in others.values()))
            self.look.requires_grad_(False)
        heads = [self._head(trunk.features, config.orthogonal) for trunk in trunks]
        self.heads = nn.ModuleList(heads)

    def _head(self, width: int, orthogonal: bool) -> nn.Sequential:
        done = sum(self._action.nvec) or prod(self._action.shape)
        return nn.Sequential(
            initialized(nn.Linear(width + done, _HIDDEN), 2**0.5, orthogonal),
            nn.ReLU(),
            initialized(nn.Linear(_HIDDEN, self._outputs + 1), 0.1, orthogonal),
        )

    @torch.no_grad()
    def observe(self, steps: Steps) -> None:
        """Let the statistics of what is predicted see some steps; before they are learnt from."""
        inside = steps.goes_on > 0
        if inside.any():
            self.outcome.update(self._outcome(steps)[inside])
        self.paid.update(steps.reward)

    def loss(self, features: Sequence[Tensor], steps: Steps) -> tuple[Tensor, Tensor]:
        """Of what is seen next and of the reward: mean squared errors in variances."""
        with torch.no_grad():
            target, paid = self.outcome(self._outcome(steps)), self.paid(steps.reward)
        done = self._done(steps.action)
        errors = []
        for x, head in zip(features, self.heads, strict=True):
            said = head(torch.cat([x, done], 1))
            of_next = (said[:, :-1] - target).square().mean(1) * steps.goes_on
            errors.append((of_next.mean(), (said[:, -1] - paid).square().mean()))
        of_next, of_reward = (torch.stack(part).mean() for part in zip(*errors, strict=True))
        return of_next, of_reward

    def _outcome(self, steps: Steps) -> Tensor:
        parts = [
            (steps.after[path].float() - steps.now[path].float()).flatten(1)
            for path in self._vectors
        ]
        return torch.cat(parts if self.look is None else [*parts, self._look(steps.after)], 1)

    def _look(self, obs: Mapping[str, Tensor]) -> Tensor:
        assert self.look is not None
        found: Tensor = self.look(self.inputs(obs))
        return found

    def _done(self, action: Tensor) -> Tensor:
        """Choices as ones and zeros, numbers as they are."""
        if not self._action.nvec:
            return action.float().flatten(1)
        columns = action.reshape(len(action), -1).long().unbind(1)
        kinds = zip(columns, self._action.nvec, strict=True)
        return torch.cat([nn.functional.one_hot(x, n).float() for x, n in kinds], 1)


def make(spaces: Spaces, config: PolicyConfig, trunks: Sequence[Body]) -> Foresight | None:
    return Foresight(spaces, config, trunks) if config.foresees else None
