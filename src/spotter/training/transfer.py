"""Weights of one run in the network of another: which tensors fit, said one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spotter.policy.actor_critic import Policy
from spotter.types import UserError


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to each tensor when a policy starts from other weights."""

    copied: tuple[str, ...]
    reshaped: Mapping[str, str]
    """In both, but of another shape: stays as initialised. Name -> `[64, 4] is not [64, 8]`."""
    new: tuple[str, ...]
    """Only in the new network: stays as initialised."""
    dropped: tuple[str, ...]
    """Only in the old network: not used."""

    @property
    def is_complete(self) -> bool:
        return not (self.reshaped or self.new or self.dropped)

    def lines(self) -> list[str]:
        """One line per layer: what becomes of its tensors."""
        fates: dict[str, dict[str, list[str]]] = {}
        for fate, names in (
            ("copied", self.copied),
            ("fresh", [*self.reshaped, *self.new]),
            ("dropped", self.dropped),
        ):
            for name in names:
                layer, _, tensor = name.rpartition(".")
                fates.setdefault(layer, {}).setdefault(fate, []).append(
                    self._described(name, tensor)
                )
        return [
            f"{layer}: "
            + "; ".join(f"{fate} {', '.join(reported)}" for fate, reported in fate_of.items())
            for layer, fate_of in fates.items()
        ]

    def _described(self, name: str, tensor: str) -> str:
        return f"{tensor} ({self.reshaped[name]})" if name in self.reshaped else tensor

    def sentence(self) -> str:
        total = len(self.copied) + len(self.reshaped) + len(self.new)
        return f"{len(self.copied)} of {total} tensors copied"


def graft(policy: Policy, weights: Mapping[str, Tensor], source: str) -> Plan:
    """Copy into the policy what fits; a source that fits nowhere is a mistake."""
    own = policy.state_dict()
    fitting = [name for name in own if name in weights and own[name].shape == weights[name].shape]
    plan = Plan(
        copied=tuple(fitting),
        reshaped={
            name: f"{list(weights[name].shape)} is not {list(own[name].shape)}"
            for name in own
            if name in weights and name not in fitting
        },
        new=tuple(name for name in own if name not in weights),
        dropped=tuple(name for name in weights if name not in own),
    )
    if not fitting:
        raise UserError(f"no tensor of {source} fits this policy: another network altogether")
    with torch.no_grad():
        for name in fitting:
            own[name].copy_(weights[name])
    return plan
