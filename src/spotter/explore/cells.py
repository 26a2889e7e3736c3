"""Which part of a game this is: what Go-Explore calls a cell.

`ram:room=3,x=42/8` names bytes of an Atari console's memory, some in steps of so many; `frames`
shrinks what is drawn to 11 × 8 pixels of 8 grey levels, and needs to know nothing of the game.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spotter.envs.base import Env
from spotter.types import UserError

KNOWN: Final = {
    "MontezumaRevenge": "ram:room=3,x=42/8,y=43/8,items=65,level=57",
    "Pitfall": "ram:room=1,x=97/8,y=105/8",
}
"""By the name of the game; others are told apart by frames."""
FRAMES: Final = "frames"
UPWARDS: Final = frozenset({"MontezumaRevenge"})
"""Games whose memory counts `y` from below; in others it grows downwards, as on a screen."""
_RAM: Final = "ram:"
_FIELD: Final = re.compile(r"(?P<name>[a-z_]\w*)=(?P<byte>\d{1,3})(?:/(?P<step>\d{1,3}))?")
_BYTES: Final = 128
WIDTH, HEIGHT, _LEVELS = 11, 8, 8

Cell = bytes
Look = Callable[[], Cell]


@dataclass(frozen=True, slots=True)
class Field:
    """A byte of memory, in steps of so many."""

    name: str
    byte: int
    step: int = 1


def suited_to(env_id: str) -> str:
    """How cells of a game are told apart, unless one says otherwise."""
    return KNOWN.get(name_of(env_id), FRAMES) if env_id.startswith("ALE/") else FRAMES


def name_of(env_id: str) -> str:
    """`ALE/Pitfall-v5` → `Pitfall`."""
    return env_id.rpartition("/")[2].partition("-")[0]


def make(how: str, env: Env) -> Look:
    """What tells in which cell `env` is now."""
    if how == FRAMES:
        return lambda: of_frame(env.render())
    fields = parsed(how)
    console = getattr(env.unwrapped, "ale", None)
    if console is None:
        raise UserError(f"cells by {how} need the memory of an Atari console; write {FRAMES}")
    places = np.array([field.byte for field in fields])
    steps = np.array([field.step for field in fields], np.uint8)

    def look() -> Cell:
        found: Cell = (console.getRAM()[places] // steps).tobytes()
        return found

    return look


def parsed(how: str) -> list[Field]:
    """The fields that `ram:…` names."""
    if not how.startswith(_RAM):
        raise UserError(f"cells are told apart by {FRAMES} or by ram:room=3,x=42/8, not {how!r}")
    fields = []
    for word in how.removeprefix(_RAM).split(","):
        match = _FIELD.fullmatch(word.strip())
        if match is None or int(match["byte"]) >= _BYTES or match["step"] == "0":
            raise UserError(
                f"{word!r} names no byte of memory; write name=BYTE or name=BYTE/STEP, with bytes "
                f"from 0 to {_BYTES - 1}"
            )
        fields.append(Field(match["name"], int(match["byte"]), int(match["step"] or 1)))
    return fields


def width(how: str) -> int:
    """Bytes of a cell."""
    return WIDTH * HEIGHT if how == FRAMES else len(parsed(how))


def named(how: str, cell: Cell) -> dict[str, int]:
    """A cell for people; empty where it is a small image."""
    if how == FRAMES:
        return {}
    return {field.name: value for field, value in zip(parsed(how), cell, strict=True)}


def of_frame(frame: Any) -> Cell:
    """A small image of few grey levels: means over blocks."""
    grey = np.asarray(frame, np.float32)
    if grey.ndim == 3:
        grey = grey.mean(axis=2)
    rows = np.array_split(np.arange(grey.shape[0]), HEIGHT)
    columns = np.array_split(np.arange(grey.shape[1]), WIDTH)
    by_row = np.stack([grey[part].mean(axis=0) for part in rows])
    small = np.stack([by_row[:, part].mean(axis=1) for part in columns], axis=1)
    found: Cell = (small * (_LEVELS / 256)).astype(np.uint8).tobytes()
    return found
