"""Steps of a rollout as an intrinsic reward sees them, and the networks that look at them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy.body import Body
from spotter.policy.layers import initialized
from spotter.policy.normalizers import RunningNorm
from spotter.types import Leaf

Obs = Mapping[str, Tensor]
_CLIP: Final = 5.0


@dataclass(frozen=True, slots=True)
class Steps:
    """Some steps, [B, …]; observations as `Inputs` gives them."""

    now: Obs
    action: Tensor
    after: Obs
    """What was seen next: of the next episode where one has ended."""
    goes_on: Tensor
    """Where `after` belongs to the same episode."""


class Novelty(Protocol):
    """What the `make` of an intrinsic reward returns: a module that learns from every step."""

    def novelty(self, steps: Steps) -> Tensor:
        """How new these steps are, [B]."""

    def loss(self, steps: Steps) -> Tensor:
        """What is minimised, [B]."""


class Inputs(nn.Module):
    """Vectors and images as numbers of mean 0 and variance 1; the rest as it is.

    A policy's images are left as they are. Here, what is new must stand out.
    """

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        super().__init__()
        self._norms = {
            path: RunningNorm(leaf.shape)
            for path, leaf in leaves.items()
            if leaf.kind in ("vector", "image")
        }
        self.norms = nn.ModuleList(self._norms.values())

    def forward(self, obs: Obs) -> dict[str, Tensor]:
        return {path: self._normalized(path, x) for path, x in obs.items()}

    def _normalized(self, path: str, x: Tensor) -> Tensor:
        if path not in self._norms:
            return x
        normalized: Tensor = self._norms[path](x.float())
        return normalized.clamp(-_CLIP, _CLIP)

    def update(self, obs: Obs) -> None:
        for path, norm in self._norms.items():
            norm.update(obs[path].float())


def network(
    leaves: Mapping[str, Leaf], policy: PolicyConfig, hidden: int, outputs: int
) -> nn.Sequential:
    """Encoders as the policy has them, one hidden layer, and a linear one."""
    plain = policy.model_copy(
        update={"hidden": (hidden,), "activation": "relu", "norm": None, "precision": "float32"}
    )
    images = any(leaf.kind == "image" for leaf in leaves.values())
    body = Body(leaves, plain, images)
    return nn.Sequential(body, initialized(nn.Linear(hidden, outputs), 1.0, policy.orthogonal))
