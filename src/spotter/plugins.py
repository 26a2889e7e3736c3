"""A plug-in is a file: `algos/ppo.py` is what `algo.name: ppo` means.

Names are resolved in this order: a module in the folder of its kind, an entry point in the group
`spotter.<kind>`, a module by its name, `my_module` or `my.package.module`. Nothing registers itself
and there is no central list: a folder holds plug-ins and nothing else.
"""

import ast
import difflib
import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Kind:
    """What can be named in a config, and what a file of it must define."""

    package: str
    noun: str
    entry: str
    """The function that everything starts with."""

    @property
    def folder(self) -> str:
        return self.package.removeprefix("spotter.").replace(".", "/")


KINDS: Final = {
    "algos": Kind("spotter.algos", "algorithm", "make"),
    "envs": Kind("spotter.envs.families", "environment family", "make"),
    "nets": Kind("spotter.policy.encoders", "encoder", "build"),
    "cores": Kind("spotter.policy.cores", "core", "build"),
    "wrappers": Kind("spotter.envs.wrappers", "wrapper", "wrap"),
    "signals": Kind("spotter.envs.rewards", "reward signal", "make"),
    "intrinsic": Kind("spotter.explore.rewards", "intrinsic reward", "make"),
    "sinks": Kind("spotter.sinks.trackers", "sink", "make"),
    "launchers": Kind("spotter.launch.launchers", "launcher", "make"),
}


def names(kind: str) -> list[str]:
    """Every plug-in of a kind that can be named in a config. Imports none of them."""
    return sorted(_built_in(kind) | _third_party(kind).keys())


def _built_in(kind: str) -> set[str]:
    package = importlib.util.find_spec(KINDS[kind].package)
    folders = list(package.submodule_search_locations or ()) if package else []
    return {module.name for module in pkgutil.iter_modules(folders)}


@cache
def _third_party(kind: str) -> dict[str, str]:
    """name -> module. Read once: asking every installed package takes milliseconds."""
    return {entry.name: entry.module for entry in entry_points(group=f"spotter.{kind}")}


def exists(kind: str, name: str) -> bool:
    """Whether `load` would find something; imports at most the packages a module is in."""
    known = name in _built_in(kind) or name in _third_party(kind)
    return known or _is_module(kind, name)


def _is_module(kind: str, name: str) -> bool:
    """Whether a name is that of a module outside. One without a dot must look like a plug-in of the
    kind as well: many words are names of modules. Its file is read, not imported."""
    if "." in name:
        return findable(name)
    if not name.isidentifier() or not findable(name):
        return False
    spec = importlib.util.find_spec(name)
    return spec is not None and _defines(spec.origin, KINDS[kind].entry)


def _defines(file: str | None, name: str) -> bool:
    """Whether a Python file defines or imports something of that name at its top."""
    if file is None or not file.endswith(".py"):
        return False
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    found = rf"^(?:(?:def|class)\s+{name}\b|{name}\s*[:=]|from\s.*\bimport\b.*\b{name}\b)"
    return re.search(found, text, re.MULTILINE) is not None


def offers(kind: str, name: str, attribute: str) -> bool:
    """Whether a plug-in defines a class of that name; a built-in one is looked at, not imported."""
    if name not in _built_in(kind):
        return exists(kind, name) and attribute in vars(load(kind, name))
    spec = importlib.util.find_spec(f"{KINDS[kind].package}.{name}")
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    return re.search(rf"^class {attribute}\b", text, re.MULTILINE) is not None


def purpose(kind: str, name: str) -> str:
    """What a plug-in's file says it is for; the file is read, not imported."""
    module = (
        f"{KINDS[kind].package}.{name}" if name in _built_in(kind) else _third_party(kind)[name]
    )
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".:")


def load(kind: str, name: str) -> ModuleType:
    """The module behind a name; an unknown name is a `UserError` with the nearest match."""
    if name in _built_in(kind):
        return importlib.import_module(f"{KINDS[kind].package}.{name}")
    if name in _third_party(kind):
        return _import(_third_party(kind)[name])
    if _is_module(kind, name):
        return _import(name)
    raise UserError(unknown(kind, name))


def _import(name: str) -> ModuleType:
    """A third-party module: whatever it raises is reported as its error, in one sentence."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UserError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def unknown(kind: str, name: str) -> str:
    """The sentence for a name that no plug-in of a kind has."""
    noun, entry = KINDS[kind].noun, KINDS[kind].entry
    is_file = name.isidentifier() and Path(f"{name}.py").is_file()
    if is_file and not _is_module(kind, name):
        return f"unknown {noun} '{name}'; {name}.py defines no `{entry}`, as {_a(noun)} does"
    return f"unknown {noun} '{name}'{did_you_mean(name, names(kind))}"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def findable(name: str) -> bool:
    """Whether a module of that name exists; its parent packages are imported."""
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
