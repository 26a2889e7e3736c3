"""What the game knows about the player, by name: for `info`, reward signals and the network."""

from collections.abc import Sequence
from typing import Final

from spotter import plugins
from spotter.envs.games.doom.scenarios import vizdoom
from spotter.types import UserError

NUMBERS: Final = {
    "health": "HEALTH",
    "armour": "ARMOR",
    "ammo": "SELECTED_WEAPON_AMMO",
    "weapon": "SELECTED_WEAPON",
    "kills": "KILLCOUNT",
    "hits": "HITCOUNT",
    "damage": "DAMAGECOUNT",
    "hits_taken": "HITS_TAKEN",
    "damage_taken": "DAMAGE_TAKEN",
    "items": "ITEMCOUNT",
    "x": "POSITION_X",
    "y": "POSITION_Y",
    "angle": "ANGLE",
}
"""Our word -> ViZDoom's."""

ALL: Final = "doom"
"""Where all of them are in `info`, as a map."""
REPORTED: Final = ("health", "ammo", "kills")
"""Those that stand in `info` itself as well, and so among the numbers of every episode."""


def resolve(names: Sequence[str], setting: str = "env.variables") -> list[object]:
    """ViZDoom's game variables of these names, ours or its own."""
    there: dict[str, object] = dict(vizdoom().GameVariable.__members__)
    found = []
    for name in names:
        own = NUMBERS.get(name, name.upper())
        if own not in there:
            hint = plugins.did_you_mean(name, [*there, *NUMBERS])
            raise UserError(f"{setting}: the game has no variable '{name}'{hint}")
        found.append(there[own])
    return found
