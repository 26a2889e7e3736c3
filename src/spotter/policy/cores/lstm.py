"""Core `lstm`: long short-term memory (Hochreiter and Schmidhuber, 1997), two vectors per layer."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from spotter.config import CoreConfig, PolicyConfig, Whole
from spotter.policy import through_time
from spotter.policy.actor import PolicyState
from spotter.policy.core import Cells, Core


class Config(CoreConfig):
    name: Literal["lstm"] = "lstm"
    size: Whole = Field(64, ge=1, description="Numbers a layer hands on; it keeps twice as many.")
    layers: Whole = Field(1, ge=1, le=16, description="Cells, one above the other.")


def build(inputs: int, policy: PolicyConfig, config: Config) -> Core:
    return Lstm(nn.LSTMCell, 2, inputs, config.size, config.layers, policy.orthogonal)


class Lstm(Cells):
    """On a CPU, sequences are computed without torch's overhead."""

    def run(self, x: Tensor, sizes: Sequence[int], state: PolicyState) -> Tensor:
        if x.device.type != "cpu":
            return super().run(x, sizes, state)
        hidden, held = state
        for i, cell in enumerate(self.cells):
            assert isinstance(cell, nn.LSTMCell)
            x = through_time.lstm(cell, x, sizes, hidden[:, i], held[:, i])
        return x
