"""Which environments the batch back-end can run, found by what Gymnasium would construct."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Final

from gymnasium.envs.registration import EnvSpec
from gymnasium.error import Error

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.batch.world import World
from spotter.envs.backends.buffers import Buffers
from spotter.envs.base import registered_spec
from spotter.envs.families import bandit

_CLASSIC: Final = "gymnasium.envs.classic_control"
_TOY_TEXT: Final = "gymnasium.envs.toy_text"
_LAKE: Final = f"{_TOY_TEXT}.frozen_lake:FrozenLakeEnv"
_LANDER: Final = "gymnasium.envs.box2d.lunar_lander:LunarLander"
_TAXI: Final = f"{_TOY_TEXT}.taxi:TaxiEnv"
_WORLDS: Final = {  # entry point -> module of this package, class
    f"{_CLASSIC}.cartpole:CartPoleEnv": ("cartpole", "CartPole"),
    f"{_CLASSIC}.mountain_car:MountainCarEnv": ("mountain_car", "MountainCar"),
    f"{_CLASSIC}.continuous_mountain_car:Continuous_MountainCarEnv": (
        "mountain_car",
        "ContinuousMountainCar",
    ),
    f"{_CLASSIC}.acrobot:AcrobotEnv": ("acrobot", "Acrobot"),
    f"{_CLASSIC}.pendulum:PendulumEnv": ("pendulum", "Pendulum"),
    _LAKE: ("tabular", "Tabular"),
    f"{_TOY_TEXT}.cliffwalking:CliffWalkingEnv": ("tabular", "Tabular"),
    _TAXI: ("tabular", "Tabular"),
    "spotter.envs.families.bandit:Bandit": ("arms", "Arms"),
    _LANDER: ("lander", "Lander"),
}
_FAMILIES: Final = ("", "gymnasium", "classic", "toy_text", "bandit", "box2d")
"""Those that hand out what is registered, as it is."""
_WRAPPERS: Final = ("time_limit",)
_LARGEST: Final = 1e9  # settings beyond make physics overflow, which is not checked here


def reason_against(env: EnvConfig, reward: RewardConfig | None) -> str:
    """Why this cannot run in one computation, as a clause; empty if it can."""
    if env.family not in _FAMILIES:
        return f"family {env.family} may make something else of {env.id}"
    spec = _spec(env)
    if spec is None or spec.entry_point not in _WORLDS or spec.additional_wrappers:
        return f"there is no batch version of {env.id}"
    if env.demo is not None and reward is not None:
        return "env.demo works on one env at a time"
    if env.shows_previous:
        return f"env.{env.shows_previous} works on one env at a time"
    for wrapper in env.wrappers:
        if wrapper.name not in _WRAPPERS and (reward is not None or not wrapper.train_only):
            return f"wrapper {wrapper.name} works on one env at a time"
    if reward is not None and reward.signals:
        return "reward signals look at one env at a time"
    return _against_settings(str(spec.entry_point), {**spec.kwargs, **env.kwargs})


def is_cheap(env: EnvConfig) -> bool:
    """Whether all envs are stepped by a few operations on arrays; a lander has its physics."""
    spec = None if reason_against(env, None) else _spec(env)
    return spec is not None and spec.entry_point != _LANDER


def make_world(env: EnvConfig, game: object, buffers: Buffers) -> World:
    """The world of an environment that can be batched; `game` is one bare instance of it."""
    spec = _spec(env)
    assert spec is not None and isinstance(spec.entry_point, str)
    module, name = _WORLDS[spec.entry_point]
    kind = vars(importlib.import_module(f"spotter.envs.backends.batch.{module}"))[name]
    world: World = kind(game, buffers)
    return world


def _spec(env: EnvConfig) -> EnvSpec | None:
    if env.id == bandit.ID and env.family == "bandit":
        bandit.register()
    try:
        return registered_spec(env)
    except (Error, ImportError):
        return None


def _against_settings(entry_point: str, settings: Mapping[str, object]) -> str:
    if settings.get("render_mode"):
        return "an env that renders every step renders by itself"
    if entry_point == _LAKE and settings.get("desc") is None and settings["map_name"] is None:
        return "every env has a random map of its own"
    if entry_point == _TAXI and settings.get("fickle_passenger"):
        return "fickle passengers are not in the transition table"
    if entry_point == _LANDER and settings.get("enable_wind"):
        return "wind is separate in each env"
    for name, value in settings.items():
        if any(not abs(number) < _LARGEST for number in _numbers(value)):
            return f"env.kwargs.{name} is too large or not a number"
    return ""


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner)
