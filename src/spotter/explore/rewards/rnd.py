"""Random network distillation (Burda et al., 2018): what a network cannot imitate yet is new.

One network is random and stays so; another learns to give the same for every observation. The error
is large where it has seen little. Noise that never repeats stays new, though less so than for
`prediction` of raw observations.
"""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from spotter.config import IntrinsicConfig, PolicyConfig, Whole
from spotter.explore.steps import Steps, network
from spotter.types import Spaces


class Config(IntrinsicConfig):
    name: Literal["rnd"] = "rnd"
    hidden: Whole = Field(128, ge=1, description="Units of the hidden layer of each network.")
    size: Whole = Field(64, ge=1, description="Numbers that the random network gives.")


def make(config: Config, spaces: Spaces, policy: PolicyConfig) -> "Rnd":
    return Rnd(config, spaces, policy)


class Rnd(nn.Module):
    def __init__(self, config: Config, spaces: Spaces, policy: PolicyConfig) -> None:
        super().__init__()
        given = spaces.observation, policy, config.hidden
        self.target = network(*given, config.size).requires_grad_(False)
        # deeper than what it imitates, so that it can
        head = nn.Sequential(nn.ReLU(), nn.Linear(config.hidden, config.size))
        self.predictor = nn.Sequential(network(*given, config.hidden), head)

    def novelty(self, steps: Steps) -> Tensor:
        return self.loss(steps)

    def loss(self, steps: Steps) -> Tensor:
        error: Tensor = self.predictor(steps.after) - self.target(steps.after)
        return error.square().mean(-1)
