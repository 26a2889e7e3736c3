"""A policy outside of training: an environment's observation in, an action for its `step` out.

`predict` computes what evaluation computes, with the same engine and the same conversions, so a
loop over a plain Gymnasium environment gives the scores of the certificate.
"""

from functools import cached_property
from typing import Any

import torch

from spotter.config import EnvConfig
from spotter.envs.make import Recipe
from spotter.envs.spaces import ActionCodec, ObsCodec, encode_masks
from spotter.fast.network import twin
from spotter.nets.actor_critic import Policy
from spotter.types import Array, EnvSpaces, Obs, UserError


class Chooser:
    """Actions for leaves [B, …], by the policy's own engine."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = policy
        self._network = twin(policy)
        self._device = next(policy.parameters()).device
        self.generator = torch.Generator(device=self._device).manual_seed(seed)

    def __call__(self, obs: Obs, mask: Any, deterministic: bool) -> Array:
        if self._network is not None:
            x = self._network.inputs(obs)
            noise = None if deterministic else self._network.draw(1, len(x), self.generator)[0]
            return self._network.choose(x, mask, noise)
        leaves = {path: torch.from_numpy(leaf).to(self._device) for path, leaf in obs.items()}
        valid = None if mask is None else torch.from_numpy(mask).to(self._device)
        acted = self._policy.act(leaves, valid, self.generator, deterministic)
        action: Array = acted.action.cpu().numpy()
        return action


class TrainedPolicy:
    """What `spotter.load` returns and `spotter.train` leaves behind: `predict` plays it."""

    def __init__(self, network: Policy, env: EnvConfig) -> None:
        self.network = network
        """The torch module: weights, `act` for tensors, `evaluate`, `value`."""
        self._env = env

    def __repr__(self) -> str:
        weights = sum(parameter.numel() for parameter in self.network.parameters())
        return f"<TrainedPolicy for {self._env.id}, {weights:,} weights>"

    def predict(
        self, obs: Any, state: Any = None, deterministic: bool = True, mask: Any = None
    ) -> tuple[Any, Any]:
        """The action for what an environment shows, ready for `env.step`, and the next state.

        A batch, as Gymnasium's vector environments give it, gets a batch of actions. `mask` is the
        environment's `info["action_mask"]`. `state` is for policies with a memory; for all others
        it stays as it is. Not `deterministic`, actions are sampled; see `seed`.
        """
        observations, actions = self._border
        try:
            leaves, is_single = observations.batch(obs)
        except UserError as error:
            raise UserError(f"{error}{self._hint}") from error
        valid = None
        if mask is not None:
            rows = None if is_single else len(next(iter(leaves.values())))
            valid = encode_masks(mask, rows, self.network.spaces.action)
        chosen = self._chooser(leaves, valid, deterministic)
        action = actions.decode(chosen[0]) if is_single else actions.decode_batch(chosen)
        return action, state

    def seed(self, seed: int) -> None:
        """Sampled actions repeat from here on; a loaded policy starts with seed 0."""
        self._chooser.generator.manual_seed(seed)

    @cached_property
    def _chooser(self) -> Chooser:
        return Chooser(self.network, 0)

    @cached_property
    def _border(self) -> tuple[ObsCodec, ActionCodec]:
        spaces = self.network.spaces.env or _spaces_of(self._env)
        return ObsCodec(spaces.observation), ActionCodec(spaces.action)

    @property
    def _hint(self) -> str:
        """Why a plain environment may show something else than the policy was trained on."""
        names = [wrapper.name for wrapper in self._env.wrappers if not wrapper.train_only]
        return f"; its run changes {self._env.id} by {', '.join(names)}" if names else ""


def _spaces_of(env: EnvConfig) -> EnvSpaces:
    """For checkpoints that do not have them: those of an environment as evaluation builds it."""
    copy = Recipe(env, training=False).build()
    try:
        return EnvSpaces(copy.env.observation_space, copy.env.action_space)
    finally:
        copy.close()
