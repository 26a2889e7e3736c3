"""Spotter from Python: the same words as the command line.

result = spotter.train("CartPole-v1:ppo", "algo.lr=3e-4", seed=1)
config = spotter.resolve("CartPole-v1:ppo", budget={"env_steps": 50_000}).config
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from spotter.checkpoint import find, read_config, split
from spotter.checkpoint import load as _load
from spotter.config import Resolved, RunConfig, changed
from spotter.config import resolve as _resolve
from spotter.config.overrides import Override
from spotter.envs import python, scored
from spotter.envs.base import Env
from spotter.origins import fork
from spotter.origins import resume as _resume
from spotter.predict import TrainedPolicy
from spotter.rundir.frames import of_runs
from spotter.rundir.registry import listing
from spotter.rundir.run import Run, select
from spotter.rundir.trust import trusting
from spotter.sinks.console import Console
from spotter.training import Result
from spotter.training import train as _train
from spotter.types import UserError

Address = str | Env | Callable[..., Env]
"""A recipe or environment by name; or an environment's class, a function that makes it, or one."""


def resolve(address: Address, *overrides: str, **settings: Any) -> Resolved:
    """The config of a recipe or environment; overrides as on the command line or as keywords."""
    return _resolve(_named(address), [*overrides, settings])


def _named(address: Address) -> str:
    return address if isinstance(address, str) else python.offer(address)


def train(
    address: Address,
    *overrides: str,
    quiet: bool = False,
    save: bool = True,
    start_from: str | None = None,
    fresh_optimizer: bool = False,
    why: str = "",
    **settings: Any,
) -> Result:
    """Train, printing progress unless `quiet`; the result holds score, policy, reason and run.

    `address` may be an environment's class, a function that makes one, or an instance, which is
    copied. `start_from` takes the weights of another run, such as `@last/@best`.
    """
    resolved = resolve(address, *overrides, **settings)
    origin = fork(start_from, fresh_optimizer) if start_from else None

    def new_run() -> Run:
        parent = origin.parent() if origin else None
        return Run.create(resolved.config, resolved.address, sys.argv, parent=parent, why=why)

    made = new_run if save else None
    return _train(resolved.config, _sinks(quiet), made, origin, resolved.written, resolved.notes)


def resume(
    selector: str,
    *overrides: str,
    quiet: bool = False,
    why: str = "",
    trust: bool = False,
    **settings: Any,
) -> Result:
    """Resume a run, with other settings if given; `trust` as for `load`."""
    with trusting(trust):
        origin = _resume(selector, [*overrides, settings])
    return _train(origin.config, _sinks(quiet), lambda: origin.take_up(sys.argv, why), origin)


def _sinks(quiet: bool) -> tuple[Console, ...]:
    return () if quiet else (Console(),)


def load(selector: str, trust: bool = False) -> TrainedPolicy:
    """The policy of a run, ready to `predict`: `@last`, `@last/@latest`, `<id>/step=20224` …

    `trust`: a run that was not trained here may import the modules it names.
    """
    with trusting(trust):
        return TrainedPolicy(_load(selector), read_config(find(selector)).env)


def make_env(
    run_or_recipe: Address | Run | Result | RunConfig,
    *overrides: str,
    render_mode: str | None = None,
    trust: bool = False,
    **settings: Any,
) -> Env:
    """The environment in which a run is scored, as one Gymnasium environment for your own loop.

    `@last`, a run, a result, a recipe or an environment id; `render_mode`: `rgb_array` or `human`.
    Its rewards are the raw ones that a score adds up. `trust` as for `load`.
    """
    with trusting(trust):
        config = _config_of(run_or_recipe, [*overrides, settings])
        return scored.make(config.env, render_mode)


def _config_of(given: Address | Run | Result | RunConfig, edits: Sequence[Override]) -> RunConfig:
    """A name is that of a recipe or an environment first, else that of a run."""
    if not isinstance(given, Run | Result | RunConfig):
        given = _run_or_config(_named(given), edits)
        if isinstance(given, RunConfig):
            return given
    if isinstance(given, Run):
        given = given.config()
    return changed(given if isinstance(given, RunConfig) else given.config, edits)


def _run_or_config(name: str, edits: Sequence[Override]) -> Run | RunConfig:
    if name.startswith("@"):
        return select(split(name)[0])
    try:
        return _resolve(name, edits).config
    except UserError as unknown:
        try:
            return select(split(name)[0])
        except UserError:
            raise unknown from None


def runs() -> Any:
    """Every run in the folder of runs as a pandas DataFrame: newest first, indexed by id."""
    return of_runs(listing().infos)


def run(selector: str) -> Run:
    """One run: `@last`, `@last:<env>`, `@best-of:<env>`, an id or its beginning, a tag, a folder.

    Read it with `info()`, `metrics()`, `evaluations()`, or as a data frame with `frame()`.
    """
    return select(selector)
