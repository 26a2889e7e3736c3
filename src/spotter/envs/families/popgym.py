"""POPGym: small tasks of memory with cheap steps (`popgym-RepeatPreviousEasy-v0`).

Needs `spotter-rl[popgym]`. Scores are the package's own, between -1 and 1.
"""

from typing import Final

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered
from spotter.types import EnvInfo

EXAMPLE: Final = "popgym-PositionOnlyCartPoleEasy-v0"


def make(env: EnvConfig, render: bool = False) -> Env:
    register()
    return make_registered(env, render)


def register() -> None:
    """Make the ids known to Gymnasium."""
    plugins.require("popgym", extra="popgym")


def describe(env: EnvConfig) -> EnvInfo:
    return EnvInfo(score_range=(-1.0, 1.0))
