"""Where the cells of an archive lie on a map: rooms where cells name x and y, else a grid.

Of numbers, only; pages draw them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.explore import cells
from spotter.explore.cells import Cell

COLUMNS: Final = 20
"""Of a grid, up to a thousand cells."""
_ROOMS: Final = ("level", "room", "screen")
"""Fields that tell rooms apart; cells that differ in other fields lie on top of each other."""

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Map:
    """Cells in the order in which they were found, [N]."""

    fields: tuple[str, ...]
    values: Ints
    """[N, fields]; of small frames there are none."""
    rooms: tuple[str, ...]
    """Their names, in the order in which they were found; one without a name where there are no
    rooms."""
    room: Ints
    x: Ints
    y: Ints
    is_grid: bool
    """x and y only count."""
    is_upwards: bool
    """y grows upwards, not downwards as on a screen."""


def drawn(found: Sequence[Cell], how: str, env_id: str) -> Map:
    """`how` tells cells apart, as in cells.py."""
    fields = () if how == cells.FRAMES else tuple(field.name for field in cells.parsed(how))
    raw = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), -1)
    values = raw[:, : len(fields)].astype(np.int32)
    rooms, room = _rooms(fields, values)
    is_grid = not {"x", "y"} <= set(fields)
    if is_grid:
        rooms, room = ("",), np.zeros(len(found), np.int32)
        y, x = np.divmod(np.arange(len(found), dtype=np.int32), np.int32(_columns(len(found))))
    else:
        x, y = (values[:, fields.index(name)] for name in ("x", "y"))
    is_upwards = not is_grid and cells.name_of(env_id) in cells.UPWARDS
    return Map(fields, values, rooms, room, x, y, is_grid, is_upwards)


def _columns(count: int) -> int:
    """Twice as many for four times the cells, so that a grid that grows rarely changes."""
    columns = COLUMNS
    while count > 2.5 * columns**2:
        columns *= 2
    return columns


def _rooms(fields: Sequence[str], values: Ints) -> tuple[tuple[str, ...], Ints]:
    """Names of rooms, and each cell's; a field that never differs is left out of a name."""
    places = [place for place, name in enumerate(fields) if name in _ROOMS]
    telling = [place for place in places if len(np.unique(values[:, place])) > 1]
    telling = telling or [place for place in places if fields[place] != "level"]
    names = [", ".join(f"{fields[place]} {row[place]}" for place in telling) for row in values]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers), np.array([numbers[name] for name in names], np.int32)
