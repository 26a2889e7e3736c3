"""A family with settings of its own, as somebody else's package would bring it."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered
from spotter.types import EnvInfo


class Config(EnvConfig):
    """CartPole with two settings nobody else has."""

    skill: int = Field(3, ge=1, le=5, description="How hard it is.")
    sticky: float = Field(0.0, ge=0, le=1, description="How often the last action is repeated.")
    view: Literal["pixels", "state"] = "state"
    size: tuple[int, int] | None = Field(None, strict=False)
    names: tuple[str, ...] = Field(("left", "right"), strict=False)


def make(env: EnvConfig, render: bool = False) -> Env:
    return make_registered(env, render)


def describe(env: EnvConfig) -> EnvInfo:
    names = env.names if isinstance(env, Config) else ("left", "right")
    return EnvInfo(action_names=names)


def settings(env: EnvConfig) -> Mapping[str, Any]:
    assert isinstance(env, Config)
    return {"view": env.view, "skill": env.skill, "sticky": env.sticky, "rounds": 2}
