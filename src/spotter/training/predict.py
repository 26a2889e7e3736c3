"""A policy outside of training: an environment's observation in, an action for its `step` out.

`predict` computes what evaluation computes, with the same engine and the same conversions, so a
loop over a plain Gymnasium environment gives the scores of the certificate.
"""

from functools import cached_property
from typing import Any

import numpy as np

from spotter.config import EnvConfig
from spotter.engines import acting
from spotter.envs.make import EnvBuilder
from spotter.envs.spaces import ActionCodec, ObsCodec, encode_masks
from spotter.policy.actor import Actor, PolicyState, cleared
from spotter.policy.actor_critic import Policy
from spotter.types import EnvSpaces, UserError


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
        self,
        obs: Any,
        state: Any = None,
        deterministic: bool = True,
        mask: object = None,
        episode_start: object = None,
    ) -> tuple[Any, Any]:
        """The action for what an environment shows, ready for `env.step`, and the next state.

        A batch, as Gymnasium's vector environments give it, gets a batch of actions. `mask` is the
        environment's `info["action_mask"]`. Not `deterministic`, actions are sampled; see `seed`.
        `state` is for policies with a memory: give what the last call returned, None at first, and
        `episode_start`, true (in a batch: for each row) where an episode begins. Policies without
        memory return `state` as it was given.
        """
        observations, actions = self._border
        try:
            leaves, is_single = observations.batch(obs)
        except UserError as error:
            raise UserError(f"{error}{self._hint}") from error
        valid, rows = None, len(next(iter(leaves.values())))
        if mask is not None:
            valid = encode_masks(mask, None if is_single else rows, self.network.spaces.action)
        memory = self._memory(state, episode_start, rows)
        acted = self._actor.act(leaves, valid, memory, deterministic)
        chosen = acted.host_action()
        action = actions.decode(chosen[0]) if is_single else actions.decode_batch(chosen)
        return action, acted.state or state

    def _memory(self, state: Any, episode_start: object, rows: int) -> PolicyState:
        """`state` as the policy takes it, checked; nothing where an episode begins."""
        begun = None if episode_start is None else np.atleast_1d(np.asarray(episode_start, bool))
        if begun is not None and begun.shape != (rows,):
            raise UserError(f"episode_start should have {rows} entries, not shape {begun.shape}")
        memory = self.network.initial_state(rows)
        if not memory or state is None:
            return memory
        given = state if isinstance(state, tuple) else ()
        if [getattr(part, "shape", None) for part in given] != [part.shape for part in memory]:
            raise UserError(f"state is not that of {rows} observations; begin with state=None")
        return given if begun is None else cleared(given, begun)

    def seed(self, seed: int) -> None:
        """Sampled actions repeat from here on; a loaded policy starts with seed 0."""
        self._actor.generator.manual_seed(seed)

    @cached_property
    def _actor(self) -> Actor:
        return acting.make(self.network, 0)

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
    instance = EnvBuilder(env, training=False).build()
    try:
        return EnvSpaces(instance.env.observation_space, instance.env.action_space)
    finally:
        instance.close()
