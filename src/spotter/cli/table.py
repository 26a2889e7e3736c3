"""Tables for people on a terminal, and the same cells separated by tabs everywhere else."""

import shutil
import sys
from collections.abc import Collection, Sequence

import typer


def show(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    wraps: Collection[str] = (),
    header: bool = False,
) -> None:
    """One line per row; only the columns in `wraps` give way on a narrow terminal.

    In a pipe the names of the columns come only if asked for.
    """
    rows = [[plain(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in ([list(columns)] if header else []) + rows:
            typer.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, no_wrap=column not in wraps, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    Console(highlight=False).print(table)


def width() -> int:
    """Columns of the terminal; 0 if there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def plain(text: str) -> str:
    """On one line, without what would move the cursor: cells may come from a stranger's run."""
    return "".join(char if char.isprintable() else " " for char in text)
