"""`spotter list`: what can be trained."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import table
from spotter.cli.words import count, number

if TYPE_CHECKING:
    from spotter.config.catalogue import Entry

_COLUMNS: Final = ("address", "algorithm", "env steps", "promises", "description")
_GIVES: Final = ("description…", "algorithm", "promises", "description")


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
    # what is wrong with a broken one is read to its end
    wraps = ("description",) if any(entry.problem for entry in entries) else ()
    table.show(_COLUMNS, [_cells(entry) for entry in entries], wraps, _GIVES)


def _cells(entry: "Entry") -> list[str]:
    if entry.problem:
        return [entry.address, "", "", "", f"broken: {entry.problem}"]
    budget = count(entry.env_steps) if entry.env_steps else "until solved"
    promise = "" if entry.score is None else number(entry.score)
    return [entry.address, entry.algo, budget, promise, entry.description]
