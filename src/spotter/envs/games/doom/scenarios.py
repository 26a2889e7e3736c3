"""What there is to play: the scenarios that come with ViZDoom, and whole maps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.envs.games.doom import wads
from spotter.types import UserError

NAMESPACE: Final = "VizDoom/"
_WHOLE_MAP: Final = "freedoom1"


@dataclass(frozen=True)
class Scenario:
    """One id: its file in ViZDoom's folder `scenarios`, and what there is to say about it."""

    file: str
    description: str
    score_range: tuple[float, float] | None = None
    threshold: float | None = None

    @property
    def is_whole_map(self) -> bool:
        return self.file == _WHOLE_MAP


SCENARIOS: Final = {
    "Basic": Scenario(
        "basic",
        "Step aside until the monster is in front of you, and hit it with one shot: 100 for it, "
        "−5 for a miss, −1 a tic.",
        (-500.0, 101.0),
        80.0,
    ),
    "DeadlyCorridor": Scenario(
        "deadly_corridor",
        "Get to the vest at the end of a corridor that six monsters guard; rewarded by distance.",
        threshold=1000.0,
    ),
    "DefendTheCenter": Scenario(
        "defend_the_center",
        "Turn and shoot what comes from all sides, with 26 bullets: 1 for each, −1 for dying.",
        (-1.0, 26.0),
        10.0,
    ),
    "DefendTheLine": Scenario(
        "defend_the_line",
        "Shoot what comes towards you from the far wall, and grows tougher: 1 for each.",
        threshold=15.0,
    ),
    "HealthGathering": Scenario(
        "health_gathering",
        "The floor is acid: find medikits to stay alive; 1 a tic, −100 for dying.",
        (-100.0, 2100.0),
        1000.0,
    ),
    "HealthGatheringSupreme": Scenario(
        "health_gathering_supreme",
        "As HealthGathering, in a maze with vials of poison among the medikits.",
        (-100.0, 2100.0),
        1000.0,
    ),
    "MyWayHome": Scenario(
        "my_way_home",
        "Find the vest in a maze of rooms, from anywhere: 1 for it, −0.0001 a tic.",
        (-0.22, 1.0),
        0.5,
    ),
    "PredictPosition": Scenario(
        "predict_position",
        "Hit a walking monster with the only rocket, which takes its time: 1 for it.",
        (-0.31, 1.0),
        0.5,
    ),
    "TakeCover": Scenario(
        "take_cover",
        "Step aside from fireballs, of which there are more and more: 1 a tic.",
        threshold=750.0,
    ),
    "Deathmatch": Scenario(
        "deathmatch",
        "Weapons, armour and monsters in an arena: a point for a kill, more for tough ones.",
        threshold=10.0,
    ),
    "E1M1": Scenario(_WHOLE_MAP, "A whole map, doors and all: find the way out."),
}


def find(env_id: str) -> Scenario:
    name = env_id.removeprefix(NAMESPACE)
    if not env_id.startswith(NAMESPACE) or name not in SCENARIOS:
        known = [f"{NAMESPACE}{name}" for name in SCENARIOS]
        raise UserError(f"unknown environment '{env_id}'{plugins.did_you_mean(env_id, known)}")
    return SCENARIOS[name]


def vizdoom() -> Any:
    """ViZDoom's own package."""
    return plugins.require("vizdoom", extra="vizdoom")


@dataclass(frozen=True)
class Place:
    """The files of a game, and the map."""

    game: Path
    extra: Path | None
    map: str


def place(env_id: str, wad: str, wanted: str) -> Place:
    """Where an environment plays, with the user's own WAD and map if given."""
    scenario = find(env_id)
    own = Path(wad).expanduser().resolve() if wad else None
    if scenario.is_whole_map:
        return _whole_map(env_id.removeprefix(NAMESPACE), own, wanted)
    file = _folder() / "scenarios" / f"{scenario.file}.wad"
    if wanted:
        wads.choose_map(wanted, wads.read(file), file)
    return Place(_game_for_scenarios(env_id, own), file, "map01")


def _folder() -> Path:
    return Path(vizdoom().__file__).parent


def _whole_map(default: str, own: Path | None, wanted: str) -> Place:
    if own is None:
        game = _folder() / wads.freedoom_for((wanted.upper() or default,))
        return Place(game, None, wads.choose_map(wanted or default, wads.read(game), game))
    inside = wads.read(own)
    name = wads.choose_map(wanted or (default if default in inside.maps else ""), inside, own)
    if inside.kind == "IWAD":
        return Place(own, None, name)
    return Place(_folder() / wads.freedoom_for((name,)), own, name)


def _game_for_scenarios(env_id: str, own: Path | None) -> Path:
    """The scenarios are made of Doom II's parts: the free ones, or the user's."""
    if own is None:
        return _folder() / "freedoom2.wad"
    inside = wads.read(own)
    if inside.kind != "IWAD" or "MAP01" not in inside.maps:
        raise UserError(
            f"env.wad: {env_id} can be played with doom2.wad only; for the maps of "
            f"{own.name} use {NAMESPACE}E1M1 with env.map"
        )
    return own
