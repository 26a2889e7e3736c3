"""Every recipe there is: finding them by text, and checking their files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotter import plugins
from spotter.config import recipes
from spotter.config.layers import Layer, check_family, check_protocol, check_recipe
from spotter.config.load import Resolved, resolve, validate
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
    return [entry for path in recipes.files().values() for entry in _entries(path)]


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
        description=resolved.description,
    )


def _variants(path: Path) -> list[str]:
    source = recipes.open_source(path)
    check_recipe(source)
    return recipes.variants(source)


def find(text: str = "") -> list[Entry]:
    """Entries in which every word of the text occurs, else those that come close to it."""
    everything = entries()
    words = text.lower().split()
    exact = [entry for entry in everything if all(word in entry.text for word in words)]
    found = exact or [entry for entry in everything if all(_close(w, entry) for w in words)]
    if not found:
        raise NoMatchError(_nothing(text, everything))
    return found


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
    """What a check looked at, and what it found: the first problem of each file."""

    files: int
    variants: int
    problems: list[str]


def check(paths: Sequence[Path] = ()) -> Checked:
    """Validate files and folders; with none given, everything local and packaged."""
    files = expand(paths) if paths else everywhere()
    problems: list[str] = []
    variants = 0
    for path in files:
        try:
            variants += _check_file(path)
        except UserError as error:
            problems.append(_placed(str(error), path))
    return Checked(len(files), variants, problems)


def check_files(paths: Sequence[Path] = ()) -> list[str]:
    """The first problem of each file that has one."""
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


def _check_file(path: Path) -> int:
    """How many variants were checked; raises at the first problem."""
    kind = recipes.kind_of(path)
    if kind == "recipe":
        variants = _variants(path)
        for variant in variants:
            resolve(f"{path}:{variant}")
        return len(variants)
    source = recipes.open_source(path)
    check_family(source) if kind == "family" else check_protocol(source)
    family = path.stem if kind == "family" else str(source.data["family"])
    values: dict[str, Any] = source.section("base")
    below = {"env": {"family": family if plugins.exists("envs", family) else ""}}
    layer = Layer(f"{kind} {path.stem}", values, source, ("base",))
    validate(merge(below, values), [layer])
    return 0


def _placed(problem: str, path: Path) -> str:
    """Problems in a family show up through a recipe; say through which."""
    return problem if str(path) in problem else f"{path}: {problem}"
