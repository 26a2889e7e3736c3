"""Spotter from Python: the same words as the command line.

result = spotter.train("CartPole-v1:ppo", "algo.lr=3e-4", seed=1)
config = spotter.resolve("CartPole-v1:ppo", budget={"env_steps": 50_000}).config
"""

from typing import Any

from spotter.config import Resolved
from spotter.config import resolve as _resolve
from spotter.sinks.console import Console
from spotter.training import Result
from spotter.training import train as _train


def resolve(address: str, *overrides: str, **settings: Any) -> Resolved:
    """The config of a recipe or environment; overrides as on the command line or as keywords."""
    return _resolve(address, [*overrides, settings])


def train(address: str, *overrides: str, quiet: bool = False, **settings: Any) -> Result:
    """Train, printing progress unless `quiet`; the result holds score, policy and reason."""
    config = resolve(address, *overrides, **settings).config
    return _train(config, () if quiet else (Console(),))
