"""Image encoder `mlp`: no convolutions, pixels go flat into the trunk."""

from torch import nn

from spotter.config import PolicyConfig


def build(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    return nn.Flatten()
