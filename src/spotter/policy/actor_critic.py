"""The policy: encoder per observation leaf, trunk, action head, value head.

`act` is for collecting and playing, `evaluate` for learning. Normalisation statistics live here
and travel with the weights; nothing in this file knows about environments or algorithms.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spotter.config import PolicyConfig
from spotter.policy import foresight, memory
from spotter.policy.actor import Acted, PolicyState
from spotter.policy.body import Body, Inputs, TensorObs, has_images
from spotter.policy.heads import Distribution, Head, choose
from spotter.policy.layers import initialized
from spotter.policy.memory import Recalled
from spotter.policy.normalizers import ValueNorm
from spotter.types import Spaces


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What the present policy says about actions taken earlier; all [B]."""

    log_prob: Tensor
    entropy: Tensor
    value: Tensor


class Policy(nn.Module):
    """Actor and critic over any supported pair of spaces."""

    def __init__(self, spaces: Spaces, config: PolicyConfig) -> None:
        super().__init__()
        self.spaces = spaces
        self.config = config
        images = has_images(spaces)
        self.shared = images if config.shared is None else config.shared
        self.inputs = Inputs(spaces.observation, config)
        self.actor = Body(spaces.observation, config, images)
        self.critic = self.actor if self.shared else Body(spaces.observation, config, images)
        widths = self.actor.features, self.critic.features
        self.memory = memory.make(config, widths[0], None if self.shared else widths[1])
        widths = widths if self.memory is None else self.memory.widths
        self.policy_head = Head(widths[0], spaces.action, config)
        self.value_head = initialized(nn.Linear(widths[1], 1), 1.0, config.orthogonal)
        self.foresight = foresight.make(spaces, config, self.bodies())
        self.value_norm = ValueNorm(self.value_head) if config.normalize_values else None
        self.eval()

    def bodies(self) -> list[Body]:
        return [self.actor] if self.shared else [self.actor, self.critic]

    def initial_state(self, count: int) -> PolicyState:
        """What it remembers where `count` episodes begin; empty without `policy.core`."""
        return () if self.memory is None else self.memory.initial_state(count)

    @torch.inference_mode()
    def act(
        self,
        obs: TensorObs,
        mask: Tensor | None = None,
        state: PolicyState = (),
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> Acted[Tensor]:
        """Choose actions for [B, …] tensors by leaf.

        Box actions are in [-1, 1] where bounds are; `predict` converts from and to an environment.
        """
        distribution, value, state = self(obs, mask, state)
        action = choose(distribution, generator, deterministic)
        return Acted(action, distribution.log_prob(action), value, state)

    def evaluate(
        self, obs: TensorObs, action: Tensor, mask: Tensor | None = None, recalled: Recalled = ()
    ) -> Evaluated:
        distribution, value, _ = self(obs, mask, recalled)
        return Evaluated(distribution.log_prob(action), distribution.entropy(), value)

    @torch.inference_mode()
    def value(self, obs: TensorObs, state: PolicyState = ()) -> Tensor:
        features = self.critic(self.inputs(obs))
        return self._value(features if not self.memory else self.memory.of_critic(features, state))

    def forward(
        self, obs: TensorObs, mask: Tensor | None = None, state: Recalled = ()
    ) -> tuple[Distribution, Tensor, PolicyState]:
        inputs = self.inputs(obs)
        actor = self.actor(inputs)
        critic, after = actor if self.shared else self.critic(inputs), ()
        if self.memory is not None:
            actor, critic, after = self.memory(actor, critic, state)
        return self.policy_head(actor, mask), self._value(critic), after

    def _value(self, features: Tensor) -> Tensor:
        value: Tensor = self.value_head(features).squeeze(-1)
        return value if self.value_norm is None else self.value_norm.restore(value)

    def normalize_value(self, value: Tensor) -> Tensor:
        """Into the units the critic learns in; the identity without PopArt."""
        return value if self.value_norm is None else self.value_norm.normalize(value)

    def observe_returns(self, target: object) -> None:
        """Let PopArt's statistics see [B] value targets, as a tensor or an array."""
        if self.value_norm is not None:
            self.value_norm.update(torch.as_tensor(target))

    def observe(self, obs: TensorObs) -> None:
        """Let running observation statistics see [B, …]; training only, between updates."""
        self.inputs.observe(obs)

    @torch.no_grad()
    def activations(self, obs: TensorObs) -> list[Tensor]:
        """Outputs of every activation layer for [B, …] observations."""
        inputs = self.inputs(obs)
        return [layer for body in self.bodies() for layer in body.activations(inputs)]

    def parts(self) -> dict[str, list[nn.Parameter]]:
        """Parameters by role: what gradient norms are reported for."""
        trunks = (
            {"trunk": self.actor}
            if self.shared
            else {
                "actor_trunk": self.actor,
                "critic_trunk": self.critic,
            }
        )
        modules: dict[str, nn.Module] = {
            **trunks,
            **({} if self.memory is None else self.memory.roles()),
            "policy_head": self.policy_head,
            "value_head": self.value_head,
            **({} if self.foresight is None else {"foresight": self.foresight.heads}),
        }
        return {name: list(module.parameters()) for name, module in modules.items()}

    def critic_parameters(self) -> list[nn.Parameter]:
        """Parameters only the critic uses."""
        own = [] if self.shared else list(self.critic.parameters())
        if self.memory is not None and self.memory.critic is not None:
            own += self.memory.critic.parameters()
        return [*own, *self.value_head.parameters()]
