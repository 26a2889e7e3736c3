"""Acting with a torch policy on a CPU, few rows at a time.

Learning multiplies hundreds of rows by a weight matrix, acting a handful; for those, torch's CPU
libraries want matrices the other way round and the channels of filters innermost. Copying weights
into that order once per rollout takes a few milliseconds; not to have it costs more in each step.
"""

import copy

import torch
from torch import nn

from spotter.nets.actor_critic import Policy, has_images


class Standing:
    """The twin of a policy that acts in its stead until the policy learns."""

    def __init__(self, policy: Policy) -> None:
        self._source = policy
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        for layer in self.policy.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.data = layer.weight.data.t().contiguous().t()
            elif isinstance(layer, nn.Conv2d):
                layer.weight.data = layer.weight.data.to(memory_format=torch.channels_last)

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over what was learnt."""
        theirs = self._source.state_dict()
        for name, mine in self.policy.state_dict().items():
            mine.copy_(theirs[name])


def stand_in(policy: Policy) -> Standing | None:
    """Where one pays: for a policy that looks at images, unless plain torch was asked for."""
    pays = isinstance(policy, Policy) and has_images(policy.spaces)
    return Standing(policy) if pays and policy.config.engine == "auto" else None
