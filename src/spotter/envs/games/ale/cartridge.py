"""What the emulator says about a game before anybody plays it: actions, screen, switches."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import gymnasium as gym

from spotter import plugins
from spotter.types import UserError

SEEDS: Final = 2**31
"""The emulator takes seeds below this."""
NOTHING: Final = "NOOP"
BUTTON: Final = "FIRE"
_SPACE, _VERSION = "ALE/", "-v5"


@dataclass(frozen=True)
class Cartridge:
    """A game; actions by their name, in the emulator's order."""

    name: str
    rom: Path
    all_actions: tuple[str, ...]
    """The 18 positions of stick and button."""
    useful_actions: tuple[str, ...]
    """Those that do something in this game."""
    screen: tuple[int, int]
    """Height and width."""
    memory: int
    """Bytes."""
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]


@cache
def cartridge(env_id: str) -> Cartridge:
    """The game behind `ALE/<Game>-v5`."""
    ale_py = plugins.require("ale_py", extra="atari")
    roms = plugins.require("ale_py.roms", extra="atari")
    name = _game(env_id)
    ale = console(ale_py)
    rom = roms.get_rom_path(name)
    ale.loadROM(rom)
    return Cartridge(
        name,
        rom,
        tuple(action.name for action in ale.getLegalActionSet()),
        tuple(action.name for action in ale.getMinimalActionSet()),
        tuple(ale.getScreenDims()),
        ale.getRAMSize(),
        tuple(ale.getAvailableModes()),
        tuple(ale.getAvailableDifficulties()),
    )


def console(ale_py: Any) -> Any:
    """An emulator without its start-up message."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py.ALEInterface()


def _game(env_id: str) -> str:
    """What its file is called, such as `ms_pacman`.

    Older ids of the same games bring settings of their own in their names; here settings have
    names of their own.
    """
    env_id = env_id.rpartition(":")[2]
    known = [name for name in gym.registry if name.startswith(_SPACE) and name.endswith(_VERSION)]
    if env_id not in known:
        raise UserError(f"unknown environment '{env_id}'{plugins.did_you_mean(env_id, known)}")
    return str(gym.spec(env_id).kwargs["game"])
