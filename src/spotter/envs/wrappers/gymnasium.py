"""Any wrapper of Gymnasium's own, by class name: the way out when no file here does it."""

import inspect
from typing import Any, Literal

import gymnasium as gym
from pydantic import Field

from spotter import plugins
from spotter.config import FreeForm, WrapperConfig
from spotter.envs.base import Env
from spotter.types import UserError


class Config(WrapperConfig):
    name: Literal["gymnasium"]
    wrapper: str = Field(description="A class in gymnasium.wrappers, e.g. TimeAwareObservation.")
    kwargs: FreeForm = Field({}, description="Arguments of its constructor.")


def wrap(config: Config, env: Env) -> Env:
    known = [name for name in gym.wrappers.__all__ if name != "vector"]
    if config.wrapper not in known:
        raise UserError(
            f"gymnasium.wrappers has no '{config.wrapper}'"
            f"{plugins.did_you_mean(config.wrapper, known)}"
        )
    try:
        wrapper: Any = getattr(gym.wrappers, config.wrapper)
        wrapped: Env = wrapper(env, **config.kwargs)
    except Exception as error:  # a constructor may fail in any way; the user sees which and why
        reason = inspect.cleandoc(str(error)).splitlines() or [type(error).__name__]
        raise UserError(
            f"gymnasium.wrappers.{config.wrapper} cannot be used with kwargs {config.kwargs}: "
            f"{reason[0]}"
        ) from error
    return wrapped
