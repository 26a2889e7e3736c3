"""Image encoder `nature_cnn`: the three convolutions of Mnih et al. (2015)."""

import math

from torch import nn

from spotter.config import PolicyConfig
from spotter.nets.layers import ACTIVATIONS, initialized
from spotter.types import UserError

_SMALLEST = 36  # 8/4, 4/2 and 3/1 kernels leave one pixel of a 36×36 image


def build(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    channels, height, width = shape
    if min(height, width) < _SMALLEST:
        raise UserError(
            f"policy.encoder nature_cnn needs images of at least {_SMALLEST}×{_SMALLEST}, "
            f"got {height}×{width}; use impala_cnn"
        )
    activation = ACTIVATIONS[config.activation or "relu"]
    layers: list[nn.Module] = []
    for filters, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        conv = nn.Conv2d(channels, filters, kernel, stride)
        layers += [initialized(conv, math.sqrt(2), config.orthogonal), activation()]
        channels = filters
    return nn.Sequential(*layers, nn.Flatten())
