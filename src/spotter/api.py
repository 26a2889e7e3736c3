"""Spotter from Python: the same words as the command line.

result = spotter.train("CartPole-v1:ppo", "algo.lr=3e-4", seed=1)
config = spotter.resolve("CartPole-v1:ppo", budget={"env_steps": 50_000}).config
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from spotter.charts.figure import METRIC, check_file, figure, save
from spotter.config import Resolved, RunConfig, changed
from spotter.config import resolve as _resolve
from spotter.config.overrides import Override
from spotter.envs import scored
from spotter.envs.base import Env
from spotter.envs.families import python
from spotter.rundir import group as grouping
from spotter.rundir.frames import of_runs
from spotter.rundir.registry import listing
from spotter.rundir.run import Run, select
from spotter.rundir.trust import trusting
from spotter.sweeps import parallel
from spotter.sweeps.plan import Plan, refuse_launch
from spotter.sweeps.result import GroupResult, checked_seeds, train_each
from spotter.training.checkpoint import find, read_config, split
from spotter.training.checkpoint import load as _load
from spotter.training.predict import TrainedPolicy
from spotter.training.resume import Fork, fork
from spotter.training.resume import resume as _resume
from spotter.training.run import Result
from spotter.types import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Address = str | Env | Callable[..., Env]
"""A recipe or environment by name; or an environment's class, a function that makes it, or one."""


_TRAIN: Final = "spotter.train()"
_MAKE_ENV: Final = "spotter.make_env()"


def resolve(address: Address, *overrides: str, **settings: object) -> Resolved:
    """The config of a recipe or environment; overrides as on the command line or as keywords."""
    return _resolve(_named(address), [*overrides, settings], place="spotter.resolve()")


def _named(address: Address) -> str:
    return address if isinstance(address, str) else python.offer(address)


@overload
def train(
    address: Address,
    *overrides: str,
    seeds: None = None,
    group: str = "",
    quiet: bool = False,
    save: bool = True,
    start_from: str | None = None,
    fresh_optimizer: bool = False,
    why: str = "",
    **settings: Any,
) -> Result: ...


@overload
def train(
    address: Address,
    *overrides: str,
    seeds: Iterable[int],
    jobs: int = 1,
    group: str = "",
    quiet: bool = False,
    save: bool = True,
    start_from: str | None = None,
    fresh_optimizer: bool = False,
    why: str = "",
    **settings: Any,
) -> GroupResult: ...


def train(
    address: Address,
    *overrides: str,
    seeds: Iterable[int] | None = None,
    jobs: int = 1,
    group: str = "",
    quiet: bool = False,
    save: bool = True,
    start_from: str | None = None,
    fresh_optimizer: bool = False,
    why: str = "",
    **settings: Any,
) -> Result | GroupResult:
    """Train, printing progress unless `quiet`; the result holds score, policy, reason and run.

    `address` may be an environment's class, a function that makes one, or an instance, which is
    copied. `start_from` takes the weights of another run, such as `@last/@best`. `seeds` trains one
    run each, as a group with a name of its own or called `group`: one after the other in this
    process, or `jobs` at once in others.
    """
    name = _named(address)
    origin = fork(start_from, fresh_optimizer) if start_from else None

    def train_one(edits: Sequence[Override], group: str) -> Result:
        resolved = _resolve(name, edits, place=_TRAIN)
        return Plan.of_new(resolved, origin, why, group).train(quiet, save)

    edits: list[Override] = [*overrides, settings]
    if seeds is None:
        if jobs != 1:
            raise UserError("jobs needs seeds: one run is one process")
        return train_one(edits, grouping.check_name(group) if group else "")
    if "seed" in settings or any(text.partition("=")[0].strip() == "seed" for text in overrides):
        raise UserError("seeds says which seeds: leave out seed")
    chosen = checked_seeds(seeds)
    _check_jobs(jobs, save)
    resolved = _resolve(name, edits, place=_TRAIN)
    refuse_launch(resolved.config)
    label = _group_name(group, resolved, origin)
    if jobs > 1:
        return parallel.train(label, chosen, parallel.Order(name, edits, origin, jobs, why, quiet))
    return train_each(label, chosen, lambda seed: train_one([*edits, {"seed": seed}], label))


def _check_jobs(jobs: int, save: bool) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise UserError(f"jobs should be 1 or more, not {jobs!r}")
    if jobs > 1 and not save:
        raise UserError("jobs needs run folders, from which results are read: leave out save=False")


def _group_name(given: str, resolved: Resolved, origin: Fork | None) -> str:
    """Without a given one, a name that no group here has: results hold policies, so every seed is
    trained."""
    start, infos = origin.parent() if origin else None, listing().infos
    if given:
        there = grouping.members(grouping.check_name(given), infos)
        grouping.check_alike(given, resolved.config, there, start)
        return given
    name = grouping.default_name(resolved.address, resolved.config, start)
    return grouping.unused_name(name, infos)


def resume(
    selector: str,
    *overrides: str,
    quiet: bool = False,
    why: str = "",
    trust: bool = False,
    **settings: object,
) -> Result:
    """Resume a run, with other settings if given; `trust` as for `load`."""
    with trusting(trust):
        origin = _resume(selector, [*overrides, settings], "spotter.resume()")
    return Plan.of_resumed(origin, why).train(quiet)


def load(selector: str, trust: bool = False) -> TrainedPolicy:
    """The policy of a run, ready to `predict`: `@last`, `@last/@latest`, `<id>/step=20224` …

    `trust`: a run that was not trained here may import the modules it names.
    """
    with trusting(trust):
        config = read_config(find(selector))
        return TrainedPolicy(_load(selector), config.env, config.eval.deterministic)


def make_env(
    run_or_recipe: Address | Run | Result | RunConfig,
    *overrides: str,
    render_mode: str | None = None,
    trust: bool = False,
    **settings: object,
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
    config = given if isinstance(given, RunConfig) else given.config
    return changed(config, edits, _MAKE_ENV)


def _run_or_config(name: str, edits: Sequence[Override]) -> Run | RunConfig:
    if name.startswith("@"):
        return select(split(name)[0])
    try:
        return _resolve(name, edits, place=_MAKE_ENV).config
    except UserError as unknown:
        try:
            return select(split(name)[0])
        except UserError:
            raise unknown from None


def runs() -> Any:
    """Every run in the folder of runs as a pandas DataFrame: newest first, indexed by id."""
    return of_runs(listing().infos)


def plot(
    *runs: str | Run | Result | GroupResult, metric: str = METRIC, out: str | Path | None = None
) -> "Figure":
    """A metric of runs over env steps as a matplotlib Figure: seeds together, with intervals.

    Runs by name, groups by name, or results; `out` writes a .png, .svg or .pdf file as well.
    """
    path = None if out is None else check_file(Path(out))
    drawn = figure(_distinct(runs), metric)
    if path is not None:
        save(drawn, path)
    return drawn


def _distinct(given: Iterable[str | Run | Result | GroupResult]) -> list[Run]:
    found: dict[Run, None] = {}
    for one in given:
        results = one.results if isinstance(one, GroupResult) else (one,)
        for part in results:
            found |= dict.fromkeys(_runs_of(part))
    return list(found)


def _runs_of(one: str | Run | Result) -> list[Run]:
    if isinstance(one, str):
        return grouping.select_all([one])
    run = one if isinstance(one, Run) else one.run
    if run is None:
        raise UserError("a result without a run folder (save=False) cannot be plotted")
    return [run]


def run(selector: str) -> Run:
    """One run: `@last`, `@last:<env>`, `@best-of:<env>`, an id or its beginning, a tag, a folder.

    Read it with `info()`, `metrics()`, `evaluations()`, or as a data frame with `frame()`.
    """
    return select(selector)
