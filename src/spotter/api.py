"""Spotter from Python: the same words as the command line.

result = spotter.train("CartPole-v1:ppo", "algo.lr=3e-4", seed=1)
config = spotter.resolve("CartPole-v1:ppo", budget={"env_steps": 50_000}).config
"""

import sys
from typing import Any

from spotter.checkpoint import load as _load
from spotter.config import Resolved
from spotter.config import resolve as _resolve
from spotter.nets.actor_critic import Policy
from spotter.rundir.run import Run, all_runs, select
from spotter.sinks.console import Console
from spotter.training import Result
from spotter.training import train as _train


def resolve(address: str, *overrides: str, **settings: Any) -> Resolved:
    """The config of a recipe or environment; overrides as on the command line or as keywords."""
    return _resolve(address, [*overrides, settings])


def train(
    address: str, *overrides: str, quiet: bool = False, save: bool = True, **settings: Any
) -> Result:
    """Train, printing progress unless `quiet`; the result holds score, policy, reason and run."""
    resolved = resolve(address, *overrides, **settings)

    def new_run() -> Run:
        return Run.create(resolved.config, resolved.address, sys.argv)

    return _train(resolved.config, () if quiet else (Console(),), new_run if save else None)


def load(selector: str) -> Policy:
    """The policy of a run, ready to `act`: `@last`, `@last/@latest`, `<id>/step=20224` …"""
    return _load(selector)


def runs() -> list[Run]:
    """Every run in the folder of runs, newest first; read them with `info()` and `metrics()`."""
    return all_runs()


def run(selector: str) -> Run:
    """One run: `@last`, `@last:<env>`, an id or the beginning of one."""
    return select(selector)
