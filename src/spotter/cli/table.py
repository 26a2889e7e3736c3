"""Tables for people on a terminal, and the same cells separated by tabs everywhere else.

Nothing is cut without a mark. Where a terminal is too narrow, text gives way first, then whole
columns are left out and named; if that is not enough, every row becomes a list.
"""

import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from spotter.text.echo import echo
from spotter.text.numbers import printable

_GAP: Final = 2
_LEAST: Final = 12  # columns of text; in fewer it cannot be read


def show(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    wraps: Collection[str] = (),
    gives: Sequence[str] = (),
    header: bool = False,
) -> None:
    """One line per row; in a pipe the names of the columns come only if asked for.

    On a narrow terminal `wraps` wrap to the next line. If that is too little, `gives` shrink in
    this order: `name` is left out, `name…` shortened. All other columns are shown whole.
    """
    rows = [[plain(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in ([list(columns)] if header else []) + rows:
            echo("\t".join(row))
        return
    room, kept, texts, dropped = width(), list(range(len(columns))), list(wraps), list[str]()
    for name in gives:
        if _least(columns, rows, kept, texts) <= room:
            break
        if name.endswith("…"):
            texts.append(name.removesuffix("…"))
        else:
            kept.remove(columns.index(name))
            dropped.append(name)
    if _least(columns, rows, kept, texts) > room:
        _show_lists(columns, rows)
        return
    names = [columns[i] for i in kept]
    _print(names, [[row[i] for i in kept] for row in rows], room, wraps, texts)
    if dropped:
        echo(f"left out for lack of room: {', '.join(dropped)}; a wider terminal shows them")


def wide(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How many columns of a terminal a table takes if nothing gives way."""
    return _total(_widths(columns, rows, range(len(columns))))


def width() -> int:
    """Columns of the terminal; 0 if there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def plain(text: str) -> str:
    """On one line; cells may come from a stranger's run."""
    return " ".join(printable(text).replace("\t", " ").split("\n"))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], kept: Iterable[int]
) -> list[int]:
    from rich.cells import cell_len

    return [max(map(cell_len, (columns[i], *(row[i] for row in rows)))) for i in kept]


def _least(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    texts: Collection[str],
) -> int:
    """How many columns of the terminal the kept ones need if `texts` are as narrow as can be."""
    widths = _widths(columns, rows, kept)
    names = [columns[i] for i in kept]
    return _total(
        [min(w, _floor(n)) if n in texts else w for n, w in zip(names, widths, strict=True)]
    )


def _floor(name: str) -> int:
    return max(_LEAST, len(name))


def _print(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int,
    wraps: Collection[str],
    texts: Collection[str],
) -> None:
    from rich.console import Console, OverflowMethod
    from rich.table import Table
    from rich.text import Text

    widths = _widths(columns, rows, range(len(columns)))
    for _ in range(_total(widths) - room):  # a letter at a time from the widest text
        _, widest = max(
            (w, i)
            for i, (name, w) in enumerate(zip(columns, widths, strict=True))
            if name in texts and w > _floor(name)
        )
        widths[widest] -= 1
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    for name, w in zip(columns, widths, strict=True):
        over: OverflowMethod = "fold" if name in wraps else "ellipsis"
        table.add_column(Text(name), width=w, no_wrap=name not in wraps, overflow=over)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False, width=room).print(table)


def _show_lists(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A line per cell; the terminal itself breaks those that are too long."""
    label = max(map(len, columns))
    for place, row in enumerate(rows):
        if place:
            echo()
        for name, cell in zip(columns, row, strict=True):
            if cell:
                echo(f"{name:<{label}}  {cell}")
