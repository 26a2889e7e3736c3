"""The one way to ask a policy for an action: `Actor.act`, and the state that travels through it.

The caller holds the state: what `act` returns goes into the next `act`, and `cleared` zeroes it
where an episode begins. A policy without memory has an empty state. Who acts is in `engines`.
"""

from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from typing_extensions import TypeVar

from spotter.types import Array, Obs

if TYPE_CHECKING:
    from spotter.policy.actor_critic import Policy

PolicyState = tuple[Tensor, ...]
"""What a policy remembers, [N, …] each; zero where an episode begins, empty without memory."""


A_co = TypeVar("A_co", bound=Tensor | Array, covariant=True, default=Tensor | Array)


class Acted(NamedTuple, Generic[A_co]):
    """Actions for N rows, and what the policy says about them."""

    action: A_co
    log_prob: A_co | None
    """None where NumPy acts without a memory, as is `value`: a rollout's are computed at once."""
    value: A_co | None
    state: PolicyState = ()

    def host_action(self) -> Array:
        """As an array, wherever it was computed."""
        action: Array = self.action.cpu().numpy() if torch.is_tensor(self.action) else self.action
        return action


class Actor(Protocol):
    """A policy with a compute backend and a random stream."""

    policy: "Policy"
    generator: torch.Generator

    def act(
        self,
        obs: Obs,
        mask: object,
        state: PolicyState = (),
        deterministic: bool = False,
    ) -> Acted:
        """Actions for leaves [N, …]; `mask` is [N, entries], true where an action is valid."""


def cleared(state: PolicyState, *begun: object) -> PolicyState:
    """The state, zero in rows where an episode begins: where any of these [N] flags is true."""
    if not state:
        return state
    flags = np.logical_or.reduce([np.asarray(flags) for flags in begun])
    if not flags.any():  # in most steps
        return state
    rows = torch.from_numpy(flags).to(state[0].device)
    return tuple(part.masked_fill(rows.view(-1, *[1] * (part.dim() - 1)), 0) for part in state)
