"""Show the policy its latest actions: one-hot rows after the observation.

The newest action comes first; before the first action of an episode the rows are zero. For vector
observations and Discrete actions.
"""

from collections import deque
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import Start, Step, needs_box
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["previous_action"]
    count: Whole = Field(1, ge=1, le=1000, description="How many past actions.")


def wrap(config: Config, env: Env) -> Env:
    return PreviousAction(env, config.count)


class PreviousAction(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Env, count: int) -> None:
        super().__init__(env)
        space = needs_box(env, "previous_action")
        if len(space.shape) != 1:
            raise UserError(f"previous_action needs a vector observation, but this one is {space}")
        if not isinstance(env.action_space, gs.Discrete):
            raise UserError(
                f"previous_action needs Discrete actions, but these are {env.action_space}"
            )
        self._start = int(env.action_space.start)
        self._rows = np.eye(int(env.action_space.n), dtype=space.dtype)
        self._nothing = np.zeros(len(self._rows), dtype=space.dtype)
        self._past = deque([self._nothing] * count, maxlen=count)
        extra = np.ones(count * len(self._rows), dtype=space.dtype)
        low = np.concatenate([space.low, 0 * extra])
        high = np.concatenate([space.high, extra])
        self.observation_space = gs.Box(low, high, dtype=space.dtype.type)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        self._past.extend([self._nothing] * len(self._past))
        return np.concatenate([obs, *self._past]), info

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._past.appendleft(self._rows[int(action) - self._start])
        return np.concatenate([obs, *self._past]), float(reward), terminated, truncated, info
