"""Combinations of buttons as actions: a small sensible set, all there are, or the user's own."""

from collections.abc import Sequence
from itertools import chain, product
from typing import Final, Literal

from spotter import plugins
from spotter.envs.games.emulator.games import Game
from spotter.types import UserError

Combo = tuple[str, ...]
Choice = Literal["simple", "all"] | tuple[Combo, ...]

_DIRECTIONS: Final[tuple[Combo, ...]] = ((), ("UP",), ("DOWN",), ("LEFT",), ("RIGHT",))
_OPPOSITES: Final = (("LEFT", "RIGHT"), ("UP", "DOWN"))
_FIRST_BUTTONS: Final = {"Snes": ("A", "B", "X", "Y")}
_PLAIN_BUTTONS: Final = ("A", "B", "C", "BUTTON")
_RUN_AND_JUMP: Final[tuple[Combo, ...]] = (
    *((), ("RIGHT",), ("RIGHT", "A"), ("RIGHT", "B"), ("RIGHT", "A", "B")),
    *(("A",), ("LEFT",)),
)
_OF_GAMES: Final[dict[str, tuple[Combo, ...]]] = {
    "Airstriker-Genesis": (
        *((), ("LEFT",), ("RIGHT",)),
        *(("B",), ("LEFT", "B"), ("RIGHT", "B")),
    ),
    "SuperMarioBros-Nes": _RUN_AND_JUMP,
    "SuperMarioBros2Japan-Nes": _RUN_AND_JUMP,
    # OpenAI's retro-baselines (2018), agents/sonic_util.py
    **dict.fromkeys(
        ("SonicTheHedgehog-Genesis", "SonicTheHedgehog2-Genesis", "SonicAndKnuckles3-Genesis"),
        (
            *(("LEFT",), ("RIGHT",), ("LEFT", "DOWN"), ("RIGHT", "DOWN")),
            *(("DOWN",), ("DOWN", "B"), ("B",)),
        ),
    ),
}


def combos(choice: Choice, game: Game) -> tuple[Combo, ...]:
    """What each action presses; `UserError` for what the console cannot do."""
    if choice == "simple":
        return _OF_GAMES.get(game.name) or _simple(game)
    if choice == "all":
        groups: Sequence[Sequence[Sequence[str]]] = game.console()["actions"]
        return tuple(tuple(chain(*chosen)) for chosen in product(*groups))
    for combo in choice:
        check(combo, game, "env.actions")
        for pair in _OPPOSITES:
            if set(pair) <= set(combo):
                raise UserError(f"env.actions: {' and '.join(pair)} cannot be pressed together")
    if len({frozenset(combo) for combo in choice}) < len(choice):
        raise UserError("env.actions: two actions press the same buttons")
    return choice


def _simple(game: Game) -> tuple[Combo, ...]:
    """A direction, a button, or both."""
    there = available(game)
    wanted = _FIRST_BUTTONS.get(game.system(), _PLAIN_BUTTONS)
    presses: list[Combo] = [(), *((button,) for button in wanted if button in there)]
    return tuple(direction + press for press in presses for direction in _DIRECTIONS)


def available(game: Game) -> list[str]:
    return [button for button in game.console()["buttons"] if button]


def check(buttons: Sequence[str], game: Game, setting: str) -> None:
    there = available(game)
    for button in buttons:
        if button not in there:
            hint = plugins.did_you_mean(button, there)
            raise UserError(f"{setting}: {game.system()} has no button '{button}'{hint}")


def name(combo: Combo) -> str:
    """`right+a`, or `nothing`."""
    return "+".join(combo).lower() or "nothing"
