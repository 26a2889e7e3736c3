"""A price on long episodes: −1 for every raw step beyond the first `after`."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from spotter.config import SignalConfig, Whole
from spotter.envs.base import Env
from spotter.envs.signals import Kind, Signal


class Config(SignalConfig):
    source: Literal["step_penalty"]
    after: Whole = Field(0, ge=0, description="Raw steps that are free in each episode.")


def make(config: Config, env: Env) -> Signal:
    return StepPenalty(config.after)


class StepPenalty:
    kind: Kind = "sum"

    def __init__(self, after: int) -> None:
        self._after = after
        self._steps = 0

    def start(self, obs: object, info: Mapping[str, object]) -> float:
        self._steps = 0
        return 0.0

    def step(self, obs: object, action: object, reward: float, info: Mapping[str, object]) -> float:
        self._steps += 1
        return -1.0 if self._steps > self._after else 0.0
