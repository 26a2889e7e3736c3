"""What the choices of a policy are called, after the wrappers that map them."""

from collections.abc import Sequence
from typing import Any

from spotter.config import EnvConfig
from spotter.envs.base import family


def action_names(env: EnvConfig, first: int = 0) -> tuple[str, ...]:
    """What the policy's choices are called, after every `action_map` that evaluation uses.

    Empty where the family names none. `first` is the environment's lowest action.
    """
    names = family(env).describe(env).action_names
    for wrapper in env.wrappers:
        if wrapper.name == "action_map" and not wrapper.train_only:
            mapping: Sequence[Any] = vars(wrapper)["mapping"]
            names = tuple(_mapped(entry, names, first) for entry in mapping)
            first = 0
    return names


def _mapped(entry: int | tuple[int, ...], names: Sequence[str], first: int) -> str:
    if isinstance(entry, tuple):
        return chord(entry, names)
    known = 0 <= entry - first < len(names)
    return names[entry - first] if known else str(entry)


def chord(choices: Sequence[int], names: Sequence[str]) -> str:
    """Buttons that are pressed, or what each part was set to."""
    if len(names) != len(choices):
        return ", ".join(str(int(choice)) for choice in choices)
    if all(choice in (0, 1) for choice in choices):
        return " + ".join(n for n, c in zip(names, choices, strict=True) if c) or "nothing"
    return ", ".join(f"{n} {int(c)}" for n, c in zip(names, choices, strict=True))
