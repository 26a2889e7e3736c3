"""A plug-in is a file: `algos/ppo.py` is what `algo.name: ppo` means.

Names are resolved in this order: a module of the built-in package, an entry point in the group
`spotter.<kind>` (kinds: algos, envs, nets, wrappers, signals, sinks), a dotted `package.module`.
Nothing registers itself and there is no central list.
"""

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from importlib.metadata import entry_points
from types import ModuleType
from typing import Final

from spotter.types import UserError

PACKAGES: Final = {
    "algos": "spotter.algos",
    "envs": "spotter.envs",
    "nets": "spotter.nets",
    "wrappers": "spotter.envs.wrappers",
    "signals": "spotter.envs.signals",
    "sinks": "spotter.sinks",
}
_SINGULAR: Final = {
    "algos": "algorithm",
    "envs": "environment family",
    "nets": "encoder",
    "wrappers": "wrapper",
    "signals": "reward signal",
    "sinks": "sink",
}
# Modules of those packages that serve the plug-ins and are none themselves.
_SUPPORT: Final = {
    "algos": {"base"},
    "envs": {"base", "make", "process", "slices", "spaces", "vector", "wrappers", "signals"},
    "nets": {"actor_critic", "heads", "layers", "normalize"},
    "wrappers": {"base"},
    "signals": {"base"},
    "sinks": set[str](),
}


def names(kind: str) -> list[str]:
    """Every plug-in of a kind that can be named in a config."""
    package = importlib.import_module(PACKAGES[kind])
    built_in = {module.name for module in pkgutil.iter_modules(package.__path__)}
    third_party = {entry.name for entry in entry_points(group=f"spotter.{kind}")}
    return sorted((built_in - _SUPPORT[kind]) | third_party)


def load(kind: str, name: str) -> ModuleType:
    """The module behind a name; an unknown name is a `UserError` with the nearest match."""
    if "." not in name and ":" not in name:
        if name not in _SUPPORT[kind] and importlib.util.find_spec(f"{PACKAGES[kind]}.{name}"):
            return importlib.import_module(f"{PACKAGES[kind]}.{name}")
        for entry in entry_points(group=f"spotter.{kind}", name=name):
            module = entry.load()
            assert isinstance(module, ModuleType), f"entry point {entry.value} must name a module"
            return module
    elif findable(name):
        return importlib.import_module(name)
    raise UserError(f"unknown {_SINGULAR[kind]} '{name}'{did_you_mean(name, names(kind))}")


def findable(name: str) -> bool:
    """Whether a module of that dotted name exists."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one line how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{module} is not installed: pip install 'spotter[{extra}]' -c constraints.txt"
        ) from error


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate the user most likely meant, ignoring case; None when nothing is close."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.5)
    if close:
        return by_folded[close[0]]
    inside = [original for folded, original in by_folded.items() if word.lower() in folded]
    return min(inside, key=len) if inside and word else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """The tail of an error sentence: the nearest match, else what there is."""
    candidates = list(candidates)
    match = nearest(word, candidates)
    if match:
        return f"; did you mean '{match}'?"
    return f"; known: {', '.join(sorted(candidates))}" if 0 < len(candidates) <= 20 else ""
