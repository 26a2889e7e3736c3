"""Keeping order among runs: `spotter tag`, `note`, `stop`, `rm`, `reindex`, `export`, `import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli.runs import Selector, Selectors, is_terminal
from spotter.text.echo import echo
from spotter.text.numbers import plural
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.rundir.run import Run

LONGEST_NOTE: Final = 4000


def tag(
    selector: Selector,
    name: Annotated[str, typer.Argument(metavar="TAG", help="A word that begins with a letter.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take the tag off again.")] = False,
) -> None:
    """Give a run a tag to find it by; the newest run with a tag can be named by it."""
    from spotter.rundir.run import select

    run = select(selector)
    if remove:
        run.untag(name)
    else:
        run.tag(name)
    echo(f"{run.id} is {'no longer' if remove else 'now'} tagged {name}")


def note(
    selector: Selector,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you saw, concluded or want.")],
) -> None:
    """Write a note into a run; `spotter show` and `spotter digest` show it."""
    from spotter.rundir.identity import user
    from spotter.rundir.run import select

    said = text.strip()
    if not 0 < len(said) <= LONGEST_NOTE:
        raise UserError(f"a note has 1 to {LONGEST_NOTE:,} characters, not {len(said):,}")
    run = select(selector)
    run.event("note", {"text": said, "by": user()})
    echo(f"noted in {run.id}")


def stop(selector: Selector) -> None:
    """Ask the process that trains a run to save and stop, as Ctrl-C does."""
    from spotter.launch.dispatch import Dispatcher
    from spotter.rundir.identity import user
    from spotter.rundir.run import home, select

    run = select(selector)
    Dispatcher(home()).stop(run)
    run.event("action", {"what": "stop", "actor": user(), "reason": ""})
    echo(f"{run.id} saves and stops after this update; continue with spotter train --resume")


def rm(
    selectors: Selectors,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask; also where other runs began from it.")
    ] = False,
) -> None:
    """Delete runs for good, with their checkpoints and videos."""
    from spotter.rundir.registry import remove
    from spotter.rundir.run import select

    runs = {run.id: run for run in map(select, selectors)}
    for run in runs.values():
        _refuse_to_delete(run)
    forks = _forks(set(runs))
    if not yes:
        if forks:
            parent, child = forks[0]
            raise UserError(
                f"run {child} began from {parent} and would lose its parent; "
                "add --yes to delete it all the same"
            )
        if not is_terminal():
            raise UserError("not a terminal: add --yes to delete without asking")
        what = ", ".join(runs) if len(runs) < 6 else plural(len(runs), "run")
        if not typer.confirm(f"Delete {what}?"):
            raise typer.Exit(1)
    for run in runs.values():
        remove(run.folder)
        echo(f"deleted {run.id}")


def _refuse_to_delete(run: "Run") -> None:
    from spotter.rundir.run import home

    if run.folder.parent.resolve() != home().resolve():
        raise UserError(f"{run.folder} is not in {home()}; only runs in there are deleted")
    if used := run.in_use():
        raise UserError(f"run {run.id} {used}; stop it first")


def _forks(doomed: set[str]) -> list[tuple[str, str]]:
    """Parent and child, where the child stays."""
    from spotter.rundir.lineage import children
    from spotter.rundir.registry import listing

    infos = listing().infos
    return [
        (parent, child)
        for parent in sorted(doomed)
        for child in children(parent, infos)
        if child not in doomed
    ]


def reindex() -> None:
    """Rebuild the index of runs; it is only a cache, so nothing can be lost."""
    from spotter.rundir.registry import INDEX
    from spotter.rundir.registry import reindex as build
    from spotter.rundir.run import home

    there = build()
    echo(f"{plural(len(there.infos), 'run')} in {home() / INDEX}")
    for problem in there.problems.values():
        echo(problem, err=True)


def export(
    selector: Selector,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to; RUN's id.zip if left out.")
    ] = None,
) -> None:
    """Write a run into one zip file, to keep or to send."""
    from spotter.rundir.archive import export_run
    from spotter.rundir.run import select

    run = select(selector)
    path = file or Path(f"{run.id}.zip")
    left_out = export_run(run, path)
    echo(f"run {run.id} is in {path}")
    if left_out:
        echo(f"left out, as no part of a run: {', '.join(left_out)}", err=True)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `spotter export` wrote.")],
) -> None:
    """Unpack an exported run into the folder of runs; nothing in it is ever executed."""
    from spotter.rundir.archive import import_run

    run, is_new = import_run(file)
    echo(f"run {run.id} is {'now' if is_new else 'already'} in {run.folder}")
