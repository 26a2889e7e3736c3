"""`env.drop`: leaves of a Dict observation that the policy is not shown.

Below every wrapper of the config, so that those need not understand what is left out; reward
signals, which are deeper, still see it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
from gymnasium import spaces as gs

from spotter.envs.base import Env
from spotter.envs.spaces import Space
from spotter.types import UserError


class Drop(gym.ObservationWrapper[Any, Any, Any]):
    """Without some leaves, named by path: `mission`, `camera/left`."""

    def __init__(self, env: Env, paths: Sequence[str]) -> None:
        super().__init__(env)
        space: Space = env.observation_space
        self._paths = [path.split("/") for path in paths]
        for path in self._paths:
            space = _without_space(space, path, "/".join(path))
        self.observation_space = space

    def observation(self, observation: Any) -> object:
        for path in self._paths:
            observation = _without(observation, path)
        return observation


def _without(observation: Mapping[str, Any], path: Sequence[str]) -> dict[str, object]:
    key, *deeper = path
    return {
        name: _without(value, deeper) if name == key else value
        for name, value in observation.items()
        if name != key or deeper
    }


def _without_space(space: Space, path: Sequence[str], whole: str) -> Space:
    key, *deeper = path
    if not isinstance(space, gs.Dict):
        raise UserError(f"env.drop: {whole} is not there; only parts of a Dict can be left out")
    if key not in space.spaces:
        there = ", ".join(map(str, space.spaces)) or "nothing"
        raise UserError(f"env.drop: the observation has no {whole}; it has {there}")
    kept = [
        (name, _without_space(child, deeper, whole) if name == key else child)
        for name, child in space.spaces.items()
        if name != key or deeper
    ]
    if not kept:
        raise UserError(f"env.drop: {whole} is all there is in its Dict; something has to stay")
    return gs.Dict(kept)
