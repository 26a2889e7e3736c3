"""Building blocks: initialised linear layers, activations, the trunk."""

import math
from typing import Final, TypeVar

from torch import nn

Layer = TypeVar("Layer", nn.Linear, nn.Conv2d)

ACTIVATIONS: Final[dict[str, type[nn.Module]]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}


def initialized(layer: Layer, gain: float, orthogonal: bool) -> Layer:
    """Orthogonal weights of the given gain and zero biases; otherwise torch's own scheme."""
    if orthogonal:
        nn.init.orthogonal_(layer.weight, gain)
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)
    return layer


def trunk(
    inputs: int, hidden: tuple[int, ...], activation: str, norm: str | None, orthogonal: bool
) -> nn.Sequential:
    """Linear, optional norm, activation; once per width."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers.append(initialized(nn.Linear(inputs, width), math.sqrt(2), orthogonal))
        if norm == "layer":
            layers.append(nn.LayerNorm(width))
        elif norm == "batch":
            layers.append(nn.BatchNorm1d(width))
        layers.append(ACTIVATIONS[activation]())
        inputs = width
    return nn.Sequential(*layers)
