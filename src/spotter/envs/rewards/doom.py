"""What Doom can be played for, one amount each: {source: doom, what: kills, weight: 1}.

kills, hits, damage       what the player has done to others since the last decision
hits_taken, damage_taken  what others have done to the player
health, armour            the change, below 0 when some is lost
ammo                      the change for the weapon in hand; taking another weapon is none
shots                     ammunition spent; with a negative weight, the price of shooting
distance                  the way walked, in units of the map (a player is 32 wide)
items                     picked up

All of them come from what an instance of `vizdoom` puts into `info`; see
envs/games/doom/numbers.py.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from pydantic import Field

from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.games.doom.numbers import ALL
from spotter.envs.signals import Kind, Signal
from spotter.types import UserError

Numbers = Mapping[str, float]
Amount = Callable[[Numbers, Numbers], float]
"""From what was before and what is now."""

What = Literal[
    "kills",
    "hits",
    "damage",
    "hits_taken",
    "damage_taken",
    "health",
    "armour",
    "ammo",
    "shots",
    "distance",
    "items",
]
_FASTEST: Final = 64.0  # units in a tic; who is faster has been through a teleporter


class Config(SignalConfig):
    source: Literal["doom"]
    what: What = Field(description="Which amount.")


def make(config: Config, env: Env) -> Signal:
    return Doom(_AMOUNTS.get(config.what) or _change(config.what))


class Doom:
    kind: Kind = "sum"

    def __init__(self, amount: Amount) -> None:
        self._amount = amount
        self._before: Numbers = {}

    def start(self, obs: object, info: dict[str, Any]) -> float:
        if ALL not in info:
            raise UserError("reward signal doom: only environments of the family vizdoom have it")
        self._before = info[ALL]
        return 0.0

    def step(self, obs: Any, action: object, reward: float, info: dict[str, Any]) -> float:
        before, self._before = self._before, info[ALL]
        return self._amount(before, self._before)


def _change(name: str) -> Amount:
    return lambda before, now: now[name] - before[name]


def _ammo(before: Numbers, now: Numbers) -> float:
    same_weapon = before["weapon"] == now["weapon"]
    return now["ammo"] - before["ammo"] if same_weapon else 0.0


def _shots(before: Numbers, now: Numbers) -> float:
    return max(0.0, -_ammo(before, now))


def _distance(before: Numbers, now: Numbers) -> float:
    way = math.hypot(now["x"] - before["x"], now["y"] - before["y"])
    return way if way <= _FASTEST * max(1.0, now["tics"] - before["tics"]) else 0.0


_AMOUNTS: Final[dict[str, Amount]] = {"ammo": _ammo, "shots": _shots, "distance": _distance}
