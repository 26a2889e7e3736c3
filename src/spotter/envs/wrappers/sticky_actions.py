"""With some probability the environment repeats the previous action instead of the chosen one.

The usual way to make a deterministic game punish memorised key sequences. The first action of an
episode is always the chosen one: `reset` forgets.
"""

from copy import copy
from typing import Literal

from pydantic import Field

from spotter.config import WrapperConfig
from spotter.envs.base import Env
from spotter.envs.wrapping import SeededWrapper, Start, Step


class Config(WrapperConfig):
    name: Literal["sticky_actions"]
    probability: float = Field(
        0.25, ge=0, le=1, description="How often the action before is repeated instead."
    )


def wrap(config: Config, env: Env) -> Env:
    return StickyActions(env, config.probability)


class StickyActions(SeededWrapper):
    def __init__(self, env: Env, probability: float) -> None:
        super().__init__(env)
        self._probability = probability
        self._previous: object = None

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        self._previous = None
        return super().reset(seed=seed, options=options)

    def step(self, action: object) -> Step:
        if self._previous is not None and self.draw.random() < self._probability:
            action = self._previous
        self._previous = copy(action)  # actions may be arrays that the caller reuses
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, float(reward), terminated, truncated, info
