"""Curiosity (Pathak et al., 2017): what a model of the world does not predict yet is new.

The model predicts features of the next observation. `features: inverse` learns those that tell
which action was taken, and so leaves out what the agent has no influence on; `random` leaves them
as they began. `reward: boredom` turns it round: a step costs the more the better it was predicted.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from spotter.config import IntrinsicConfig, PolicyConfig, Whole
from spotter.explore.steps import Steps, network
from spotter.types import ActionSpec, Spaces

_SLOWLY = 0.99


class Config(IntrinsicConfig):
    name: Literal["prediction"] = "prediction"
    features: Literal["inverse", "random"] = Field(
        "inverse", description="inverse: learnt by telling the action; random: fixed."
    )
    reward: Literal["error", "boredom"] = Field(
        "error",
        description="error: of the prediction; boredom: −1 where it is perfect, 0 where it fails.",
    )
    hidden: Whole = Field(128, ge=1, description="Units of the hidden layer of each network.")
    size: Whole = Field(32, ge=1, description="Features of an observation.")


def make(config: Config, spaces: Spaces, policy: PolicyConfig) -> "Prediction":
    return Prediction(config, spaces, policy)


class Prediction(nn.Module):
    usual: Tensor
    """A running mean of the error: what counts as small."""

    def __init__(self, config: Config, spaces: Spaces, policy: PolicyConfig) -> None:
        super().__init__()
        self.config, self.action = config, spaces.action
        hidden, size, given = config.hidden, config.size, _width(spaces.action)
        self.features = network(spaces.observation, policy, hidden, size)
        self.scale = nn.LayerNorm(size, elementwise_affine=False)  # or all features may shrink
        self.forward_model = _layers(size + given, hidden, size)
        self.inverse_model = _layers(2 * size, hidden, given)
        if config.features == "random":
            self.features.requires_grad_(False)
            self.inverse_model.requires_grad_(False)
        self.register_buffer("usual", torch.ones(()))

    def novelty(self, steps: Steps) -> Tensor:
        error, _, _ = self._error(steps)
        if self.config.reward == "error":
            return error * steps.goes_on
        return -torch.exp(-error / self.usual.clamp(min=1e-8)) * steps.goes_on

    def loss(self, steps: Steps) -> Tensor:
        error, now, after = self._error(steps)
        with torch.no_grad():
            self.usual.lerp_(error.mean(), 1 - _SLOWLY)
        if self.config.features == "inverse":
            told = self.inverse_model(torch.cat([now, after], -1))
            error = error + _told_apart(told, steps.action, self.action)
        return error * steps.goes_on

    def _error(self, steps: Steps) -> tuple[Tensor, Tensor, Tensor]:
        """Of the prediction, [B]; features now and after. Features do not learn to be predicted."""
        now, after = self.scale(self.features(steps.now)), self.scale(self.features(steps.after))
        given = torch.cat([now.detach(), _numbers(steps.action, self.action)], -1)
        error = (self.forward_model(given) - after.detach()).square().mean(-1)
        return error, now, after


def _layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def _width(action: ActionSpec) -> int:
    return sum(action.nvec) if action.nvec else max(1, *action.shape, 1)


def _numbers(action: Tensor, spec: ActionSpec) -> Tensor:
    """Choices one-hot, [B, width]."""
    rows = action.reshape(len(action), -1)
    if not spec.nvec:
        return rows.float()
    choices = zip(rows.unbind(-1), spec.nvec, strict=True)
    return torch.cat([functional.one_hot(column, n) for column, n in choices], -1).float()


def _told_apart(told: Tensor, action: Tensor, spec: ActionSpec) -> Tensor:
    """How wrong the inverse model is about the action, [B]."""
    rows = action.reshape(len(action), -1)
    if spec.nvec:
        parts = zip(torch.split(told, list(spec.nvec), -1), rows.unbind(-1), strict=True)
        losses = [functional.cross_entropy(logits, x, reduction="none") for logits, x in parts]
        return torch.stack(losses).mean(0)
    if spec.kind == "binary":
        wrong = functional.binary_cross_entropy_with_logits(told, rows.float(), reduction="none")
        return wrong.mean(-1)
    return (told - rows).square().mean(-1)
