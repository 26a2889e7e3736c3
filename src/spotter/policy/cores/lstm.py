"""Core `lstm`: long short-term memory (Hochreiter and Schmidhuber, 1997), two vectors per layer."""

from typing import Literal

from pydantic import Field
from torch import nn

from spotter.config import CoreConfig, PolicyConfig, Whole
from spotter.policy.core import Cells, Core


class Config(CoreConfig):
    name: Literal["lstm"] = "lstm"
    size: Whole = Field(64, ge=1, description="Numbers a layer hands on; it keeps twice as many.")
    layers: Whole = Field(1, ge=1, le=16, description="Cells, one above the other.")


def build(inputs: int, policy: PolicyConfig, config: Config) -> Core:
    return Cells(nn.LSTMCell, 2, inputs, config.size, config.layers, policy.orthogonal)
