"""`spotter compare` and `spotter diff`: runs side by side, and what is different about them."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import table
from spotter.cli.runs import SELECTOR, RunsAndGroups, Selector
from spotter.intervals import FEW_SEEDS
from spotter.text.echo import echo
from spotter.text.numbers import count, duration, mean_over_seeds, number, to_threshold
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.rundir.compare import Group, Improvement
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


def compare(selectors: RunsAndGroups) -> None:
    """Compare outcomes of runs, then the settings they differ in.

    The interval of one run is over its episodes: how sure that score is. Give several seeds of the
    same settings, or the names of groups, to see an interval over seeds, how good the recipe is,
    and the probability that a run of one scores higher than a run of the first.
    """
    from spotter.rundir import compare as comparing
    from spotter.rundir.view import RunView

    runs = _distinct(selectors)
    views = [RunView(run) for run in runs]
    _echo_outcomes([_row(view) for view in views], comparing.distinguishing(views))
    groups = comparing.groups(views)
    _echo_groups(groups)
    for warning in comparing.warnings(views):
        echo(f"note: {warning}")
    for view in views:
        for problem in view.problems:
            echo(f"note: {view.id}: {problem}")
    _echo_settings(views, groups)


def _echo_outcomes(rows: list[list[str]], differs: list[str]) -> None:
    """A line per run; on a terminal a column per run, like the settings below, while they fit."""
    columns: tuple[str, ...] = _COLUMNS
    gives: tuple[str, ...] = _GIVES
    if any(differs):
        columns, gives = (*_COLUMNS, "differs"), ("differs", *_GIVES)
        rows = [[*row, words] for row, words in zip(rows, differs, strict=True)]
    names, *lines = zip(columns, *rows, strict=True)
    if table.wide(names, lines) <= table.width():
        table.show(names, lines)
    else:
        table.show(columns, rows, gives=gives, header=True)


def _echo_groups(groups: "list[Group]") -> None:
    """What several seeds say, and how likely each group is better than the first."""
    from spotter.rundir import compare as comparing

    differs = comparing.distinguishing([group.views[0] for group in groups])
    labels = [
        f"{group.views[0].info['address']}{f' with {words}' if words else ''}"
        for group, words in zip(groups, differs, strict=True)
    ]
    for group, label in zip(groups, labels, strict=True):
        echo(_over_seeds(group, label))
    for group, label in list(zip(groups, labels, strict=True))[1:]:
        if found := comparing.improvement(group, groups[0]):
            echo(f"{label}: {_improvement(found)} over {labels[0]}")


def _echo_settings(views: "list[RunView]", groups: "list[Group]") -> None:
    """Those that differ: a column per run, and one for all seeds of a group."""
    from spotter.rundir.compare import settings_of_sides, sides

    differences = settings_of_sides(views, groups)
    if differences:
        echo("")
        names = list(sides(views, groups))
        rows = [[name, *values] for name, values in differences.items()]
        table.show(["setting", *names], rows, wraps=names, header=True)


def _improvement(found: "Improvement") -> str:
    if found.low is None or found.high is None:
        sure = FEW_SEEDS
    else:
        sure = f"95 % interval {found.low:.2f} to {found.high:.2f}"
    return f"probability of improvement {found.probability:.2f} ({sure})"


def _distinct(selectors: list[str]) -> "list[Run]":
    from spotter.rundir.group import select_all

    runs = select_all(selectors)
    if len(runs) < 2:
        raise UserError("compare needs two different runs or more")
    return runs


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


def _over_seeds(group: "Group", label: str) -> str:
    return f"{label}: {mean_over_seeds(group.score, sorted(v.info['seed'] for v in group.views))}"


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
