"""POPGym: small tasks of memory with cheap steps (`popgym-RepeatPreviousEasy-v0`).

Needs `spotter-rl[popgym]`. Scores are the package's own, between -1 and 1.
"""

import importlib.util
from typing import Final

import gymnasium as gym

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered
from spotter.types import EnvInfo

EXAMPLE: Final = "popgym-RepeatFirstEasy-v0"


def make(env: EnvConfig, render: bool = False) -> Env:
    plugins.require("popgym", extra="popgym")
    register()
    return make_registered(env, render)


def register() -> None:
    """Make the ids known to Gymnasium, where the package is installed."""
    if EXAMPLE not in gym.registry and importlib.util.find_spec("popgym") is not None:
        importlib.import_module("popgym")


def describe(env: EnvConfig) -> EnvInfo:
    register()
    return EnvInfo(score_range=(-1.0, 1.0))
