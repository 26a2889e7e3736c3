"""Core `gru`: gated recurrent units (Cho et al., 2014); one vector per layer is remembered."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from spotter.config import CoreConfig, PolicyConfig, Whole
from spotter.policy import through_time
from spotter.policy.actor import PolicyState
from spotter.policy.core import Cells, Core


class Config(CoreConfig):
    name: Literal["gru"] = "gru"
    size: Whole = Field(64, ge=1, description="Numbers each layer remembers.")
    layers: Whole = Field(1, ge=1, le=16, description="Cells, one above the other.")


def build(inputs: int, policy: PolicyConfig, config: Config) -> Core:
    return Gru(nn.GRUCell, 1, inputs, config.size, config.layers, policy.orthogonal)


class Gru(Cells):
    """On a CPU, sequences are computed without torch's overhead."""

    def run(self, x: Tensor, sizes: Sequence[int], state: PolicyState) -> Tensor:
        if x.device.type != "cpu":
            return super().run(x, sizes, state)
        for i, cell in enumerate(self.cells):
            assert isinstance(cell, nn.GRUCell)
            x = through_time.gru(cell, x, sizes, state[0][:, i])
        return x
