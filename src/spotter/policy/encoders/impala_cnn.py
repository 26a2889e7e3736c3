"""Image encoder `impala_cnn`: the residual network of Espeholt et al. (2018), for any size."""

import math

from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy.layers import initialized


def build(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    channels = shape[0]
    stages: list[nn.Module] = []
    for filters in (16, 32, 32):
        stages += [
            initialized(nn.Conv2d(channels, filters, 3, padding=1), 1.0, config.orthogonal),
            nn.MaxPool2d(3, stride=2, padding=1),
            Residual(filters, config.orthogonal),
            Residual(filters, config.orthogonal),
        ]
        channels = filters
    return nn.Sequential(*stages, nn.ReLU(), nn.Flatten())


class Residual(nn.Module):
    """x + conv(relu(conv(relu(x)))), starting out close to the identity."""

    def __init__(self, channels: int, orthogonal: bool) -> None:
        super().__init__()
        first = initialized(nn.Conv2d(channels, channels, 3, padding=1), math.sqrt(2), orthogonal)
        second = initialized(nn.Conv2d(channels, channels, 3, padding=1), 0.1, orthogonal)
        self.body = nn.Sequential(nn.ReLU(), first, nn.ReLU(), second)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.body(x)
        return out
