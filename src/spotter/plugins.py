"""A plug-in is a file: `algos/ppo.py` is what `algo.name: ppo` means.

Names are resolved in this order: a module of the built-in package, an entry point in the group
`spotter.<kind>` (kinds: algos, envs, nets, wrappers, signals), a dotted `package.module`.
Nothing registers itself and there is no central list.
"""

import ast
import difflib
import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Final

from spotter.types import UserError

RUNS_VARIABLE: Final = "SPOTTER_RUNS"
"""Names the folder of runs; `runs` in the working folder without it."""
DISTRIBUTION: Final = "spotter-rl"
"""What the package index calls this package; `spotter` is another one there."""
PACKAGES: Final = {
    "algos": "spotter.algos",
    "envs": "spotter.envs",
    "nets": "spotter.nets",
    "wrappers": "spotter.envs.wrappers",
    "signals": "spotter.envs.signals",
}
_SINGULAR: Final = {
    "algos": "algorithm",
    "envs": "environment family",
    "nets": "encoder",
    "wrappers": "wrapper",
    "signals": "reward signal",
}
# Modules of those packages that serve the plug-ins and are none themselves.
_SUPPORT: Final = {
    "algos": {"base"},
    "envs": {
        *("ale", "base", "batch", "buffers", "checkup", "doom", "emulator", "fingerprint"),
        *("grade", "layout", "logbook", "make", "meter", "naming", "native", "pool", "process"),
        *("slices", "space_data", "spaces", "tape", "vector", "watchdog", "worker", "wrappers"),
        *("contract", "defaults", "drop", "scale", "scored", "signals"),
    },
    "nets": {"actor_critic", "encoders", "heads", "layers", "normalize"},
    "wrappers": {"base"},
    "signals": {"base"},
}


def names(kind: str) -> list[str]:
    """Every plug-in of a kind that can be named in a config. Imports none of them."""
    return sorted(_built_in(kind) | _third_party(kind).keys())


def _built_in(kind: str) -> set[str]:
    package = importlib.util.find_spec(PACKAGES[kind])
    folders = list(package.submodule_search_locations or ()) if package else []
    return {module.name for module in pkgutil.iter_modules(folders)} - _SUPPORT[kind]


@cache
def _third_party(kind: str) -> dict[str, str]:
    """name -> module. Read once: asking every installed package takes milliseconds."""
    return {entry.name: entry.module for entry in entry_points(group=f"spotter.{kind}")}


def exists(kind: str, name: str) -> bool:
    """Whether `load` would find something, without importing a built-in plug-in."""
    known = name in _built_in(kind) or name in _third_party(kind)
    return known or ("." in name and findable(name))


def offers(kind: str, name: str, attribute: str) -> bool:
    """Whether a plug-in defines a class of that name; a built-in one is looked at, not imported."""
    if name not in _built_in(kind):
        return exists(kind, name) and hasattr(load(kind, name), attribute)
    spec = importlib.util.find_spec(f"{PACKAGES[kind]}.{name}")
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    return re.search(rf"^class {attribute}\b", text, re.MULTILINE) is not None


def purpose(kind: str, name: str) -> str:
    """What a plug-in's file says it is for; the file is read, not imported."""
    module = f"{PACKAGES[kind]}.{name}" if name in _built_in(kind) else _third_party(kind)[name]
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".:")


def load(kind: str, name: str) -> ModuleType:
    """The module behind a name; an unknown name is a `UserError` with the nearest match."""
    if name in _built_in(kind):
        return importlib.import_module(f"{PACKAGES[kind]}.{name}")
    if name in _third_party(kind):
        return _import(_third_party(kind)[name])
    if "." in name and findable(name):
        return _import(name)
    raise UserError(unknown(kind, name))


def _import(name: str) -> ModuleType:
    """Somebody else's module: whatever it raises is their mistake, told in one sentence."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UserError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def unknown(kind: str, name: str) -> str:
    """The sentence for a name that no plug-in of a kind has."""
    return f"unknown {_SINGULAR[kind]} '{name}'{did_you_mean(name, names(kind))}"


def findable(name: str) -> bool:
    """Whether a module of that dotted name exists; its parent packages are imported."""
    try:
        return not _is_from_runs(name) and importlib.util.find_spec(name) is not None
    except Exception:  # a parent package may fail in any way while it is imported
        return False


def _is_from_runs(name: str) -> bool:
    """Whether a module lies in the folder of runs: runs may come from strangers and name it.

    Looked up part by part, since asking for a module imports the packages it is in.
    """
    runs = Path(os.environ.get(RUNS_VARIABLE) or "runs").resolve()
    path: Sequence[str] | None = None
    parts = name.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), path)
        if spec is None:
            return False
        path = list(spec.submodule_search_locations or ())
        places = [spec.origin, *path] if spec.has_location and spec.origin else path
        if any(Path(place).resolve().is_relative_to(runs) for place in places if place):
            return True
    return False


def install(extra: str, options: str = "") -> str:
    """The command that installs an extra."""
    return f"pip install {options}'{DISTRIBUTION}[{extra}]'"


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one line how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"{module} is not installed: {install(extra)}") from error


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate the user most likely meant, ignoring case; None when nothing is close.

    Few typing mistakes come first, then likeness as a whole, then being a part of it.
    """
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    word = word.lower()
    allowed = max(1, len(word) // 4)
    typos = {folded: mistakes(word, folded) for folded in by_folded}
    close = [folded for folded, count in typos.items() if count <= allowed]
    if close:
        return by_folded[min(close, key=lambda folded: (typos[folded], -_likeness(word, folded)))]
    # three letters are alike by chance: sac is not a2c
    alike = difflib.get_close_matches(word, by_folded, n=1, cutoff=0.6) if len(word) > 3 else []
    if alike:
        return by_folded[alike[0]]
    inside = [folded for folded in by_folded if word in folded]
    return by_folded[min(inside, key=len)] if inside and word else None


def mistakes(typed: str, meant: str) -> int:
    """Letters to insert, drop, replace or swap with a neighbour (optimal string alignment)."""
    rows = [list(range(len(meant) + 1))]
    for i, a in enumerate(typed, 1):
        row = [i]
        for j, b in enumerate(meant, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == meant[j - 2] and typed[i - 2] == b:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """The tail of an error sentence: the nearest match, else what there is."""
    candidates = list(candidates)
    match = nearest(word, candidates)
    if match:
        return f"; did you mean '{match}'?"
    return f"; known: {', '.join(sorted(candidates))}" if 0 < len(candidates) <= 20 else ""
