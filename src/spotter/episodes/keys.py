"""Keys of a keyboard as actions, for a person at the controls.

A key presses buttons; several keys at once press several. Choices whose names are combinations of
buttons (`uprightfire`, `move_forward+attack`) are found by the buttons that are held; switches and
axes are set one by one. Families say which key stands for what (`EnvInfo.keys`), names of actions
say the rest, and `overrides` change both. No torch, no window: only names.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from gymnasium import spaces as gs

from spotter.config import EnvConfig
from spotter.envs.base import family
from spotter.envs.naming import action_names
from spotter.envs.spaces import Space
from spotter.plugins import did_you_mean
from spotter.types import ActionSpec, Array, UserError

Buttons = frozenset[str]
Presses = dict[str, Buttons]
"""Key -> the buttons it presses."""

NOTHING: Final[Buttons] = frozenset()
_IDLE: Final = {"noop", "nothing", "no torque", "coast", "none", "idle", "wait", "stay"}
_JOYSTICK: Final = re.compile(r"(up|down)?(left|right)?(fire)?")
_CHORD: Final = re.compile(r"(?<=\w)\+(?=\w)|\s\+\s")  # not the sign in `torque +1`
_OPPOSITES: Final = (
    ("up", "down"),
    ("left", "right"),
    ("move_forward", "move_backward"),
    ("move_left", "move_right"),
    ("turn_left", "turn_right"),
    ("look_up", "look_down"),
    ("move_up", "move_down"),
)
_USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "up": ("up", "w"),
    "down": ("down", "s"),
    "left": ("left", "a"),
    "right": ("right", "d"),
    "fire": ("space", "ctrl"),
    "button": ("space", "ctrl"),
    "move_forward": ("w", "up"),
    "move_backward": ("s", "down"),
    "move_left": ("a", "left"),
    "move_right": ("d", "right"),
    "turn_left": ("left", "a"),
    "turn_right": ("right", "d"),
    "attack": ("space", "ctrl"),
    "use": ("e", "enter"),
    "speed": ("shift",),
    "jump": ("j",),
    "crouch": ("c",),
    "select_next_weapon": ("x",),
    "select_prev_weapon": ("z",),
    "start": ("enter",),
    "select": ("tab",),
    "mode": ("tab",),
}
"""What stands for a button by default; the first free ones are taken."""
_TURNED: Final[Mapping[str, Mapping[str, str]]] = {"Pong": {"up": "right", "down": "left"}}
"""Games whose joystick moves things another way than it is moved; by a word in the id."""
_SPARE: Final = "1234567890" + string.ascii_lowercase
_UPRIGHT: Final = ("main", "gas", "throttle", "vertical", "thrust", "accel")
_DOWNRIGHT: Final = ("brake",)
_AXES: Final = (("left", "right"), ("down", "up"), ("a", "d"), ("s", "w"), ("j", "l"), ("k", "i"))
"""Keys for the lowest and the highest value of an axis."""
_SAME: Final = {
    " ": "space", "control": "ctrl", "left ctrl": "ctrl", "right ctrl": "ctrl", "return": "enter",
    "left shift": "shift", "right shift": "shift", "spacebar": "space",
}  # fmt: skip


def key_name(raw: str) -> str:
    """One word for a key, whether a browser (`ArrowUp`) or a window (`left ctrl`) names it."""
    word = raw.lower()
    return _SAME.get(word, word.removeprefix("arrow"))


@dataclass(frozen=True)
class Keyboard:
    """From keys that are held to a row of the action buffer."""

    presses: Mapping[str, Buttons]
    read: Callable[[Buttons], Array | None]
    """None where doing nothing is no choice and no button is held."""

    def action(self, pressed: frozenset[str]) -> Array | None:
        held: set[str] = set()
        for key in pressed:
            held |= self.presses.get(key, NOTHING)
        for pair in _OPPOSITES:
            if held.issuperset(pair):
                held.difference_update(pair)
        return self.read(frozenset(held))

    def legend(self) -> list[tuple[str, str]]:
        """(keys, what they do), to be shown beside the game."""
        found: dict[str, list[str]] = {}
        for key, buttons in self.presses.items():
            if buttons:
                found.setdefault(" + ".join(sorted(buttons)), []).append(key)
        return [(" or ".join(keys), what.replace("_", " ")) for what, keys in found.items()]


def keyboard(
    env: EnvConfig,
    bare: Space,
    space: Space,
    spec: ActionSpec,
    overrides: Mapping[str, str | int] | None = None,
) -> Keyboard:
    """The keys of an environment.

    `bare` is the game's own action space, `space` the one after all wrappers, `spec` the policy's
    view of it. `overrides` name a button, an action or its number for a key.
    """
    first = int(bare.start) if isinstance(bare, gs.Discrete) else 0
    names = action_names(env, first)
    own = family(env).describe(env)
    own_keys = {
        key: own.action_names[action] for key, action in own.keys.items()
        if action < len(own.action_names)
    }  # fmt: skip
    for word, turned in _TURNED.items():
        own_keys |= {key: name for key, name in turned.items() if word in env.id}
    if spec.kind == "box":
        return _axes(names, space, overrides or {})
    if spec.kind == "discrete":
        return _choices(spec.nvec[0], names, own_keys, overrides or {})
    return _switches(spec, names, own_keys, overrides or {})


# --- one choice among several --------------------------------------------------------------------


def buttons_of(name: str) -> Buttons:
    """The buttons a choice holds, by its name."""
    word = name.strip().lower()
    if word in _IDLE:
        return NOTHING
    joystick = _JOYSTICK.fullmatch(word)
    if joystick and word:
        return frozenset(part for part in joystick.groups() if part)
    return frozenset(part.strip() for part in _CHORD.split(word))


def _choices(
    count: int, names: Sequence[str], own: Mapping[str, str], overrides: Mapping[str, str | int]
) -> Keyboard:
    known = list(names) if len(names) == count else [f"action {index}" for index in range(count)]
    held = [buttons_of(name) for name in known]
    table: dict[Buttons, int] = {}
    for index, buttons in enumerate(held):
        table.setdefault(buttons, index)
    presses = {key: buttons_of(name) for key, name in own.items() if buttons_of(name) in table}
    _add_usual(presses, [word for buttons in held for word in sorted(buttons)])
    for key, wanted in overrides.items():
        presses[key_name(key)] = _wanted(key, wanted, known, held)

    def read(buttons: Buttons) -> Array | None:
        if buttons in table:
            return np.asarray(table[buttons], dtype=np.int64)
        fitting = [choice for choice in table if choice < buttons]
        if not fitting:
            return None
        most = max(fitting, key=lambda choice: (len(choice), -table[choice]))
        return np.asarray(table[most], dtype=np.int64)

    return Keyboard(presses, read)


def _add_usual(presses: Presses, words: Sequence[str]) -> None:
    """Keys for buttons, the usual ones where they are free, else digits and letters."""
    wanted = list(dict.fromkeys(words))
    reached = {word for buttons in presses.values() for word in buttons}
    for word in wanted:  # every button gets one before any gets a second
        free = [key for key in _usual(word) if key not in presses]
        if free and word not in reached:
            presses[free[0]] = frozenset({word})
            reached.add(word)
    for word in wanted:
        for key in _usual(word):
            presses.setdefault(key, frozenset({word}))
    spare = [key for key in _SPARE if key not in presses]
    for word, key in zip([word for word in wanted if word not in reached], spare, strict=False):
        presses[key] = frozenset({word})


def _usual(word: str) -> tuple[str, ...]:
    if word.startswith("select_weapon"):
        return (word.removeprefix("select_weapon"),)
    return _USUAL.get(word, (word,) if len(word) == 1 else ())


def _wanted(key: str, wanted: str | int, names: Sequence[str], held: Sequence[Buttons]) -> Buttons:
    """What a user-defined key presses."""
    if isinstance(wanted, int):
        if not 0 <= wanted < len(names):
            raise UserError(
                f"key {key}: there is no action {wanted}; they are 0 to {len(held) - 1}"
            )
        return held[wanted]
    if wanted in names:
        return held[list(names).index(wanted)]
    words = {word for buttons in held for word in buttons}
    if wanted in words:
        return frozenset({wanted})
    hint = did_you_mean(wanted, {*names, *words})
    raise UserError(f"key {key}: there is no action or button '{wanted}'{hint}")


# --- several at once -----------------------------------------------------------------------------


def _switches(
    spec: ActionSpec, names: Sequence[str], own: Mapping[str, str], wanted: Mapping[str, str | int]
) -> Keyboard:
    """Every button by itself, or one choice per group such as `move_left/move_right`."""
    count = spec.shape[0] if spec.shape else 1
    sizes = [2] * count if spec.kind == "binary" else list(spec.nvec)
    groups = [_group(part, size, names, count) for part, size in enumerate(sizes)]
    place = {w: (part, i + 1) for part, words in enumerate(groups) for i, w in enumerate(words)}
    presses = {key: buttons_of(name) for key, name in own.items() if buttons_of(name) <= set(place)}
    _add_usual(presses, list(place))
    for key, word in wanted.items():
        singles = [frozenset({name}) for name in place]
        presses[key_name(key)] = _wanted(key, word, list(place), singles)

    def read(buttons: Buttons) -> Array | None:
        action = np.zeros(len(sizes), dtype=np.int64)
        for word in sorted(buttons & set(place), key=lambda word: place[word]):
            part, choice = place[word]
            action[part] = choice
        return action

    return Keyboard(presses, read)


def _group(part: int, size: int, names: Sequence[str], count: int) -> list[str]:
    words = names[part].lower().split("/") if len(names) == count else []
    if len(words) == size - 1:
        return words
    label = names[part] if len(names) == count else f"part {part}"
    return [f"{label} {choice}" for choice in range(1, size)] if size > 2 else [label]


# --- axes ----------------------------------------------------------------------------------------


def _axes(names: Sequence[str], space: Space, overrides: Mapping[str, str | int]) -> Keyboard:
    """Two keys per number, for its lowest and highest value; in between while none is held."""
    assert isinstance(space, gs.Box)
    low, high = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    bounded = (np.abs(low) < 1e6) & (np.abs(high) < 1e6)
    span = np.where(bounded & (high > low), (high - low) / 2, 1.0)
    middle = np.where(bounded, (high + low) / 2, 0.0)
    rest = (
        np.clip(-middle / span, -1.0, 1.0) + 0.0
    )  # where the game sees a 0, or what is nearest to it
    labels = list(names) if len(names) == len(low) else [f"axis {i}" for i in range(len(low))]
    words = {f"{label} {sign}": (i, at) for i, label in enumerate(labels) for sign, at in _ENDS}
    presses: Presses = {}
    for axis, label in enumerate(labels):
        for key, (sign, at) in zip(_axis_keys(label, presses), _ENDS, strict=False):
            if key and rest[axis] != at:
                presses[key] = frozenset({f"{label} {sign}"})
    for key, wanted in overrides.items():
        singles = [frozenset({word}) for word in words]
        presses[key_name(key)] = _wanted(key, wanted, list(words), singles)

    def read(buttons: Buttons) -> Array | None:
        action = rest.copy()
        for axis, end in (words[word] for word in buttons if word in words):
            # both ends held at once is neither
            action[axis] = end if action[axis] == rest[axis] else rest[axis]
        return action.astype(np.float32)

    return Keyboard(presses, read)


_ENDS: Final = (("−", -1.0), ("+", 1.0))


def _axis_keys(label: str, taken: Mapping[str, object]) -> tuple[str, str]:
    """Which keys move an axis, by what it is called."""
    word = label.lower()
    if any(part in word for part in _DOWNRIGHT) and "down" not in taken:
        return "", "down"
    if any(part in word for part in _UPRIGHT) and not {"up", "down"} & set(taken):
        return "down", "up"
    return next((pair for pair in _AXES if not set(pair) & set(taken)), ("", ""))
