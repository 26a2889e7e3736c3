"""Environments that are Python objects: a class, a function that makes one, or an instance.

`env.id` is `module:name`, and what it names is called with `env.kwargs`. What cannot be imported by
that name (a lambda, an instance, a class inside a function) exists only in the process that it was
given in.
"""

import copy
import importlib
import inspect
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import TimeLimit

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env
from spotter.types import EnvInfo, UserError

Maker = Callable[..., Env]
EXAMPLE: Final = "gymnasium.envs.classic_control:CartPoleEnv"
MAIN: Final = "__main__"
_given: Final[dict[str, Maker]] = {}
"""By `env.id`, what was given in this process."""


def offer(thing: object) -> str:
    """Make a class, a function or an instance known here; returns its `env.id`."""
    if isinstance(thing, gym.Env):
        env_id, maker = _own_id(_class_name(thing)), _copier(thing)
    elif callable(thing):
        env_id, maker = _path(thing) or _own_id(_made_name(thing)), thing
    else:
        raise UserError(
            "an environment is given by its address, a class, a function that makes it or an "
            f"instance of gymnasium.Env, not by {type(thing).__name__}"
        )
    _given[env_id] = maker
    return env_id


def _own_id(name: str) -> str:
    """No name that can be imported: a class of that name may be there, and make something else."""
    return f"{MAIN}:{name}()"


def knows(env_id: str) -> bool:
    """Whether something can be called by this id, importing its module if there is one."""
    return env_id in _given or callable(_imported(env_id))


def is_importable(env_id: str) -> bool:
    """Whether another process finds the same thing by this id."""
    return callable(_imported(env_id)) and _given.get(env_id) in (None, _imported(env_id))


def make(env: EnvConfig, render: bool = False) -> Env:
    maker = _given.get(env.id) or _imported(env.id)
    if not callable(maker):
        raise UserError(_missing(env.id))
    settings = dict(env.kwargs)
    if render and _takes(maker, "render_mode"):
        settings["render_mode"] = "rgb_array"
    try:
        made = maker(**settings)
    except UserError:
        raise
    except Exception as error:  # a constructor may fail in any way; the user sees which and why
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{env.id} cannot be made with env.kwargs {settings}: {reason}") from error
    if not isinstance(made, gym.Env):
        raise UserError(f"{env.id} makes {type(made).__name__}, not a gymnasium.Env")
    if made.spec is None:
        made.unwrapped.spec = EnvSpec(id=_class_name(made))
    return TimeLimit(made, env.time_limit) if env.time_limit is not None else made


def _missing(env_id: str) -> str:
    """Why there is nothing to call by this id."""
    module, _, name = env_id.partition(":")
    if module == MAIN:
        return (
            f"{env_id} cannot be imported: it was given to Spotter as a Python object in another "
            "process, so workers (env.backend=process, eval.mode=async) and other commands cannot "
            "make it; define it in a module of its own, or use it in that process only"
        )
    if module not in sys.modules:
        return (
            f"there is no module '{module}' to import for {env_id}; install it, or run this in the "
            f"folder of {module.partition('.')[0]}.py"
        )
    there = [key for key, value in vars(sys.modules[module]).items() if callable(value)]
    return (
        f"{module} has no '{name}'{plugins.did_you_mean(name, there)} (an id that it registers "
        "needs env.family=gymnasium)"
    )


def describe(env: EnvConfig) -> EnvInfo:
    return EnvInfo()


def _copier(instance: Env) -> Maker:
    def make_copy() -> Env:
        try:
            return copy.deepcopy(instance)
        except Exception as error:  # locks, windows, handles of libraries …
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise UserError(
                f"this {_class_name(instance)} cannot be copied ({reason}); "
                "give its class, or a function that makes one: lambda: MyEnv(...)"
            ) from error

    return make_copy


def _path(thing: object) -> str:
    """`module:name` if that leads back to the thing."""
    path = f"{getattr(thing, '__module__', '')}:{getattr(thing, '__qualname__', '')}"
    return path if _imported(path) is thing else ""


def _imported(env_id: str) -> object:
    module, _, name = env_id.partition(":")
    if not name.replace(".", "_").isidentifier():
        return None
    if module not in sys.modules and not plugins.findable(module):
        return None
    try:
        found = importlib.import_module(module)
    except Exception as error:  # third-party code: say which and why
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{module} of '{env_id}' cannot be imported: {reason}") from error
    return reduce(_attribute, name.split("."), found)


def _attribute(thing: object, name: str) -> Any:
    return getattr(thing, name, None)


def _made_name(function: Maker) -> str:
    """What it is called, or else what it makes."""
    name = getattr(function, "__name__", "")
    if name.isidentifier():
        return str(name)
    env = function()
    if not isinstance(env, gym.Env):
        raise UserError(f"this function makes {type(env).__name__}, not a gymnasium.Env")
    try:
        return _class_name(env)
    finally:
        env.close()


def _class_name(env: Env) -> str:
    return type(env.unwrapped).__name__


def _takes(maker: Maker, name: str) -> bool:
    try:
        taken = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return False
    return name in taken or any(one.kind is one.VAR_KEYWORD for one in taken.values())
