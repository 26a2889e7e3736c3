"""Actors of the collector: the policy learns between two rollouts, so each is prepared for."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor

from spotter.engines import acting
from spotter.engines.acting import NumpyActor, inference_copy
from spotter.engines.cuda_graphs import Recording
from spotter.policy.actor import Acted, PolicyState
from spotter.policy.actor_critic import Policy
from spotter.rollouts.images import Stacks
from spotter.rollouts.rollout import Rollout
from spotter.types import Obs

_KEPT: Final = 2  # recordings: rollouts may take turns in two places
Leaves = Mapping[str, Tensor | Stacks]
_WARM_UP: Final = 4  # calls that run plainly, so that libraries are loaded and have chosen


class TorchRolloutActor:
    """Tensors of a rollout in, tensors out.

    A CUDA graph where observations have fixed addresses; an inference copy on a CPU.
    """

    def __init__(self, policy: Policy, generator: torch.Generator) -> None:
        self.policy, self.generator = policy, generator
        self._recorded: dict[Any, Recording[Acted[Tensor]]] = {}
        self._calls = 0
        self._inference = inference_copy(policy) if generator.device.type == "cpu" else None

    def prepare(self, steps: int, count: int) -> None:
        """A rollout begins: the policy may have learnt."""
        if self._inference is not None:
            self._inference.refresh()

    def act(
        self, obs: Leaves, mask: Tensor | None, state: PolicyState, rows: slice
    ) -> Acted[Tensor]:
        """Actions for some envs; what is returned holds until the same envs act again."""
        stacks = [leaf for leaf in obs.values() if isinstance(leaf, Stacks)]
        fixed = mask is None and not state and len(stacks) == len(obs)
        if not fixed or self.generator.device.type != "cuda":
            return self._act(obs, mask, state)
        self._calls += 1
        if self.policy.config.engine != "auto" or self._calls <= _WARM_UP:
            return self._act(obs, mask, state)
        key = (rows.start, rows.stop, *(leaf.addresses for leaf in stacks))
        if key not in self._recorded:
            of_these = [known for known in self._recorded if known[:2] == key[:2]]
            for old in of_these[: 1 - _KEPT]:
                del self._recorded[old]
            self._recorded[key] = Recording(lambda: self._act(obs, None, ()), [self.generator])
        return self._recorded[key]()

    def _act(self, obs: Leaves, mask: Tensor | None, state: PolicyState) -> Acted[Tensor]:
        leaves = {path: leaf[:] for path, leaf in obs.items()}
        policy = self.policy if self._inference is None else self._inference.policy
        return policy.act(leaves, mask, state, self.generator)

    def value(self, obs: Obs, state: PolicyState) -> Tensor:
        device = self.generator.device
        leaves = {path: torch.from_numpy(leaf).to(device) for path, leaf in obs.items()}
        return self.policy.value(leaves, state)

    def complete(self, rollout: Rollout) -> None:
        """`act` has left nothing open."""


RolloutActor = NumpyActor | TorchRolloutActor


def make(policy: Policy, seed: int) -> RolloutActor:
    """Acts while `policy` is trained, by its own compute backend."""
    actor = acting.make(policy, seed)
    if isinstance(actor, NumpyActor):
        return actor
    return TorchRolloutActor(policy, actor.generator)
