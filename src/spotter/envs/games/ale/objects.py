"""Where the things of a game are, read from the console's 128 bytes. A game is a table.

Positions are in pixels of the full screen, of the left upper corner, whatever is shown of it; a
velocity is the way since the decision before, and 0 where a thing was not visible then. Something
that is not on the field is at 0 with `visible` 0. Nothing is scaled here: set
`policy.normalize_obs: running`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs

Floats = npt.NDArray[np.float32]
_BYTE: Final = 255


class Place(NamedTuple):
    """A coordinate: the value of a byte, moved to where the screen shows it."""

    byte: int
    shift: int


@dataclass(frozen=True)
class Thing:
    """Something that moves; a coordinate that is a number never changes and is not shown."""

    name: str
    x: Place | int
    y: Place | int
    size: tuple[int, int]
    """Width and height."""


@dataclass(frozen=True)
class Table:
    """What the bytes of one game mean."""

    field: tuple[int, int, int, int]
    """Left, top, right, bottom: what lies outside is not visible."""
    things: tuple[Thing, ...]
    bytes: Mapping[str, int]
    """Numbers to be shown as they are: name -> address."""
    counts: Mapping[str, tuple[tuple[int, int], ...]]
    """Numbers of set bits: name -> (address, bit) of each."""


# Bricks in columns from the left: the address in the lowest row, and the bit.
_BRICKS: Final = (
    *((30, 6), (24, 6), (24, 4), (24, 2), (24, 0), (18, 0), (18, 2), (18, 4), (18, 6)),
    *((12, 4), (12, 6), (6, 6), (6, 4), (6, 2), (6, 0), (0, 0), (0, 2), (0, 4)),
)
_BRICK_ROWS: Final = 6

TABLES: Final = {
    "pong": Table(
        field=(0, 34, 160, 194),
        things=(
            Thing("player", x=140, y=Place(51, -13), size=(4, 16)),
            Thing("opponent", x=16, y=Place(50, -15), size=(4, 16)),
            Thing("ball", x=Place(49, -49), y=Place(54, -14), size=(2, 4)),
        ),
        bytes={},
        counts={},
    ),
    "breakout": Table(
        field=(8, 32, 152, 196),
        things=(
            Thing("paddle", x=Place(72, -47), y=189, size=(16, 4)),
            Thing("ball", x=Place(99, -49), y=Place(101, 9), size=(2, 4)),
        ),
        bytes={"half the paddle's width": 108},
        counts={
            f"bricks in column {column}": tuple((low + row, bit) for row in range(_BRICK_ROWS))
            for column, (low, bit) in enumerate(_BRICKS)
        },
    ),
}


class Objects:
    """A view of the console by a table: what it names, then the last action, one number each."""

    def __init__(self, ale: Any, table: Table, choices: int) -> None:
        self._read = ale.getRAM
        self._table = table
        self._moving = [_moving(thing) for thing in table.things]
        self._before: list[tuple[int, int] | None] = []
        self._choices = np.eye(choices, dtype=np.float32)
        low, high = _bounds(table, choices)
        self.space = gs.Box(low, high)
        self.begin()

    def begin(self) -> None:
        """Nothing was anywhere before."""
        self._before = [None] * len(self._moving)

    def see(self, left: int) -> None:
        """The last frame is enough."""

    def moment(self, action: int | None) -> npt.NDArray[np.float32]:
        choice = self._choices[0] * 0 if action is None else self._choices[action]
        numbers = self._numbers(self._read().tobytes())
        return np.concatenate([np.array(numbers, np.float32), choice])

    def _numbers(self, memory: bytes) -> list[int]:
        table = self._table
        found: list[int] = []
        for index, (thing, moving) in enumerate(zip(table.things, self._moving, strict=True)):
            now = place(thing, table, memory)
            if now is None:
                found += [0] * (1 + 2 * len(moving))
            else:
                before = self._before[index] or now
                found += [1, *(now[i] for i in moving), *(now[i] - before[i] for i in moving)]
            self._before[index] = now
        found += [memory[address] for address in table.bytes.values()]
        for bits in table.counts.values():
            found.append(sum(memory[address] >> bit & 1 for address, bit in bits))
        return found


def place(thing: Thing, table: Table, memory: bytes) -> tuple[int, int] | None:
    """A thing's left upper corner on the screen; None where no pixel of it is on the field."""
    x, y = _pixel(thing.x, memory), _pixel(thing.y, memory)
    left, top, right, bottom = table.field
    width, height = thing.size
    is_visible = left - width < x < right and top - height < y < bottom
    return (x, y) if is_visible else None


def _pixel(at: Place | int, memory: bytes) -> int:
    return memory[at.byte] + at.shift if isinstance(at, Place) else at


def _moving(thing: Thing) -> tuple[int, ...]:
    """Which of the coordinates change."""
    return tuple(i for i, at in enumerate((thing.x, thing.y)) if isinstance(at, Place))


def _bounds(table: Table, choices: int) -> tuple[Floats, Floats]:
    """Least and largest value of each number."""
    low: list[int] = []
    high: list[int] = []
    for thing in table.things:
        shifts = [at.shift for at in (thing.x, thing.y) if isinstance(at, Place)]
        low += [0, *(min(0, shift) for shift in shifts), *(-_BYTE for _ in shifts)]
        high += [1, *(_BYTE + shift for shift in shifts), *(_BYTE for _ in shifts)]
    high += [*(_BYTE for _ in table.bytes), *map(len, table.counts.values()), *[1] * choices]
    low += [0] * (len(high) - len(low))
    return np.array(low, np.float32), np.array(high, np.float32)


def names(table: Table, choices: Sequence[str]) -> list[str]:
    """What the numbers are called."""
    found: list[str] = []
    for thing in table.things:
        axes = ["xy"[i] for i in _moving(thing)]
        found.append(f"{thing.name} visible")
        found += [f"{thing.name} {step}{axis}" for step in ("", "d") for axis in axes]
    return [*found, *table.bytes, *table.counts, *(f"last action {name}" for name in choices)]
