"""`spotter compare` and `spotter diff`: runs side by side, and what is different about them."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import table
from spotter.cli.echo import echo
from spotter.cli.runs import SELECTOR, Selector, Selectors
from spotter.cli.words import count, duration, number, to_threshold

if TYPE_CHECKING:
    from spotter.intervals import Interval
    from spotter.rundir.compare import Group, Outcome
    from spotter.rundir.run import Run

_COLUMNS: Final = (
    "run", "recipe", "seed", "score", "over episodes", "on", "to threshold", "env steps",
    "time", "steps/s",
)  # fmt: skip
_GIVES: Final = (
    "steps/s", "time", "seed", "on", "recipe…", "to threshold", "env steps", "over episodes",
)  # fmt: skip


def compare(selectors: Selectors) -> None:
    """Compare outcomes of runs, then the settings they differ in.

    The interval of one run is over its episodes: how sure that score is. Give several seeds of the
    same settings to see an interval over seeds: how good the recipe is.
    """
    from spotter.rundir import compare as comparing

    runs = _distinct(selectors)
    outcomes = [comparing.outcome(run) for run in runs]
    _echo_outcomes([_row(outcome) for outcome in outcomes])
    for group in comparing.groups(outcomes):
        echo(_over_seeds(group))
    for warning in comparing.warnings(outcomes):
        echo(f"note: {warning}")
    infos = [one.info for one in outcomes]
    differences = comparing.differing_settings([run.settings() for run in runs], infos)
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


def _row(outcome: "Outcome") -> list[str]:
    info, score = outcome.info, outcome.score
    steps = to_threshold(info["steps_to_threshold"], info["total_steps_to_threshold"])
    return [
        info["id"],
        info["address"],
        str(info["seed"]),
        number(score.mean) if score else "-",
        f"{_half(score)} (95 %)" if score and score.half is not None else "-",
        outcome.seeds or "-",
        steps or "-",
        count(info["env_steps"]),
        duration(outcome.seconds),
        "-" if outcome.fps is None else count(round(outcome.fps)),
    ]


def _half(interval: "Interval") -> str:
    return "-" if interval.half is None else f"± {number(interval.half)}"


def _over_seeds(group: "Group") -> str:
    info = group.outcomes[0].info
    seeds = ", ".join(map(str, sorted(outcome.info["seed"] for outcome in group.outcomes)))
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
