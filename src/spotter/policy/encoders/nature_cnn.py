"""Image encoder `nature_cnn`: the three convolutions of Mnih et al. (2015)."""

import math
from functools import partial

from torch import Tensor, nn
from torch.nn import functional

from spotter.config import PolicyConfig
from spotter.policy.layers import ACTIVATIONS, initialized
from spotter.types import UserError

_SMALLEST = 36  # 8/4, 4/2 and 3/1 kernels leave one pixel of a 36×36 image
_FEW_CHANNELS = 16


def build(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    channels, height, width = shape
    if min(height, width) < _SMALLEST:
        raise UserError(
            f"policy.encoder nature_cnn needs images of at least {_SMALLEST}×{_SMALLEST}, "
            f"got {height}×{width}; use impala_cnn"
        )
    kind = ACTIVATIONS[config.activation or "relu"]
    activation = partial(nn.ReLU, inplace=True) if kind is nn.ReLU else kind
    layers: list[nn.Module] = []
    for filters, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        conv = FoldedConv(channels, filters, kernel, stride)
        layers += [initialized(conv, math.sqrt(2), config.orthogonal), activation()]
        channels = filters
    return nn.Sequential(*layers, nn.Flatten())


class FoldedConv(nn.Conv2d):
    """A strided convolution that is computed as one with a smaller stride over more channels.

    Pixels that a stride passes over become channels of one pixel: the same sums, in a shape that
    processors are made for. A GPU wants whole blocks folded, and only where channels are few; on
    a CPU folding rows costs nothing, for images whose colours are innermost lie that way already.
    """

    def forward(self, x: Tensor) -> Tensor:
        stride, kernel = self.stride[0], self.kernel_size[0]
        height, width = x.shape[2:]
        if stride == 1 or kernel % stride or width % stride:
            return super().forward(x)
        if not x.is_cuda:
            return folded_across(x, self.weight, self.bias, stride)
        if self.in_channels > _FEW_CHANNELS or height % stride:
            return super().forward(x)
        return folded(x, self.weight, self.bias, stride)


def folded_across(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int) -> Tensor:
    """conv2d(x, weight, bias, stride), where `stride` divides the widths of kernel and image."""
    return functional.conv2d(across(x, stride), across(weight, stride), bias, (stride, 1))


def across(x: Tensor, stride: int) -> Tensor:
    """`stride` neighbours in a row as one pixel; a view where channels are innermost."""
    rows, channels, height, width = x.shape
    wide = x.permute(0, 2, 3, 1).reshape(rows, height, width // stride, stride * channels)
    return wide.permute(0, 3, 1, 2)


def folded(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int) -> Tensor:
    """conv2d(x, weight, bias, stride), where `stride` divides kernel and image."""
    rows, channels, height, width = x.shape
    filters, _, kernel, _ = weight.shape
    h, w, k = height // stride, width // stride, kernel // stride
    blocks = x.reshape(rows, channels, h, stride, w, stride).permute(0, 2, 4, 3, 5, 1)
    blocks = blocks.reshape(rows, h, w, -1).permute(0, 3, 1, 2)
    weight = weight.reshape(filters, channels, k, stride, k, stride).permute(0, 3, 5, 1, 2, 4)
    return functional.conv2d(blocks, weight.reshape(filters, -1, k, k), bias)
