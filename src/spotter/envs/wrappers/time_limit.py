"""Truncate episodes after a number of decisions.

Counts what the policy decides, after any frame skip inside it; `env.time_limit` counts raw steps
of the bare environment.
"""

from typing import Literal

from gymnasium.wrappers import TimeLimit
from pydantic import Field

from spotter.config import Whole, WrapperConfig
from spotter.envs.base import Env


class Config(WrapperConfig):
    name: Literal["time_limit"]
    steps: Whole = Field(ge=1, description="Decisions per episode, at most.")


def wrap(config: Config, env: Env) -> Env:
    return TimeLimit(env, max_episode_steps=config.steps)
