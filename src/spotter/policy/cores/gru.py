"""Core `gru`: gated recurrent units (Cho et al., 2014); one vector per layer is remembered."""

from typing import Literal

from pydantic import Field
from torch import nn

from spotter.config import CoreConfig, PolicyConfig, Whole
from spotter.policy.core import Cells, Core


class Config(CoreConfig):
    name: Literal["gru"] = "gru"
    size: Whole = Field(64, ge=1, description="Numbers each layer remembers.")
    layers: Whole = Field(1, ge=1, le=16, description="Cells, one above the other.")


def build(inputs: int, policy: PolicyConfig, config: Config) -> Core:
    return Cells(nn.GRUCell, 1, inputs, config.size, config.layers, policy.orthogonal)
