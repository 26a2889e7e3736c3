"""`spotter list`: what can be trained."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from spotter.cli.words import count, number

if TYPE_CHECKING:
    from spotter.config.catalogue import Entry


def show(
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Only recipes with these words, or close to them."),
    ] = None,
) -> None:
    """List recipes: address, algorithm, budget, the score it promises.

    In a pipe: one line per recipe, columns separated by tabs.
    """
    from spotter.config.catalogue import find

    entries = find(" ".join(text or ()))
    if sys.stdout.isatty():
        _table(entries)
    else:
        for entry in entries:
            typer.echo("\t".join(_cells(entry)))


def _cells(entry: "Entry") -> list[str]:
    if entry.problem:
        return [entry.address, "", "", "", f"broken: {entry.problem}"]
    budget = count(entry.env_steps) if entry.env_steps else "until solved"
    promise = "" if entry.score is None else number(entry.score)
    return [entry.address, entry.algo, budget, promise, entry.description]


def _table(entries: Sequence["Entry"]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("address", style="cyan", no_wrap=True)
    table.add_column("algorithm")
    table.add_column("env steps", justify="right")
    table.add_column("promises", justify="right")
    table.add_column("description", style="dim")
    for entry in entries:
        table.add_row(*map(escape, _cells(entry)), style="red" if entry.problem else None)
    Console(highlight=False).print(table)
