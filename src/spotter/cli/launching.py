"""`spotter train … --launch slurm`: start runs elsewhere, and say where to find them."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spotter.text.echo import echo
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.config import LauncherConfig
    from spotter.launch.launch import Launch
    from spotter.sweeps.train_group import GroupPlan

_LOOK_EVERY_S: Final = 0.25
_PATIENCE_S: Final = 30.0
_QUEUE_S: Final = 5.0
"""A job of another machine may wait for days."""
_REFUSED: Final = 2  # the exit code of a `UserError`


def with_launch(settings: list[str], name: str | None) -> list[str]:
    """`--launch slurm launch.minutes=60`: the name comes first, for the others are its settings."""
    if name is None:
        return settings
    if any(text.partition("=")[0].strip() in ("launch", "launch.name") for text in settings):
        raise UserError("the launcher is given twice: write either --launch or launch=")
    return [f"launch.name={name}", *settings]


def refuse(launcher: "LauncherConfig", given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise UserError(
                f"{option} does not go with launch={launcher.name}, which starts every run as a "
                "job of its own and returns"
            )


def written(values: Mapping[str, str], flags: Mapping[str, bool]) -> list[str]:
    """Options as they are typed; those that were not given are left out."""
    given = [word for name, value in values.items() if value for word in (name, value)]
    return [*given, *(name for name, is_given in flags.items() if is_given)]


def start(launcher: "LauncherConfig", words: Sequence[str], why: str) -> None:
    """One run."""
    from spotter.launch.dispatch import Dispatcher
    from spotter.rundir.identity import home

    launch = Dispatcher(home()).spawn(words, why, launcher=launcher)
    _await([launch])
    if problem := launch.failure():
        raise UserError(problem)
    echo(_found(launch))


def start_group(launcher: "LauncherConfig", wanted: "GroupPlan", quiet: bool) -> None:
    """One job per seed, all at once: a queue of jobs is the launcher's business."""
    from spotter.launch.dispatch import Dispatcher
    from spotter.rundir.identity import home
    from spotter.sweeps.train_group import prepare

    training = prepare(wanted, Dispatcher(home(), launcher=launcher))
    training.advance()
    _await([member.launch for member in training.members if member.launch is not None])
    problems = []
    for member in training.members:
        if member.launch is None:
            said = "trained before" + (f" (run {member.info['id']})" if member.info else "")
        elif said := member.launch.failure() or "":
            problems.append(said)
        else:
            said = _found(member.launch)
        if said in problems or not quiet:
            echo(f"seed {member.seed}: {said}", err=said in problems)
    if problems:
        sys.exit(_REFUSED if len(problems) == len(training.members) else 1)
    echo(f"spotter runs group={training.name} lists them; the same command completes the group")


def _await(launches: Sequence["Launch"]) -> None:
    """Until each has its run or has failed; not for long where it may have to queue."""
    is_here = all(launch.config.on_this_machine for launch in launches)
    until = time.monotonic() + (_PATIENCE_S if is_here else _QUEUE_S)
    while time.monotonic() < until:
        if all(launch.run_id() or launch.end() for launch in launches):
            return
        time.sleep(_LOOK_EVERY_S)


def _found(launch: "Launch") -> str:
    run = launch.run_id()
    if run is None:
        return (
            f"{launch} waits or starts; its run will be in `spotter runs`, "
            f"what it prints in {launch.log}"
        )
    return f"run {run} is {launch}; `spotter stop {run}` ends it"
