"""Where recipes live and how their files look: discovery, reading, line numbers.

`recipes/<EnvId>.yaml` in the working folder comes before the packaged ones; `families/<name>.yaml`
beside them holds what a family shares. A recipe file:

    family: classic
    description: one line
    base: {env: …, algo: …}          # every variant
    variants:
      ppo: {description: …, algo: {name: ppo}, expect: {score: 475, env_steps: 100_000}}
"""

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError

from spotter.plugins import did_you_mean
from spotter.types import UserError

PACKAGED: Final = Path(__file__).parent.parent / "recipes"
LOCAL: Final = Path("recipes")
TOP_KEYS: Final = ("family", "description", "base", "variants")
FAMILY_KEYS: Final = ("description", "matches", "base")
VARIANT_EXTRAS: Final = ("description", "expect")


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
                mark = node.lc.key(key) if isinstance(node, Mapping) else node.lc.item(key)
                node = node[key]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
            line = mark[0]
        return f"{self.path}:{line + 1}"

    def section(self, *keys: str) -> dict[str, Any]:
        node: Any = self.data
        for key in keys:
            node = (node or {}).get(key)
        return plain(node or {})


def plain(node: Any) -> Any:
    """ruamel's annotated containers as ordinary ones."""
    if isinstance(node, Mapping):
        return {str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    if isinstance(node, bool) or node is None:
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def parse(text: str, name: str) -> Any:
    """YAML 1.2 with line numbers; a syntax error is one sentence."""
    try:
        return YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{name}:{line}: not valid YAML: {error.problem or error.context}") from error


def read(path: Path) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    data = parse(text, str(path))
    if not isinstance(data, CommentedMap):
        raise UserError(f"{path}: expected a map of {', '.join(TOP_KEYS)}")
    return Source(path, data)


def _folders() -> Iterator[Path]:
    yield from (folder for folder in (LOCAL, PACKAGED) if folder.is_dir())


def files() -> dict[str, Path]:
    """Recipe name -> file; the working folder's recipes hide packaged ones of the same name."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.rglob("*.yaml")):
            name = path.relative_to(folder).with_suffix("").as_posix()
            if not name.startswith("families/"):
                found.setdefault(name, path)
    return found


def family_files() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted((folder / "families").glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def is_family(path: Path) -> bool:
    return path.parent.name == "families"


@cache
def _read_cached(path: Path, modified: float) -> Source:
    return read(path)


def open_source(path: Path) -> Source:
    """Read once per change: listing and resolving touch the same files many times."""
    return _read_cached(path, path.stat().st_mtime)


def family(name: str) -> Source:
    known = family_files()
    if name not in known:
        raise UserError(f"unknown environment family '{name}'{did_you_mean(name, known)}")
    return open_source(known[name])


def family_of(env_id: str) -> str:
    """The family whose `matches` patterns cover an id; `gymnasium` takes all the others."""
    bare = env_id.rsplit(":", 1)[-1]
    for name, path in family_files().items():
        patterns = open_source(path).data.get("matches") or []
        if any(fnmatch.fnmatchcase(bare, pattern) for pattern in patterns):
            return name
    return "gymnasium"


def variants(source: Source) -> list[str]:
    return list(source.section("variants"))
