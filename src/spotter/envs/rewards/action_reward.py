"""A reward (or price, if negative) for each Discrete action: `values: [0, -0.1, -0.1, 0]`."""

from collections.abc import Mapping
from typing import Any, Literal

from gymnasium import spaces as gs
from pydantic import Field

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError


class Config(SignalConfig):
    source: Literal["action_reward"]
    values: tuple[float, ...] = Field(
        strict=False, description="One per action of the bare environment."
    )


def make(config: Config, env: Env) -> Signal:
    space = env.action_space
    if not isinstance(space, gs.Discrete):
        raise UserError(f"reward signal action_reward needs Discrete actions, not {space}")
    if len(config.values) != space.n:
        raise UserError(
            f"reward signal action_reward has {len(config.values)} values, "
            f"but the environment has {space.n} actions"
        )
    return ActionReward(config.values, int(space.start))


class ActionReward:
    kind: Kind = "sum"

    def __init__(self, values: tuple[float, ...], first_action: int) -> None:
        self._values = values
        self._first = first_action

    def start(self, obs: Any, info: Mapping[str, object]) -> float:
        return 0.0

    def step(self, obs: Any, action: Any, reward: float, info: Mapping[str, object]) -> float:
        return self._values[int(action) - self._first]
