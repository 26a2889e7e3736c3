"""Observation leaves as features: images, numbers and vectors, each by its own encoder.

Several leaves get a layer each before they are joined, so that all have the same width and scale:
three numbers beside 3,000 features of an image would otherwise hardly be learnt from.
"""

import math
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn

from spotter import plugins
from spotter.config import EncoderConfig, PolicyConfig
from spotter.config.policy import AUTO
from spotter.policy.layers import ACTIVATIONS, initialized
from spotter.types import Leaf

_BY_SIZE: Final = ((3, "mlp"), (16, "small_cnn"), (36, "impala_cnn"))
"""What `encoder: auto` takes for images with a side below that; larger ones get nature_cnn."""


def each_has_a_layer(leaves: Mapping[str, Leaf], config: PolicyConfig) -> bool:
    """What `policy.join` comes to: whether each leaf gets a layer of its own.

    Discrete leaves have one scale already, and the first layer holds a column for every value.
    """
    if config.join is not None:
        return config.join == "encode"
    return len(leaves) > 1 and not all(leaf.nvec for leaf in leaves.values())


def make(leaf: Leaf, config: PolicyConfig) -> nn.Module:
    """From a batch of one leaf to features; nothing to learn for vectors."""
    if leaf.kind == "image":
        return _of_images(leaf.shape, config)
    if leaf.kind == "discrete" or leaf.kind == "multi_discrete":
        kinds = {"onehot": OneHot, "embedding": Embedding, "binary": Binary}
        return kinds[config.discrete](leaf.nvec, config.embedding)
    return nn.Identity()


def _of_images(shape: tuple[int, ...], config: PolicyConfig) -> nn.Module:
    """By the file that `policy.encoder` names; one with a `Config` is given its settings too."""
    encoder = config.encoder
    if encoder == AUTO:
        encoder = next((name for below, name in _BY_SIZE if min(shape[1:]) < below), "nature_cnn")
    data = {"name": encoder} if isinstance(encoder, str) else encoder.model_dump(by_alias=True)
    own = EncoderConfig.chosen(data)
    settings = [] if own is EncoderConfig else [own.from_data(data)]
    module: nn.Module = plugins.load("nets", data["name"]).build(shape, config, *settings)
    return module


def width(encoder: nn.Module, leaf: Leaf) -> int:
    """Features an encoder makes of one observation, found by trying."""
    example = torch.zeros((1, *leaf.shape), dtype=torch.long if leaf.nvec else torch.float32)
    with torch.no_grad():
        found: int = encoder(example).shape[-1]
    return found


def layer_width(images: bool) -> int:
    return 256 if images else 64


def layer(leaf: Leaf, inputs: int, images: bool, config: PolicyConfig) -> nn.Sequential:
    """Features of one leaf to a width that all leaves of a policy have, with variance near 1.

    A vector arrives normalised, and a layer norm would take its length away: of one number it
    would leave the sign. Everything else has no such length, and an unknown scale.
    """
    outputs = layer_width(images)
    # orthogonal columns of length `gain` spread the variance of few inputs over many outputs
    gain = math.sqrt(max(1.0, outputs / inputs)) if leaf.kind == "vector" else math.sqrt(2)
    layers: list[nn.Module] = [initialized(nn.Linear(inputs, outputs), gain, config.orthogonal)]
    if leaf.kind != "vector":
        layers.append(nn.LayerNorm(outputs))
    activation = config.activation or ("relu" if images else "tanh")
    return nn.Sequential(*layers, ACTIVATIONS[activation]())


class OneHot(nn.Module):
    """Whole numbers below `nvec` as indicator vectors, joined."""

    offsets: Tensor

    def __init__(self, nvec: tuple[int, ...], _width: int) -> None:
        super().__init__()
        self._total = sum(nvec)
        starts = torch.tensor([0, *nvec[:-1]]).cumsum(0)
        self.register_buffer("offsets", starts, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(-1) if x.dim() == 1 else x
        out = torch.zeros(x.shape[0], self._total, device=x.device)
        return out.scatter_(-1, x + self.offsets, 1.0)


class Embedding(nn.Module):
    """A learnt vector per value, joined."""

    def __init__(self, nvec: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, width) for n in nvec])

    def forward(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(-1) if x.dim() == 1 else x
        return torch.cat([table(x[:, i]) for i, table in enumerate(self.tables)], -1)


class Binary(nn.Module):
    """The binary digits of each number: few inputs for large spaces."""

    shifts: Tensor

    def __init__(self, nvec: tuple[int, ...], _width: int) -> None:
        super().__init__()
        bits = max(1, math.ceil(math.log2(max(max(nvec), 2))))
        self.register_buffer("shifts", torch.arange(bits), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(-1) if x.dim() == 1 else x
        return ((x.unsqueeze(-1) >> self.shifts) & 1).float().flatten(1)
