"""WAD files, as far as one must know them: of which kind, and which maps are inside.

ViZDoom waits for ever for a map that is not there, so names are checked before they are passed on.
"""

import itertools
import re
import struct
from pathlib import Path
from typing import Final, Literal, NamedTuple

from spotter import plugins
from spotter.types import UserError

_HEADER: Final = struct.Struct("<4sii")  # kind, lumps, where their directory begins
_ENTRY: Final = struct.Struct("<ii8s")  # place, size, name
_FIRST_LUMPS: Final = ("THINGS", "TEXTMAP")  # what follows the name of a map


class Wad(NamedTuple):
    """A game (IWAD), or maps to be played in one (PWAD)."""

    kind: Literal["IWAD", "PWAD"]
    maps: tuple[str, ...]


def read(path: Path) -> Wad:
    """The kind and the maps of a file; a `UserError` says what it is otherwise."""
    try:
        with path.open("rb") as file:
            kind, count, place = _HEADER.unpack(file.read(_HEADER.size))
            file.seek(place)
            entries = list(_ENTRY.iter_unpack(file.read(count * _ENTRY.size)))
    except FileNotFoundError:
        raise UserError(f"env.wad: there is no file {path}") from None
    except OSError as error:
        raise UserError(f"env.wad: {path} cannot be read: {error.strerror}") from error
    except (struct.error, ValueError):
        kind, count, entries = b"", 0, []
    if kind not in (b"IWAD", b"PWAD") or len(entries) != count:
        raise UserError(f"env.wad: {path} is no WAD file")
    names = [name.split(b"\0")[0].decode("ascii", "replace").upper() for *_, name in entries]
    maps = [a for a, b in itertools.pairwise(names) if b in _FIRST_LUMPS]
    return Wad("IWAD" if kind == b"IWAD" else "PWAD", tuple(maps))


def choose_map(wanted: str, wad: Wad, path: Path) -> str:
    """The map of that name, or the first one if none is wanted."""
    if not wad.maps:
        raise UserError(f"env.wad: {path} has no maps")
    if not wanted:
        return wad.maps[0]
    if wanted.upper() not in wad.maps:
        hint = plugins.did_you_mean(wanted.upper(), wad.maps)
        raise UserError(f"env.map: {path.name} has no map '{wanted}'{hint}")
    return wanted.upper()


def freedoom_for(maps: tuple[str, ...]) -> str:
    """The free game that maps of these names belong to: Doom's episodes, or Doom II's maps."""
    in_episodes = any(re.fullmatch(r"E\dM\d", name) for name in maps)
    return "freedoom1.wad" if in_episodes else "freedoom2.wad"
