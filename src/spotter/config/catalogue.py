"""Every recipe there is: finding them by text, and checking their files."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotter import plugins
from spotter.config import recipes, shape
from spotter.config.errors import ConfigError
from spotter.config.layers import Layer
from spotter.config.load import Resolved, resolve, validate
from spotter.config.models import RunConfig
from spotter.config.overrides import merge
from spotter.types import NoMatchError, UserError


@dataclass(frozen=True)
class Entry:
    """One variant of one recipe, as a list shows it."""

    address: str
    algo: str = ""
    env_steps: int | None = None
    score: float | None = None
    description: str = ""
    problem: str = ""
    """Why it cannot be used, if so; then the rest is empty."""

    @property
    def text(self) -> str:
        return f"{self.address} {self.algo} {self.description}".lower()


def entries() -> list[Entry]:
    """Every variant of every recipe; a broken file is listed with its problem."""
    every: dict[str, Entry] = {}
    for path in recipes.files().values():
        for file in (path, *recipes.hidden_by(path)):
            for entry in _entries(file):
                every.setdefault(entry.address, entry)
    return list(every.values())


def _entries(path: Path) -> Iterator[Entry]:
    name = recipes.name_of(path)
    try:
        variants = _variants(path)
    except UserError as error:
        yield Entry(name, problem=str(error))
        return
    for variant in variants:
        try:
            yield _entry(resolve(f"{path}:{variant}"))
        except UserError as error:
            yield Entry(f"{name}:{variant}", problem=str(error))


def _entry(resolved: Resolved) -> Entry:
    return Entry(
        address=resolved.address,
        algo=resolved.config.algo.name,
        env_steps=resolved.config.budget.env_steps,
        score=resolved.expect.score if resolved.expect else None,
        description=resolved.description or "; ".join(resolved.notes),
    )


def _variants(path: Path) -> list[str]:
    source = recipes.open_source(path)
    shape.check_recipe(source)
    return recipes.variants(source)


def find(text: str = "") -> list[Entry]:
    """Entries in which every word of the text occurs, else the environment that it names, else
    entries that come close to it."""
    everything = entries()
    words = text.lower().split()
    found = [entry for entry in everything if all(word in entry.text for word in words)]
    found = found or list(_without_recipe(text))
    found = found or [entry for entry in everything if all(_close(w, entry) for w in words)]
    if not found:
        raise NoMatchError(_nothing(text, everything))
    return found


def _without_recipe(address: str) -> Iterator[Entry]:
    """An environment that no recipe is for; nothing where the text names none."""
    with suppress(UserError):
        yield _entry(resolve(address))


def _close(word: str, entry: Entry) -> bool:
    """Within a typing mistake or two of a word; `LunarLander` counts as two words and as one."""
    text = f"{entry.address} {entry.description}"
    parts = {*re.findall(r"[A-Z]?[a-z0-9]+", text), *re.findall(r"\w+", text)}
    allowed = max(1, len(word) // 4)
    return any(plugins.mistakes(word, part.lower()) <= allowed for part in parts if len(part) > 2)


def _nothing(text: str, everything: Sequence[Entry]) -> str:
    if not everything:
        return f"there are no recipes, neither in {recipes.LOCAL}/ nor in {recipes.PACKAGED}"
    names = {part for entry in everything for part in (entry.address, entry.address.split(":")[0])}
    match = plugins.nearest(text, sorted(names))
    hint = f"did you mean '{match}'?" if match else "`spotter list` shows all of them"
    return f"no recipe matches '{text}'; {hint}"


@dataclass(frozen=True)
class Checked:
    """What a check looked at, and everything that it found."""

    files: int
    variants: int
    problems: list[str]
    notes: list[str]
    bad_files: int


Trial = Callable[[RunConfig], None]
"""Raises a `UserError` where training could not begin."""


def check(paths: Sequence[Path] = (), trial: Trial | None = None) -> Checked:
    """Validate files and folders; with none given, everything local and packaged.

    `trial` is called for every valid variant, except those of packaged files not named.
    """
    files = expand(paths) if paths else everywhere()
    found: dict[Path, list[str]] = {}
    variants, notes = 0, []
    for path in files:
        is_tried = bool(paths) or not recipes.is_packaged(path)
        one = _File(path, trial if is_tried else None)
        found[path] = list(dict.fromkeys(_placed(text, path) for text in one.problems()))
        variants += one.variants
        notes += one.notes
    problems = [problem for one in found.values() for problem in one]
    return Checked(len(files), variants, problems, notes, sum(map(bool, found.values())))


def check_files(paths: Sequence[Path] = ()) -> list[str]:
    """Every problem of every file that has one."""
    return check(paths).problems


def everywhere() -> list[Path]:
    """Every recipe, family and protocol file of the working folder and of the package."""
    folders = [folder for folder in (recipes.LOCAL, recipes.PACKAGED) if folder.is_dir()]
    by_place = {path.resolve(): path for path in reversed(expand(folders))}
    return sorted(by_place.values())


def expand(paths: Iterable[Path]) -> list[Path]:
    """Files as they are, folders as the recipe, family and protocol files in them."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += recipes.in_folder(path)
        elif path.suffix not in recipes.SUFFIXES:
            raise UserError(f"{path} is not a recipe file; those end in .yaml")
        else:
            files.append(path)
    return files


class _File:
    """One file under examination."""

    def __init__(self, path: Path, trial: Trial | None) -> None:
        self._path = path
        self._trial = trial
        self.variants = 0
        self.notes: list[str] = []

    def problems(self) -> Iterator[str]:
        kind = recipes.kind_of(self._path)
        try:
            source = recipes.open_source(self._path)
        except UserError as error:
            yield str(error)
            return
        outer = list(_SHAPES[kind](source))
        yield from outer
        if kind == "recipe":
            yield from self._variants(source)
        elif not outer:
            yield from _base(kind, source)

    def _variants(self, source: recipes.Source) -> Iterator[str]:
        for variant in recipes.variants(source):
            try:
                resolved = resolve(f"{self._path}:{variant}")
            except UserError as error:
                yield from _all_of(error)
                continue
            self.variants += 1
            self.notes += resolved.notes
            try:
                if self._trial:
                    self._trial(resolved.config)
            except UserError as error:
                yield f"{source.where('variants', variant)}: variant {variant}: {error}"


_SHAPES: Final = {
    "recipe": shape.recipe_problems,
    "family": shape.family_problems,
    "protocol": shape.protocol_problems,
    "defaults": shape.defaults_problems,
}


def _base(kind: str, source: recipes.Source) -> Iterator[str]:
    """Problems of what a family or protocol shares, or a kind of environment starts from."""
    name = source.path.stem
    family = name if kind == "family" else str(source.data.get("family", ""))
    values: dict[str, object] = {}
    below = {"env": {"family": family if plugins.exists("envs", family) else ""}}
    for keys in (("base",), ("short", "base")):
        own: dict[str, object] = source.section(*keys)
        values = merge(values, own)
        try:
            validate(merge(below, values), [Layer(f"{kind} {name}", own, source, keys)])
        except UserError as error:
            yield from _all_of(error)
            return


def _all_of(error: UserError) -> tuple[str, ...]:
    return error.problems if isinstance(error, ConfigError) else (str(error),)


def _placed(problem: str, path: Path) -> str:
    """Problems in a family show up through a recipe; say through which."""
    return problem if str(path) in problem else f"{path}: {problem}"
