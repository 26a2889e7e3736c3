"""What there is to play, read from stable-retro's files; no emulator is started here.

A game is a folder such as `SuperMarioBros-Nes-v0`: the cartridge (`rom.nes`, which its owner
imports), where numbers lie in memory (`data.json`), rewards and when it is over
(`scenario.json`), and saved states to start from (`*.state`).
"""

import importlib.util
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.envs.games.emulator.levels import LEVELS
from spotter.types import UserError

NAMESPACE: Final = "Retro/"
POWER_ON: Final = "none"
"""The state of a console that has just been switched on."""
_VERSION: Final = re.compile(r"-v\d+$")
_SHELVES: Final = ("stable", "experimental", "contrib")


@dataclass(frozen=True)
class Game:
    """One game and the folders that hold its files; the first that has a file counts."""

    name: str
    places: tuple[Path, ...]

    @property
    def id(self) -> str:
        return f"{NAMESPACE}{self.name}"

    def file(self, name: str) -> Path | None:
        return next((place / name for place in self.places if (place / name).is_file()), None)

    def rom(self) -> Path:
        """The cartridge; `UserError` with the command that imports it where there is none."""
        name = str(self._read("metadata.json").get("original_rom_name", ""))
        names = [name] if name else []
        for wanted in (*names, *(f"rom{ending}" for ending in _retro().data.EMU_EXTENSIONS)):
            found = self.file(wanted)
            if found is not None:
                return found
        raise UserError(
            f"{self.id} needs its ROM, which only you can bring: "
            "python -m stable_retro.import FOLDER finds it in a folder of yours and imports it"
        )

    def system(self) -> str:
        """The console, by the cartridge's ending or, while there is none, by the game's name."""
        try:
            return str(_retro().get_romfile_system(str(self.rom())))
        except UserError:
            return self.name.rpartition("-")[2]

    def console(self) -> Mapping[str, Any]:
        """What stable-retro says about the console: its buttons, and which go together."""
        known: Mapping[str, Any] = _retro().data.EMU_INFO
        if self.system() not in known:
            raise UserError(f"{self.id}: stable-retro has no emulator for {self.system()}")
        return known[self.system()]  # type: ignore[no-any-return]

    def variables(self) -> list[str]:
        """Names of the numbers that become `info`."""
        return sorted(self._read("data.json").get("info", {}))

    def states(self) -> list[str]:
        found = {path.stem for place in self.places for path in place.glob("*.state")}
        return sorted({name for name in found if name[:1] != "_"} | set(LEVELS.get(self.name, ())))

    def state(self, wanted: str) -> str:
        """The state that `env.state` means; `UserError` with the nearest where it means none."""
        if not wanted:
            default = str(self._read("metadata.json").get("default_state", ""))
            return default if default in self.states() else POWER_ON
        is_file = wanted.endswith(".state") and Path(wanted).expanduser().is_file()
        if is_file or wanted in (POWER_ON, *self.states()):
            return wanted
        hint = plugins.did_you_mean(wanted, self.states())
        raise UserError(f"env.state: {self.id} has no state '{wanted}'{hint}")

    def state_file(self, state: str) -> Path | None:
        """Where a state is kept; None if it has to be played to."""
        given = Path(state).expanduser()
        return given if given.suffix == ".state" else self.file(f"{state}.state")

    def scenario(self, wanted: str) -> Path:
        found = self.file(f"{wanted}.json")
        if found is not None and {"reward", "rewards", "done"} & set(_json(found)):
            return found
        files = {path for place in self.places for path in place.glob("*.json")}
        there = {path.stem for path in files if {"reward", "rewards", "done"} & set(_json(path))}
        hint = plugins.did_you_mean(wanted, there)
        raise UserError(f"env.scenario: {self.id} has no scenario '{wanted}'{hint}")

    def _read(self, name: str) -> Mapping[str, Any]:
        path = self.file(name)
        return _json(path) if path is not None else {}


def find(env_id: str, folder: str = "") -> Game:
    """The game an id names; `folder` is the user's own, with a folder per game."""
    name = env_id.removeprefix(NAMESPACE)
    shelves = [Path(folder).expanduser()] if folder else []
    if folder and not shelves[0].is_dir():
        raise UserError(f"env.folder: there is no folder '{folder}'")
    _retro()
    places = [place for shelf in (*shelves, *_shelves()) for place in _places(shelf, name)]
    if not places:
        known = [*names(), *(_bare(path.name) for shelf in shelves for path in shelf.iterdir())]
        hint = plugins.did_you_mean(name, known).replace("'", f"'{NAMESPACE}", 1)
        raise UserError(f"unknown environment '{env_id}'{hint}")
    return Game(_bare(name), tuple(places))


def _places(shelf: Path, name: str) -> list[Path]:
    """Folders of a game, the latest version first."""
    exact = [shelf / name] if (shelf / name).is_dir() else []
    return exact + sorted(shelf.glob(f"{name}-v[0-9]*"), reverse=True)


@cache
def names() -> tuple[str, ...]:
    """Every game stable-retro brings files for; empty where it is not installed."""
    found = {
        _bare(entry.name)
        for shelf in _shelves()
        for entry in os.scandir(shelf)
        if entry.is_dir() and entry.name[:1] not in "_."
    }
    return tuple(sorted(found))


@cache
def _shelves() -> tuple[Path, ...]:
    """Found without loading the package, which takes longer than all the rest."""
    package = importlib.util.find_spec("stable_retro")
    roots = list(package.submodule_search_locations or ()) if package else []
    shelves = [Path(root) / "data" / shelf for root in roots for shelf in _SHELVES]
    return tuple(shelf for shelf in shelves if shelf.is_dir())


def _bare(name: str) -> str:
    return _VERSION.sub("", name)


def _retro() -> Any:
    return plugins.require("stable_retro", extra="retro")


@cache
def _json(path: Path) -> Mapping[str, object]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
