"""The family protocol: one file per family of environments.

A family module has two functions. `make` builds one bare env (no wrappers, no rendering unless
asked); `describe` says what Gymnasium does not: names, score range, solved threshold, keys.
"""

import importlib
from typing import Any, Protocol

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled, Error

from spotter import plugins
from spotter.config import EnvConfig
from spotter.types import EnvInfo, UserError

Env = gym.Env[Any, Any]


class Family(Protocol):
    """What `envs/families/<family>.py` offers."""

    def make(self, env: EnvConfig, render: bool = False) -> Env: ...

    def describe(self, env: EnvConfig) -> EnvInfo: ...


def family(env: EnvConfig) -> Family:
    module: Any = plugins.load("envs", env.family or "gymnasium")
    return module  # type: ignore[no-any-return]  # modules satisfy protocols, mypy cannot see which


def make_registered(env: EnvConfig, render: bool = False) -> Env:
    """`gym.make` with our settings; whatever goes wrong is one sentence about this id."""
    settings: dict[str, Any] = dict(env.kwargs)
    if render:
        settings["render_mode"] = "rgb_array"
    if env.time_limit is not None:
        settings["max_episode_steps"] = env.time_limit
    try:
        return gym.make(env.id, disable_env_checker=True, **settings)
    except DependencyNotInstalled as error:
        raise UserError(f"{env.id} cannot be made: {_first_line(error)}") from error
    except Error as error:
        raise UserError(f"unknown environment '{env.id}': {_first_line(error)}") from error
    except Exception as error:  # a constructor may fail in any way; the user sees which and why
        if render and "render_mode" in str(error):
            raise UserError(f"{env.id} draws nothing: it takes no render_mode") from error
        reason = f"{type(error).__name__}: {_first_line(error)}"
        raise UserError(
            f"{env.id} cannot be made with env.kwargs {env.kwargs}: {reason}"
        ) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def threshold(env: EnvConfig) -> float | None:
    """The score that counts as solved: the config's, else the family's."""
    return env.threshold if env.threshold is not None else family(env).describe(env).threshold


def episode_limit(env: EnvConfig) -> int | None:
    """Steps after which an episode of the bare environment is cut; None where that is unknown."""
    if env.time_limit is not None:
        return env.time_limit
    try:
        return registered_spec(env).max_episode_steps
    except (Error, ImportError):
        return None


def registered_info(env: EnvConfig) -> EnvInfo:
    """All that is known about an environment without a description."""
    try:
        return EnvInfo(threshold=registered_spec(env).reward_threshold)
    except (Error, ImportError):
        return EnvInfo()


def registered_spec(env: EnvConfig) -> EnvSpec:
    package, _, bare_id = env.id.rpartition(":")
    if package:  # gym.make imports it, gym.spec does not
        importlib.import_module(package)
    return gym.spec(bare_id)
