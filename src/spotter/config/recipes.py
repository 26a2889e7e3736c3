"""Where recipes live and how their files look: discovery, reading, line numbers.

`recipes/<EnvId>.yaml` in the working folder comes before the packaged ones. Beside them,
`families/<name>.yaml` holds what a family shares, `protocols/<name>.yaml` the game settings that
`env.protocol` calls by one name, and `defaults/<kind>.yaml` what environments without a recipe
start from. A recipe file:

    family: classic
    description: one line
    base: {env: …, algo: …}          # every variant
    variants:
      ppo: {description: …, algo: {name: ppo}, expect: {score: 475, env_steps: 100_000}}
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, TaggedScalar
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean

from spotter import plugins
from spotter.types import UserError

PACKAGED: Final = Path(__file__).parent.parent / "recipes"
LOCAL: Final = Path("recipes")
SUFFIXES: Final = (".yaml", ".yml")
TOP_KEYS: Final = ("family", "description", "base", "variants")
FAMILY_KEYS: Final = ("description", "matches", "defaults", "protocol", "base")
PROTOCOL_KEYS: Final = ("description", "family", "base")
DEFAULTS_KEYS: Final = ("title", "description", "base", "short")
VARIANT_EXTRAS: Final = ("description", "expect")

Kind = Literal["recipe", "family", "protocol", "defaults"]
KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "recipe": TOP_KEYS,
    "family": FAMILY_KEYS,
    "protocol": PROTOCOL_KEYS,
    "defaults": DEFAULTS_KEYS,
}
MOST_CHARACTERS: Final = 200_000
"""Of a YAML text; parsing so many takes two seconds, and a config has 2,000."""
_MOST_DEPTH: Final = 100
_MOST_VALUES: Final = 50_000
"""With every alias counted as what it stands for."""
_BRACKET: Final = re.compile(r"[\[\]{}]")
_FOLDERS: Final[dict[str, Kind]] = {
    "families": "family",
    "protocols": "protocol",
    "defaults": "defaults",
}


@dataclass(frozen=True)
class Source:
    """One parsed YAML file that can say on which line a key stands."""

    path: Path
    data: CommentedMap = field(repr=False)

    def where(self, *keys: str | int) -> str:
        """`file:line` of the deepest of these keys that exists."""
        node: Any = self.data
        line = 0
        for key in keys:
            try:
                marks, is_list = node.lc, isinstance(node, list)
                mark = marks.item(key) if is_list else marks.key(key)
                node = node[key]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
            line = mark[0]
        return f"{self.path}:{line + 1}"

    def section(self, *keys: str) -> dict[str, Any]:
        """The map at a path, as ordinary containers; empty if there is none."""
        node: object = self.data
        for key in keys:
            node = node.get(key) if isinstance(node, Mapping) else None
        return plain(node) if isinstance(node, Mapping) else {}


def plain(node: object) -> Any:
    """ruamel's annotated containers and numbers as ordinary ones."""
    if isinstance(node, Mapping):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    if isinstance(node, ScalarBoolean):
        return bool(node)
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def parse(text: str, name: str, lines: bool = True) -> object:
    """YAML 1.2 with line numbers; a syntax error is one sentence.

    So is a text that would take minutes or gigabytes to read: a stranger may have written it.
    """
    _refuse_huge(text, name)
    try:
        data = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if lines and mark else name
        problem = " ".join(str(error.problem or error.context).split())
        raise UserError(f"{place}: not valid YAML: {problem}") from error
    except (YAMLError, ValueError) as error:  # a ValueError is a bad date or number
        problem = " ".join(str(error).split())
        raise UserError(f"{name}: not valid YAML: {problem}") from error
    except RecursionError:
        raise UserError(f"{name}: nested too deeply") from None
    _refuse_exotic(data, name, count())
    return data


def _refuse_huge(text: str, name: str) -> None:
    """Before it is parsed: the time that takes grows with the square of the depth."""
    if len(text) > MOST_CHARACTERS:
        raise UserError(f"{name}: has more than the {MOST_CHARACTERS:,} characters of a config")
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > _MOST_DEPTH:
            raise UserError(f"{name}: nested too deeply")


def _refuse_exotic(node: object, name: str, seen: Iterator[int]) -> None:
    """Dates, bytes and tags are YAML, but no settings; nor are aliases of aliases of aliases."""
    if next(seen) > _MOST_VALUES:
        raise UserError(f"{name}: stands for more than {_MOST_VALUES:,} values")
    if isinstance(node, Mapping | list):
        for inner in node.values() if isinstance(node, Mapping) else node:
            _refuse_exotic(inner, name, seen)
    elif node is not None and not isinstance(node, str | int | float):
        if isinstance(node, TaggedScalar):
            raise UserError(f"{name}: the YAML tag {node.tag.value} means nothing here")
        raise UserError(f"{name}: {node} is no text, number, list or map; put it in quotes")


def read_text(path: Path) -> str:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # to open a pipe may wait
            raise UserError(f"{path}: is no file")
        with path.open("rb") as file:
            data = file.read(4 * MOST_CHARACTERS + 1)
        return data.decode("utf-8")  # as it is: no translation of line ends
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file in UTF-8") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def read(path: Path) -> Source:
    data = parse(read_text(path), str(path))
    if not isinstance(data, CommentedMap):
        raise UserError(f"{path}: should be a map with {', '.join(KEYS[kind_of(path)])}")
    return Source(path, data)


def _folders() -> Iterator[Path]:
    yield from (folder for folder in (LOCAL, PACKAGED) if folder.is_dir())


def in_folder(folder: Path) -> list[Path]:
    """Every recipe, family and protocol file of a folder, sorted."""
    return sorted(path for suffix in SUFFIXES for path in folder.rglob(f"*{suffix}"))


def name_of(path: Path) -> str:
    """What a recipe file is called: its place below a recipes folder, else its file name."""
    for folder in _folders():
        if path.resolve().is_relative_to(folder.resolve()):
            return path.resolve().relative_to(folder.resolve()).with_suffix("").as_posix()
    return path.stem


def files() -> dict[str, Path]:
    """Recipe name -> file; the working folder's recipes hide packaged ones of the same name."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in in_folder(folder):
            if kind_of(path) == "recipe":
                found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), path)
    return found


def is_packaged(path: Path) -> bool:
    return path.is_relative_to(PACKAGED)


def hidden_by(path: Path) -> list[Path]:
    """The packaged recipe of the same name as one of the working folder, if there is one."""
    if not LOCAL.is_dir() or not path.resolve().is_relative_to(LOCAL.resolve()):
        return []
    return [file for suffix in SUFFIXES if (file := PACKAGED / f"{name_of(path)}{suffix}").exists()]


def of_package_id(address: str) -> tuple[str, str]:
    """Recipe and variant of `package:Id[:variant]`, by the `env.id` that a recipe here has."""
    if ":" not in address or not LOCAL.is_dir():
        return "", ""
    ids = {}
    for name, path in files().items():
        if path.is_relative_to(LOCAL):
            with suppress(UserError):  # using that file reports what is wrong with it
                ids[str(open_source(path).section("base", "env").get("id"))] = name
    before, _, variant = address.rpartition(":")
    if address in ids:
        return ids[address], ""
    return (ids[before], variant) if ":" in before and before in ids else ("", "")


def family_files() -> dict[str, Path]:
    return _beside("families")


def protocol_files() -> dict[str, Path]:
    return _beside("protocols")


def defaults_files() -> dict[str, Path]:
    return _beside("defaults")


def _beside(name: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in in_folder(folder / name):
            found.setdefault(path.stem, path)
    return found


def kind_of(path: Path) -> Kind:
    """What a file is, by the folder it lies in."""
    return _FOLDERS.get(path.parent.name, "recipe")


@cache
def _read_cached(path: Path, folder: Path, modified_ns: int, size: int) -> Source:
    return read(path)


def open_source(path: Path) -> Source:
    """Read once per change: listing and resolving touch the same files many times."""
    try:
        stat = path.stat()
    except OSError:
        return read(path)  # which says what is wrong with it
    return _read_cached(path, Path.cwd(), stat.st_mtime_ns, stat.st_size)


def family(name: str) -> Source:
    """The settings of a family; one of your own may be a module alone, without a file of them."""
    known = family_files()
    if name not in known and plugins.exists("envs", name):
        return Source(Path(f"{name}.py"), CommentedMap())
    if name not in known:
        raise UserError(f"unknown environment family '{name}'{plugins.did_you_mean(name, known)}")
    return open_source(known[name])


def family_of(env_id: str) -> str:
    """The family whose `matches` patterns cover an id; `gymnasium` takes all the others.

    `module:Name` without a version is a class, read from its name alone: nothing is imported here.
    """
    bare = env_id.rsplit(":", 1)[-1]
    for name, path in family_files().items():
        patterns = open_source(path).data.get("matches")
        if isinstance(patterns, list) and any(
            fnmatch.fnmatchcase(bare, str(pattern)) for pattern in patterns
        ):
            return name
    return "python" if ":" in env_id and bare.isidentifier() else "gymnasium"


def variants(source: Source) -> list[str]:
    return list(source.section("variants"))
