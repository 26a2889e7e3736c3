"""Image encoder `small_cnn`: one 3×3 convolution, for boards of ten by ten cells or so.

What Young and Tian (2019) use for MinAtar: images this small hold no details to shrink away, so
the trunk gets every cell with its neighbours.
"""

import math
from typing import Final

from torch import nn

from spotter.config import PolicyConfig
from spotter.policy.layers import ACTIVATIONS, initialized
from spotter.types import UserError

_FILTERS: Final = 16
_KERNEL: Final = 3


def build(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    channels, height, width = shape
    if min(height, width) < _KERNEL:
        raise UserError(
            f"policy.encoder small_cnn needs images of at least {_KERNEL}×{_KERNEL}, "
            f"got {height}×{width}; use mlp"
        )
    conv = initialized(nn.Conv2d(channels, _FILTERS, _KERNEL), math.sqrt(2), config.orthogonal)
    return nn.Sequential(conv, ACTIVATIONS[config.activation or "relu"](), nn.Flatten())
