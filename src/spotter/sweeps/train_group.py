"""`spotter train … --seeds 1-5`: a group of runs, one live table, one verdict."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spotter.system.interrupts import EXIT_CODES, Interrupted, Interrupts, say
from spotter.text.echo import echo
from spotter.text.numbers import count, mean_over_seeds, number, plural, printable
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.launch.dispatch import Dispatcher
    from spotter.launch.group import GroupTraining, Member
    from spotter.rundir.group import Verdict
    from spotter.sweeps.plan import Plan

_COLUMNS: Final = ("seed", "run", "state", "env steps", "score")
_LOOK_EVERY_S: Final = 0.5
_REFUSED: Final = 2  # the exit code of a `UserError`
_STOPPING: Final = "stopping every run after its update; once more to exit at once"


@dataclass(frozen=True)
class GroupPlan:
    """What is about to be trained with several seeds."""

    plan: "Plan"
    """What each of them is; the seed aside."""
    words: Sequence[str]
    """Of the command line, for every run."""
    seeds: str
    jobs: int
    name: str = ""
    why: str = ""


def train(wanted: GroupPlan, quiet: bool, require_solved: bool) -> None:
    """Exits with 1 if a run failed, or is unsolved where that is required; as a run if stopped or
    refused."""
    from spotter.rundir import group as grouping

    training, plan = prepare(wanted), wanted.plan
    _echo_beginning(training, wanted.jobs, quiet)
    request = follow(training, quiet)
    if all(member.code == _REFUSED for member in training.members):
        raise UserError(training.members[0].problem)
    infos = [member.info for member in training.members if member.info is not None]
    found = grouping.verdict(infos)
    seeds, name = len(training.members), training.name
    echo(verdict(plan.address, name, found, seeds))
    is_complete = all(member.state == "finished" for member in training.members)
    if request and not is_complete:
        echo(f"the same command completes group {name}", err=True)
        sys.exit(EXIT_CODES[request])
    if not is_complete or (require_solved and found.solved < seeds):
        sys.exit(1)


def prepare(wanted: GroupPlan, elsewhere: "Dispatcher | None" = None) -> "GroupTraining":
    """The group, of which nothing has been started; `elsewhere` starts all of it at once."""
    from spotter.launch.group import GroupTraining
    from spotter.rundir import group as grouping
    from spotter.rundir.registry import listing

    plan, seeds = wanted.plan, grouping.parse_seeds(wanted.seeds)
    start = plan.fork.parent() if plan.fork else None
    name = grouping.check_name(
        wanted.name or grouping.default_name(plan.address, plan.config, start)
    )
    grouping.check_alike(name, plan.config, grouping.members(name, listing().infos), start)
    jobs = len(seeds) if elsewhere else wanted.jobs
    return GroupTraining(name, wanted.words, seeds, jobs, wanted.why, dispatcher=elsewhere)


def _echo_beginning(training: "GroupTraining", at_once: int, quiet: bool) -> None:
    done = [member for member in training.members if member.was_finished]
    if not quiet:
        jobs = f", {at_once} at once" if at_once > 1 else ""
        echo(f"group {training.name}: {plural(len(training.members), 'seed')}{jobs}")
    if done:
        seeds = ", ".join(str(member.seed) for member in done)
        echo(f"trained before: seed {seeds}; another --group NAME trains again", err=True)


def follow(training: "GroupTraining", quiet: bool) -> str | None:
    """Until all have ended; what asked for a stop, if something did."""
    with Interrupts() as interrupts, _shown(training, quiet) as show:
        interrupts.on_request = lambda _: _pass_on(training, quiet)
        interrupts.begin()
        try:
            while not training.is_over:
                try:
                    training.advance()
                    show()
                    time.sleep(_LOOK_EVERY_S)
                except Interrupted:  # the second request
                    training.stop(at_once=True)
            show()
        except BaseException:
            training.stop()
            raise
        return interrupts.requested


def _pass_on(training: "GroupTraining", quiet: bool) -> None:
    """At once: what signals this process may signal the runs as well (a cluster that ends a job),
    and only requests that come close together are one."""
    training.stop()
    if quiet or not sys.stdout.isatty():  # else it stands under the table
        say(_STOPPING)


@contextmanager
def _shown(training: "GroupTraining", quiet: bool) -> Iterator[Any]:
    """A function that shows how far everyone is: a table in place, or a line per change."""
    if quiet:
        yield lambda: None
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(highlight=False), auto_refresh=False) as live:
            yield lambda: live.update(_table(training), refresh=True)
    else:
        reported: dict[int, str] = {}

        def tell() -> None:
            for member in training.members:
                line = _line(member)
                if line and reported.get(member.seed) != line:
                    reported[member.seed] = line
                    echo(line)

        yield tell


def _table(training: "GroupTraining") -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in _COLUMNS:
        table.add_column(Text(name))
    for member in training.members:
        table.add_row(*(Text(printable(cell)) for cell in _row(member)))
    is_waited_for = training.is_stopping and not training.is_over
    return Group(table, _STOPPING) if is_waited_for else table


def _row(member: "Member") -> list[str]:
    info = member.info
    if info is None:
        return [str(member.seed), "", member.problem or member.state, "", ""]
    state = member.problem or (member.state if member.state != "training" else info["phase"])
    return [
        str(member.seed),
        info["id"],
        state or member.state,
        count(info["env_steps"]),
        _score(info),
    ]


def _score(info: Mapping[str, object]) -> str:
    from spotter.rundir.judged import judged

    found = judged(info)
    if found is None:
        return ""
    solved = " solved" if info["solved"] else ""
    return f"{number(found.mean)}{'' if found.seeds == 'test' else ' eval'}{solved}"


def _line(member: "Member") -> str:
    """Without what changes with every look; empty where there is nothing to say yet."""
    run = f" run {member.info['id']}" if member.info else ""
    if member.state == "waiting" or (member.state == "training" and not member.run):
        return ""
    if member.state == "training":
        return f"seed {member.seed}: training{run}"
    score = f", score {_score(member.info)}" if member.info and _score(member.info) else ""
    problem = f": {member.problem}" if member.problem else ""
    return f"seed {member.seed}: {member.state}{run}{score}{problem}"


def verdict(address: str, name: str, found: "Verdict", wanted: int) -> str:
    """The mean over seeds, how sure it is, and how many were solved."""
    if found.score is None:
        return f"{address}: no seed was tested (group {name})"
    missing = wanted - found.score.count
    solved = "" if found.threshold is None else f", {found.solved} of {wanted} solved"
    lacks = f", {missing} not tested" if missing else ""
    return f"{address}: {mean_over_seeds(found.score, found.seeds)}{solved}{lacks} (group {name})"
