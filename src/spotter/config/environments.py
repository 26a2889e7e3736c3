"""Environments named by an address: `Id`, `package:Id`, `module:Class`; an algorithm may follow.

What they are made of is the families' matter; here only whether a name stands for one.
"""

import importlib
import sys
from pathlib import Path
from typing import Final

from spotter import plugins
from spotter.config import recipes
from spotter.types import UserError

PYTHON: Final = "python"
"""The family of what Gymnasium does not know, but Python does."""


def split(address: str) -> tuple[str, str]:
    """`Id:algo` or `package:Id:algo` in two; the algorithm may be left out."""
    if _can_be_env(address):
        return address, ""
    env_id, _, algo = address.rpartition(":")
    if env_id and _can_be_env(env_id):
        return env_id, algo
    raise UserError(_unknown(address))


def _can_be_env(env_id: str) -> bool:
    """Whether Gymnasium knows the id, importing its package if one is named."""
    package, colon, bare = env_id.rpartition(":")
    if colon:
        if package not in sys.modules and not plugins.findable(package):  # __main__ is not findable
            return False
        try:
            importlib.import_module(package)
        except Exception as error:  # third-party code: name it and the cause
            reason = f"{type(error).__name__}: {error}"
            raise UserError(f"{package} of '{env_id}' cannot be imported: {reason}") from error
    if _is_registered(bare) or (_register(bare) and _is_registered(bare)):
        return True
    return bool(colon) and bool(plugins.load("envs", PYTHON).knows(env_id))


def family_of(env_id: str) -> str:
    """By its id, where Gymnasium knows it."""
    bare = env_id.rpartition(":")[2]
    return recipes.family_of(bare) if _is_registered(bare) else PYTHON


def _is_registered(env_id: str) -> bool:
    import gymnasium as gym
    from gymnasium.error import Error

    try:
        gym.spec(env_id)
    except (Error, ImportError):
        return False
    return True


def _register(env_id: str) -> bool:
    """Let the family an id belongs to make its ids known, if it can; whether it could."""
    register = vars(plugins.load("envs", recipes.family_of(env_id))).get("register")
    if register is not None:
        register()
    return register is not None


def _unknown(address: str) -> str:
    """The sentence for an address that names nothing."""
    import gymnasium as gym

    known = recipes.files()
    name, _, variant = address.partition(":")
    match = plugins.nearest(name, [*known, *gym.registry])
    if match is None and variant and not plugins.findable(name):
        tail = f"there is no package '{name}' to import"
    elif match is None:
        tail = "`spotter list` shows what there is"
    else:
        there = _variants_if_readable(known[match]) if match in known else []
        best = plugins.nearest(variant, there) if variant else None
        tail = f"did you mean '{match}{f':{best}' if best else ''}'?"
    return f"unknown recipe or environment '{address}'; {tail}"


def _variants_if_readable(path: Path) -> list[str]:
    try:
        return recipes.variants(recipes.open_source(path))
    except UserError:
        return []
