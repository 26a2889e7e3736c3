"""From observations to features: leaves normalised, encoded, joined, and sent through a trunk."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy import encoding
from spotter.policy.layers import ACTIVATIONS, trunk
from spotter.policy.normalizers import BoundsNorm, RunningNorm, is_scaled
from spotter.types import Leaf, Spaces

TensorObs = Mapping[str, Tensor]


def has_images(spaces: Spaces) -> bool:
    return any(leaf.kind == "image" for leaf in spaces.observation.values())


class Inputs(nn.Module):
    """Observation leaves as normalised float tensors; no learnable parameters."""

    def __init__(self, leaves: Mapping[str, Leaf], config: PolicyConfig) -> None:
        super().__init__()
        self._leaves = dict(leaves)
        self._norms: dict[str, nn.Module] = {}
        way = config.normalize_obs or (
            "running" if encoding.each_has_a_layer(leaves, config) else None
        )
        for path, leaf in leaves.items():
            if leaf.kind == "vector" and way is not None:
                by_bounds = way == "bounds" or (way == "auto" and is_scaled(leaf))
                norm = BoundsNorm(leaf) if by_bounds else RunningNorm(leaf.shape)
                self._norms[path] = norm
                self.add_module(self._free_name(path), norm)

    def _free_name(self, path: str) -> str:
        """A leaf may be called anything, a module neither `a.b` nor as an attribute is."""
        name = path.replace("/", "_").replace(".", "_")
        while not name or hasattr(self, name):
            name += "_"
        return name

    def forward(self, obs: TensorObs) -> dict[str, Tensor]:
        inputs: dict[str, Tensor] = {}
        for path, leaf in self._leaves.items():
            x = obs[path][:]  # stacks of images are put together here
            if leaf.kind == "image" and leaf.dtype == "uint8":
                # colours innermost is what fast convolutions want; bytes until here
                x = x.to(torch.float32, memory_format=torch.channels_last).div_(255.0)
            if path in self._norms:
                x = self._norms[path](x)
            inputs[path] = x
        return inputs

    def norm(self, path: str) -> nn.Module | None:
        """What normalises a leaf, if anything does."""
        return self._norms.get(path)

    @property
    def is_running(self) -> bool:
        """Whether there are statistics that training moves."""
        return any(isinstance(norm, RunningNorm) for norm in self._norms.values())

    def observe(self, obs: TensorObs) -> None:
        for path, norm in self._norms.items():
            if isinstance(norm, RunningNorm):
                norm.update(obs[path])


class Body(nn.Module):
    """All leaves encoded, joined, and sent through the trunk.

    `encoders` has a module for each leaf; so has `layers`, or it is empty (see `policy.join`).
    """

    def __init__(self, leaves: Mapping[str, Leaf], config: PolicyConfig, images: bool) -> None:
        super().__init__()
        self._paths = list(leaves)
        self.encoders = nn.ModuleList([encoding.make(leaf, config) for leaf in leaves.values()])
        widths = [
            encoding.width(encoder, leaf)
            for encoder, leaf in zip(self.encoders, leaves.values(), strict=True)
        ]
        self.layers = nn.ModuleList()
        if encoding.each_has_a_layer(leaves, config):
            for leaf, inputs in zip(leaves.values(), widths, strict=True):
                self.layers.append(encoding.layer(leaf, inputs, images, config))
            widths = [encoding.layer_width(images)] * len(leaves)
        default = (512,) if images else (64, 64)
        hidden = default if config.hidden is None else config.hidden
        activation = config.activation or ("relu" if images else "tanh")
        self.trunk = trunk(sum(widths), hidden, activation, config.norm, config.orthogonal)
        self.features = hidden[-1] if hidden else sum(widths)
        self._half = config.precision == "bfloat16"

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        if not self._half:
            features: Tensor = self.trunk(self._join(inputs))
            return features
        with torch.autocast("cuda", torch.bfloat16):
            features = self.trunk(self._join(inputs))
        return features.float()

    def _join(self, inputs: dict[str, Tensor]) -> Tensor:
        encoded = [
            encoder(inputs[path]) for path, encoder in zip(self._paths, self.encoders, strict=True)
        ]
        if self.layers:
            encoded = [layer(x) for layer, x in zip(self.layers, encoded, strict=True)]
        return encoded[0] if len(encoded) == 1 else torch.cat(encoded, -1)

    def activations(self, inputs: dict[str, Tensor]) -> list[Tensor]:
        """Outputs of every activation, also of those inside blocks, in the order of computing."""
        kinds, found = tuple(ACTIVATIONS.values()), list[Tensor]()
        hooks = [
            module.register_forward_hook(lambda _module, _inputs, output: found.append(output))
            for module in self.modules()
            if isinstance(module, kinds)
        ]
        try:
            self(inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return found
