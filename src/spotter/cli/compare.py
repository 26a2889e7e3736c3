"""`spotter compare` and `spotter diff`: runs side by side, and what is different about them."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import table
from spotter.cli.echo import echo
from spotter.cli.runs import SELECTOR, Selector, Selectors
from spotter.cli.words import count, duration, number, to_threshold

if TYPE_CHECKING:
    from spotter.intervals import Interval
    from spotter.rundir.compare import Group
    from spotter.rundir.judged import Judged
    from spotter.rundir.run import Run
    from spotter.rundir.view import RunView

_COLUMNS: Final = (
    "run", "recipe", "seed", "score", "over episodes", "on", "to threshold", "env steps",
    "time", "fps", "wall fps",
)  # fmt: skip
_GIVES: Final = (
    "wall fps", "fps", "time", "seed", "on", "recipe…", "to threshold", "env steps",
    "over episodes",
)  # fmt: skip


def compare(selectors: Selectors) -> None:
    """Compare outcomes of runs, then the settings they differ in.

    The interval of one run is over its episodes: how sure that score is. Give several seeds of the
    same settings to see an interval over seeds: how good the recipe is.
    """
    from spotter.rundir import compare as comparing
    from spotter.rundir.view import RunView

    runs = _distinct(selectors)
    views = [RunView(run) for run in runs]
    _echo_outcomes([_row(view) for view in views])
    for group in comparing.groups(views):
        echo(_over_seeds(group))
    for warning in comparing.warnings(views):
        echo(f"note: {warning}")
    for view in views:
        for problem in view.problems:
            echo(f"note: {view.id}: {problem}")
    infos = [one.info for one in views]
    differences = comparing.differing_settings([view.config for view in views], infos)
    if differences:
        echo("")
        rows = [[name, *values] for name, values in differences.items()]
        ids = [run.id for run in runs]
        table.show(["setting", *ids], rows, wraps=ids, header=True)


def _echo_outcomes(rows: list[list[str]]) -> None:
    """A line per run; on a terminal a column per run, like the settings below, while they fit."""
    names, *lines = zip(_COLUMNS, *rows, strict=True)
    if table.wide(names, lines) <= table.width():
        table.show(names, lines)
    else:
        table.show(_COLUMNS, rows, gives=_GIVES, header=True)


def _distinct(selectors: list[str]) -> "list[Run]":
    from spotter.rundir.run import select
    from spotter.types import UserError

    runs = {run.folder.resolve(): run for run in map(select, selectors)}
    if len(runs) < 2:
        raise UserError("compare needs two different runs or more")
    return list(runs.values())


def _row(view: "RunView") -> list[str]:
    info, score = view.info, view.score
    steps = to_threshold(view.steps_to_threshold, view.total_steps_to_threshold)
    return [
        info["id"],
        info["address"],
        str(info["seed"]),
        number(score.mean) if score else "-",
        _over_episodes(score) if score else "-",
        score.seeds if score else "-",
        steps or "-",
        count(view.env_steps),
        duration(view.elapsed_s),
        *("-" if rate is None else count(round(rate)) for rate in (view.fps, view.wall_fps)),
    ]


def _over_episodes(score: "Judged") -> str:
    """`± 4.1 (95 %, 20)`: half the interval, and of how many episodes."""
    if score.half is None:
        return "-"
    return f"± {number(score.half)} (95 %, {count(score.episodes)})"


def _half(interval: "Interval") -> str:
    return "-" if interval.half is None else f"± {number(interval.half)}"


def _over_seeds(group: "Group") -> str:
    info = group.views[0].info
    seeds = ", ".join(map(str, sorted(view.info["seed"] for view in group.views)))
    return (
        f"{info['address']}: {number(group.score.mean)} {_half(group.score)} "
        f"(95 % over {group.score.count} seeds: {seeds})"
    )


def diff(
    one: Selector,
    other: Annotated[str, typer.Argument(metavar="OTHER", help=SELECTOR)],
) -> None:
    """Print the settings, then the versions, in which two runs differ: name, first, second."""
    from spotter.rundir.compare import differing, differing_settings
    from spotter.rundir.run import select

    runs = [select(one), select(other)]
    infos = [run.info() for run in runs]
    rows = differing_settings([run.settings() for run in runs], infos)
    rows |= differing([{"versions": info["versions"]} for info in infos])
    for name, values in rows.items():
        echo("\t".join(map(table.plain, (name, *values))))
