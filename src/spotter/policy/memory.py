"""What a policy remembers: a core behind each trunk, over single steps or whole sequences.

With `policy.core` unset there is none of this. The state is a tuple: the parts of the actor's core,
then those of the critic's, where it has a trunk of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spotter import plugins
from spotter.config import CoreConfig, PolicyConfig
from spotter.policy.actor import PolicyState
from spotter.policy.core import Core
from spotter.types import UserError


@dataclass(frozen=True, slots=True)
class Sequences:
    """How the rows of a batch follow each other: episodes, or the parts of them in a rollout.

    Every row belongs to one sequence. `order` sorts rows as `Core.run` takes them.
    """

    order: Tensor
    sizes: Sequence[int]
    """How many sequences have a first step, a second one …"""
    state: PolicyState
    """Before the first step of each sequence, the longest first."""


Recalled = PolicyState | Sequences
"""What is remembered before each row; or the sequences that rows belong to."""


class Memory(nn.Module):
    """The cores of a policy: one for both trunks where they are one, else one for each."""

    def __init__(self, inputs: int, critic_inputs: int | None, config: PolicyConfig) -> None:
        super().__init__()
        self.actor = build(inputs, config)
        self.critic = None if critic_inputs is None else build(critic_inputs, config)
        self._split = len(self.actor.initial_state(0))
        """Which parts of a state are the actor's: those before."""

    def hidden(self, state: PolicyState) -> list[Tensor]:
        """What the heads see of a state: of the actor's core, and of the critic's if it has one."""
        return [state[0]] if self.critic is None else [state[0], state[self._split]]

    @property
    def widths(self) -> tuple[int, int]:
        """Features that come out for the action head and for the value head."""
        return self.actor.features, (self.critic or self.actor).features

    def initial_state(self, count: int) -> PolicyState:
        own = () if self.critic is None else self.critic.initial_state(count)
        return (*self.actor.initial_state(count), *own)

    def forward(
        self, actor: Tensor, critic: Tensor, recalled: Recalled
    ) -> tuple[Tensor, Tensor, PolicyState]:
        """Features of both trunks, and the state after them; of sequences no state is kept."""
        of_actor, of_critic = self._parts(recalled)
        actor, state = remembered(self.actor, actor, of_actor)
        if self.critic is None:
            return actor, actor, state
        critic, own = remembered(self.critic, critic, of_critic)
        return actor, critic, (*state, *own)

    def of_critic(self, features: Tensor, recalled: Recalled) -> Tensor:
        """What the value head sees; the actor's core is run only where it is the critic's too."""
        of_actor, of_critic = self._parts(recalled)
        if self.critic is None:
            return remembered(self.actor, features, of_actor)[0]
        return remembered(self.critic, features, of_critic)[0]

    def _parts(self, recalled: Recalled) -> tuple[Recalled, Recalled]:
        cut = self._split
        if isinstance(recalled, Sequences):
            order, sizes, state = recalled.order, recalled.sizes, recalled.state
            return Sequences(order, sizes, state[:cut]), Sequences(order, sizes, state[cut:])
        if not recalled:
            raise unknown_past()
        return recalled[:cut], recalled[cut:]

    def roles(self) -> dict[str, nn.Module]:
        if self.critic is None:
            return {"core": self.actor}
        return {"actor_core": self.actor, "critic_core": self.critic}


def unknown_past() -> UserError:
    return UserError(
        "a policy with a core needs to know what came before: give it its state "
        "(`initial_state` is the first) or, to learn, `Batch.recalled()`"
    )


def remembered(core: Core, x: Tensor, recalled: Recalled) -> tuple[Tensor, PolicyState]:
    """`x` [B, features] through a core: a step of each row, or the sequences that rows are."""
    if not isinstance(recalled, Sequences):
        output, state = core(x, recalled)
        return output, state
    order = recalled.order
    output = core.run(x[order], recalled.sizes, recalled.state)
    return output[torch.argsort(order)], ()


def make(policy: PolicyConfig, actor: int, critic: int | None) -> Memory | None:
    """Cores for trunks with so many features (`critic` None: it shares the actor's)."""
    return None if policy.core is None else Memory(actor, critic, policy)


def build(inputs: int, policy: PolicyConfig) -> Core:
    """By the file that `policy.core` names; one with a `Config` is given its settings too."""
    config = policy.core
    assert config is not None
    settings = [] if type(config) is CoreConfig else [config]
    core = plugins.load("cores", config.name).build(inputs, policy, *settings)
    if not isinstance(core, Core):
        raise UserError(
            f"policy.core {config.name} builds {type(core).__name__}, which is not made from "
            "spotter.policy.core.Core"
        )
    return core
