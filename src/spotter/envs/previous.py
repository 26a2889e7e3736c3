"""`env.previous_action` and `env.previous_reward`: what was done and received, beside what is seen.

Leaves of the observation like any other, so every network, recording and replay has them. The
outermost part of the stack: the action as the policy chose it, the reward after all wrappers (the
environment's, not what training makes of it). Where an episode begins, the reward is 0 and the
action is "none": a choice of its own, or zeros.
"""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs.base import Env
from spotter.envs.spaces import Space
from spotter.envs.wrapping import Start, Step
from spotter.types import UserError

ACTION: Final = "previous_action"
REWARD: Final = "previous_reward"


class Previous:
    """The leaves that a config asks for, and their values; for single steps and for batches."""

    def __init__(self, action_space: Space, action: bool, reward: bool) -> None:
        self.spaces: dict[str, Space] = {}
        if action:
            self.spaces[ACTION] = _with_none(action_space)
        if reward:
            self.spaces[REWARD] = gs.Box(-np.inf, np.inf, (1,), np.float32)
        counted = isinstance(action_space, gs.Discrete | gs.MultiDiscrete)
        self._shift: Any = 1 - action_space.start if counted else 0  # type: ignore[attr-defined]

    def at_start(self, rows: int | None = None) -> dict[str, Any]:
        """Where an episode begins, or `rows` of them do."""
        lead = () if rows is None else (rows,)
        return {
            name: np.zeros((*lead, *(space.shape or ())), space.dtype)
            for name, space in self.spaces.items()
        }

    def after(self, action: Any, reward: Any) -> dict[str, Any]:
        """One step later; both with a batch axis in front, or neither."""
        found: dict[str, Any] = {}
        for name, space in self.spaces.items():
            if name == ACTION:
                found[name] = np.asarray(action + self._shift, space.dtype)
            else:
                found[name] = np.asarray(reward, np.float32)[..., None]
        return found


def of(config: EnvConfig, action_space: Space) -> Previous | None:
    """None where the config asks for neither."""
    if not (config.previous_action or config.previous_reward):
        return None
    return Previous(action_space, config.previous_action, config.previous_reward)


def beside(obs: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """An observation with more leaves; one that is no Dict becomes the leaf `obs`."""
    return {**(obs if isinstance(obs, Mapping) else {"obs": obs}), **values}


class WithPrevious(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose observations hold the last action, reward, or both."""

    def __init__(self, env: Env, previous: Previous) -> None:
        super().__init__(env)
        self._previous = previous
        space = env.observation_space
        there = dict(space) if isinstance(space, gs.Dict) else {"obs": space}
        if taken := there.keys() & previous.spaces.keys():
            name = min(taken)
            raise UserError(
                f"env.{name}: the observation has a {name} already; leave env.{name} out"
            )
        self.observation_space = gs.Dict({**there, **previous.spaces})

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        return beside(obs, self._previous.at_start()), info

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        values = self._previous.after(action, reward)
        return beside(obs, values), float(reward), terminated, truncated, info


def _with_none(space: Space) -> Space:
    """An action space as an observation, with a value for no action."""
    if isinstance(space, gs.Discrete):
        return gs.Discrete(int(space.n) + 1)
    if isinstance(space, gs.MultiDiscrete):
        return gs.MultiDiscrete(space.nvec + 1)
    if isinstance(space, gs.Box):
        low, high = np.minimum(space.low, 0), np.maximum(space.high, 0)
        return gs.Box(low, high, dtype=space.dtype.type)
    return space
