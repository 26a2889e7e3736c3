"""Buttons as actions: which can be held together, and what a combination is called.

combinations  one choice among all that can be held together, as one Discrete action; nothing
              first, then single buttons, then pairs, …
groups        one choice per group of buttons that exclude each other (MultiDiscrete)
binary        every button by itself (MultiBinary); left and right together cancel out
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final, Literal

import numpy as np
from gymnasium import spaces as gs

from spotter import plugins
from spotter.envs.spaces import Space
from spotter.types import UserError

Actions = Literal["combinations", "groups", "binary"]
Pressed = list[int]
"""One number per button, 1 where it is held: what ViZDoom takes."""

MOST_COMBINATIONS: Final = 100
"""More than these are offered as groups, unless asked for."""
_REFUSED: Final = 10_000
_OPPOSITES: Final = (
    ("MOVE_FORWARD", "MOVE_BACKWARD"),
    ("MOVE_LEFT", "MOVE_RIGHT"),
    ("TURN_LEFT", "TURN_RIGHT"),
    ("MOVE_UP", "MOVE_DOWN"),
    ("LOOK_UP", "LOOK_DOWN"),
)
_WEAPONS: Final = "SELECT_"
_KEYS: Final = (
    *(("up", "move_forward"), ("down", "move_backward"), ("left", "turn_left")),
    *(("right", "turn_right"), ("left", "move_left"), ("right", "move_right")),
    *(("a", "move_left"), ("d", "move_right"), ("space", "attack"), ("e", "use"), ("x", "speed")),
)


def is_delta(button: str) -> bool:
    """Those that take an amount, as a mouse does."""
    return button.endswith("_DELTA")


def chosen(wanted: Sequence[str], own: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The buttons to play with: those wanted, else the scenario's own that are on or off."""
    if not wanted:
        return tuple(button for button in own if not is_delta(button))
    there = [button for button in known if not is_delta(button)]
    names = tuple(button.upper() for button in wanted)
    for name in names:
        if name not in there:
            raise UserError(f"env.buttons: no button '{name}'{plugins.did_you_mean(name, there)}")
        if names.count(name) > 1:
            raise UserError(f"env.buttons: {name} is there twice")
    return names


def groups(buttons: Sequence[str]) -> list[tuple[int, ...]]:
    """Indices of buttons, those together that exclude each other; in order of the first one."""
    rivals = dict.fromkeys(buttons, "")
    for pair in _OPPOSITES:
        rivals.update({button: pair[0] for button in pair if button in rivals})
    rivals.update({button: _WEAPONS for button in buttons if button.startswith(_WEAPONS)})
    found: dict[str, list[int]] = {}
    for index, button in enumerate(buttons):
        found.setdefault(rivals[button] or button, []).append(index)
    return [tuple(indices) for indices in found.values()]


def kind_of(wanted: Actions | None, buttons: Sequence[str]) -> Actions:
    """What is offered; by default combinations as long as there are not too many."""
    count = int(np.prod([len(group) + 1 for group in groups(buttons)], dtype=np.int64))
    if wanted is None:
        return "combinations" if count <= MOST_COMBINATIONS else "groups"
    if wanted == "combinations" and count > _REFUSED:
        raise UserError(
            f"env.actions: {len(buttons)} buttons make {count} combinations; "
            "choose fewer with env.buttons, or env.actions=groups"
        )
    return wanted


class Keyboard:
    """From actions to buttons, for one kind of actions."""

    def __init__(self, kind: Actions, buttons: Sequence[str]) -> None:
        self.kind = kind
        self.buttons = tuple(buttons)
        self._groups = groups(buttons)
        self._table = combinations(buttons) if kind == "combinations" else []

    def space(self) -> Space:
        if self.kind == "combinations":
            return gs.Discrete(len(self._table))
        if self.kind == "groups":
            return gs.MultiDiscrete([len(group) + 1 for group in self._groups])
        return gs.MultiBinary(len(self.buttons))

    def press(self, action: Any) -> Pressed:
        if self.kind == "combinations":
            return self._table[action]
        if self.kind == "binary":
            return [int(held) for held in action]
        pressed = [0] * len(self.buttons)
        for group, choice in zip(self._groups, action, strict=True):
            if choice:
                pressed[group[choice - 1]] = 1
        return pressed

    def names(self) -> tuple[str, ...]:
        """Of the choices, or of their parts where there are several."""
        lower = [button.lower() for button in self.buttons]
        if self.kind == "binary":
            return tuple(lower)
        if self.kind == "groups":
            return tuple("/".join(lower[index] for index in group) for group in self._groups)
        held = [[n for n, on in zip(lower, row, strict=True) if on] for row in self._table]
        return tuple("+".join(names) or "nothing" for names in held)

    def keys(self) -> dict[str, int]:
        """Keys of a keyboard -> actions; there are none where several choices make an action."""
        if self.kind != "combinations":
            return {}
        names = self.names()
        found: dict[str, int] = {}
        for key, name in _KEYS:
            if name in names:
                found.setdefault(key, names.index(name))
        return found


def combinations(buttons: Sequence[str]) -> list[Pressed]:
    """Everything that can be held at once, fewest buttons first."""
    choices = [(None, *group) for group in groups(buttons)]
    held = [{index for index in row if index is not None} for row in product(*choices)]
    held.sort(key=lambda indices: (len(indices), sorted(indices)))
    return [[int(index in row) for index in range(len(buttons))] for row in held]
