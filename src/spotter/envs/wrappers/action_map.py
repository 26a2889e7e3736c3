"""A hand-picked list of actions in place of the environment's own.

New action k is old action `mapping[k]`; for buttons (MultiBinary) and MultiDiscrete an entry is a
whole combination, so the policy chooses one of a few chords. An `action_mask` from below is
translated: a new action is valid if every old choice it makes is.
"""

from typing import Annotated, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.spaces import Space, encode_mask
from spotter.envs.wrapping import Bools, Start, Step, mask_parts
from spotter.types import UserError

Combination = Annotated[tuple[Whole, ...], Field(strict=False)]


class Config(WrapperConfig):
    name: Literal["action_map"]
    mapping: tuple[Whole | Combination, ...] = Field(
        strict=False, min_length=1, description="Old action, or combination, of each new action."
    )


def wrap(config: Config, env: Env) -> Env:
    return ActionMap(env, config.mapping)


class ActionMap(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Env, mapping: tuple[int | tuple[int, ...], ...]) -> None:
        super().__init__(env)
        parts = mask_parts(env.action_space, "action_map")
        self._old = [_old_action(env.action_space, entry) for entry in mapping]
        self._uses = np.stack([_uses(env.action_space, parts, action) for action in self._old])
        self.action_space = gs.Discrete(len(mapping))

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._translated(info)

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(self._old[int(action)])
        return obs, float(reward), terminated, truncated, self._translated(info)

    def _translated(self, info: dict[str, object]) -> dict[str, object]:
        if "action_mask" not in info:
            return info
        forbidden = ~encode_mask(info["action_mask"]).astype(np.bool_)
        return {**info, "action_mask": ~(self._uses & forbidden).any(axis=1)}


def _old_action(space: Space, entry: int | tuple[int, ...]) -> object:
    """An entry of the mapping as the environment wants it."""
    if isinstance(space, gs.Discrete):
        action: Any = entry
    else:
        shape = np.shape(space.sample())
        flat = np.array(entry, dtype=space.dtype)
        action = flat.reshape(shape) if flat.size == np.prod(shape) else flat
    if isinstance(entry, tuple) == isinstance(space, gs.Discrete) or not space.contains(action):
        shown = list(entry) if isinstance(entry, tuple) else entry
        raise UserError(f"action_map: {shown} is not an action of {space}")
    return action


def _uses(space: Space, parts: list[int], action: Any) -> Bools:
    """Which entries of a flat mask an action relies on."""
    if isinstance(space, gs.MultiBinary):
        return np.asarray(action, dtype=np.bool_).ravel()
    assert isinstance(space, gs.Discrete | gs.MultiDiscrete)
    first = np.cumsum([0, *parts[:-1]])
    uses = np.zeros(sum(parts), dtype=np.bool_)
    uses[first + np.ravel(action - space.start)] = True
    return uses
