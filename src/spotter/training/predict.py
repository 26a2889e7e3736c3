"""A policy outside of training: an environment's observation in, an action for its `step` out.

`predict` computes what evaluation computes, with the same engine and the same conversions, so a
loop over a plain Gymnasium environment gives the scores of the certificate.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.engines import acting
from spotter.envs import previous
from spotter.envs.make import EnvBuilder
from spotter.envs.spaces import ActionCodec, ObsCodec, encode_masks
from spotter.policy.actor import Actor, PolicyState, cleared
from spotter.policy.actor_critic import Policy
from spotter.types import Array, EnvSpaces, UserError


class Before(NamedTuple):
    """The state of a policy that sees its last action: `predict` adds it to the observation."""

    memory: PolicyState
    action: Any


class TrainedPolicy:
    """What `spotter.load` returns and `spotter.train` leaves behind: `predict` plays it."""

    def __init__(self, network: Policy, env: EnvConfig, deterministic: bool = True) -> None:
        """`deterministic`: whether its run scored it by the most likely actions."""
        self.network = network
        """The torch module: weights, `act` for tensors, `evaluate`, `value`."""
        self._env, self._deterministic = env, deterministic

    def __repr__(self) -> str:
        weights = sum(parameter.numel() for parameter in self.network.parameters())
        return f"<TrainedPolicy for {self._env.id}, {weights:,} weights>"

    def predict(
        self,
        obs: Any,
        state: Any = None,
        deterministic: bool | None = None,
        mask: object = None,
        episode_start: object = None,
        reward: object = None,
    ) -> tuple[Any, Any]:
        """The action for what an environment shows, ready for `env.step`, and the next state.

        A batch, as Gymnasium's vector environments give it, gets a batch of actions. `mask` is the
        environment's `info["action_mask"]`. `deterministic` gives the most likely action, its
        opposite a sampled one (see `seed`); left out, it is as the policy was scored.
        `state` is for policies with a memory: give what the last call returned, None at first, and
        `episode_start`, true (in a batch: for each row) where an episode begins. Policies without
        memory return `state` as it was given. A policy that sees its last action or reward
        (`env.previous_reward`) has a state, too, and takes the `reward` of the last step, unless
        the observation holds them, as those of `spotter.make_env` do.
        """
        observations, actions = self._border
        before = state if isinstance(state, Before) else None
        try:
            completed = self._completed(obs, before, reward, episode_start)
            leaves, is_single = observations.batch(completed)
        except UserError as error:
            raise UserError(f"{error}{self._hint}") from error
        valid, rows = None, len(next(iter(leaves.values())))
        if mask is not None:
            valid = encode_masks(mask, None if is_single else rows, self.network.spaces.action)
        state = state if before is None else before.memory or None
        greedy = self._deterministic if deterministic is None else deterministic
        memory = self._memory(state, episode_start, rows)
        acted = self._actor.act(leaves, valid, memory, greedy)
        chosen = acted.host_action()
        action = actions.decode(chosen[0]) if is_single else actions.decode_batch(chosen)
        if completed is not obs:
            return action, Before(acted.state, action)
        return action, acted.state or state

    def _completed(
        self, obs: Any, before: Before | None, reward: object, episode_start: object
    ) -> Any:
        """The observation with the last action and reward, where only the policy's run adds them.

        The observation itself where nothing is missing.
        """
        seen = self._previous
        if reward is not None and (seen is None or previous.REWARD not in seen.spaces):
            raise UserError("this policy does not see its last reward; leave reward out")
        if seen is None or (isinstance(obs, Mapping) and seen.spaces.keys() <= obs.keys()):
            return obs
        rows = self._rows(obs, seen)
        values = seen.at_start(rows)
        begun = _flags(episode_start, rows or 1)
        if before is None or (begun is not None and begun.all()):
            return previous.beside(obs, values)
        if previous.REWARD in seen.spaces and reward is None:
            raise UserError("this policy sees its last reward (env.previous_reward): give reward=…")
        found = seen.after(before.action, 0.0 if reward is None else reward)
        for name, value in found.items():
            if value.shape != values[name].shape:
                raise UserError(f"{name} of shape {list(value.shape)} is not that of this batch")
            if begun is not None and rows is not None:
                value[begun] = values[name][begun]
        return previous.beside(obs, found)

    def _rows(self, obs: Any, seen: previous.Previous) -> int | None:
        """How many observations these are, by what an environment itself shows; None: one."""
        whole = self._spaces.observation
        assert isinstance(whole, gs.Dict)
        shown = {name: space for name, space in whole.items() if name not in seen.spaces}
        leaves, is_single = ObsCodec(gs.Dict(shown)).batch(previous.beside(obs, {}))
        return None if is_single else len(next(iter(leaves.values())))

    def _memory(self, state: Any, episode_start: object, rows: int) -> PolicyState:
        """`state` as the policy takes it, checked; nothing where an episode begins."""
        begun = _flags(episode_start, rows)
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
    def _spaces(self) -> EnvSpaces:
        return self.network.spaces.env or _spaces_of(self._env)

    @cached_property
    def _border(self) -> tuple[ObsCodec, ActionCodec]:
        return ObsCodec(self._spaces.observation), ActionCodec(self._spaces.action)

    @cached_property
    def _previous(self) -> previous.Previous | None:
        return previous.of(self._env, self._spaces.action)

    @property
    def _hint(self) -> str:
        """Why a plain environment may show something else than the policy was trained on."""
        names = [wrapper.name for wrapper in self._env.wrappers if not wrapper.train_only]
        return f"; its run changes {self._env.id} by {', '.join(names)}" if names else ""


def _flags(episode_start: object, rows: int) -> Array | None:
    """Which rows begin an episode, checked; None where that was not said."""
    if episode_start is None:
        return None
    begun = np.atleast_1d(np.asarray(episode_start, bool))
    if begun.shape != (rows,):
        raise UserError(f"episode_start should have {rows} entries, not shape {begun.shape}")
    return begun


def _spaces_of(env: EnvConfig) -> EnvSpaces:
    """For checkpoints that do not have them: those of an environment as evaluation builds it."""
    instance = EnvBuilder(env, training=False).build()
    try:
        return EnvSpaces(instance.env.observation_space, instance.env.action_space)
    finally:
        instance.close()
