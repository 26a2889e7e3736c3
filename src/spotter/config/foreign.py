"""Settings from a stranger: which of them would import code that is not Spotter's own.

To read a config is to load the plug-ins it names, and a name that is not Spotter's is a module of
any package. Who reads the runs or requests of others looks here first.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from spotter import plugins
from spotter.config import recipes, tree
from spotter.config.load import Resolved, resolve
from spotter.config.policy import AUTO
from spotter.types import UserError

OPENS_FILES: Final = (("env", "wad"), ("env", "folder"))
_BY_NAME: Final[tuple[tuple[tree.Path, str], ...]] = (
    (("policy", "encoder"), "nets"),
    (("policy", "core"), "cores"),
    (("launch",), "launchers"),
)
_TESTING: Final = "spotter.testing."
"""Environments of our own that recipes do not list."""
_PLAIN_WORD: Final = re.compile(r"[\w +-]*", re.ASCII)
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_][\w.+-]*(/[A-Za-z0-9_][\w.+-]*)*", re.ASCII)


def check_names(data: Mapping[str, object], remedy: str = "") -> None:
    """Refuse names that are none of Spotter's, at every place where a name picks a plug-in.

    `remedy` says what to do about it, in a clause.
    """
    for where, kind, name in _plugins(data):
        _check_plugin(kind, name, where, remedy)
    check_id("env.id", tree.value_at(data, ("env", "id")), remedy)


def outside(data: Mapping[str, object], files: bool = True) -> dict[str, str]:
    """Setting -> what it names that is neither Spotter's own, nor a plug-in of an installed
    package, nor the id of a registered environment: modules and packages, which to read a config
    imports, and `files`, which to play it opens."""
    found: dict[str, str] = {
        where: name
        for where, kind, name in _plugins(data)
        if isinstance(name, str) and name and name not in plugins.names(kind)
    }
    id = tree.value_at(data, ("env", "id"))
    # of the family python, an id calls whatever a module holds
    is_called = tree.value_at(data, ("env", "family")) == "python"
    if isinstance(id, str) and ":" in id and (is_called or not id.startswith(_TESTING)):
        found["env.id"] = id
    for path, text in texts(data) if files else ():
        if text and (path[:2] in OPENS_FILES or may_name_file(path, text)):
            found[tree.dotted(path)] = text
    return found


def texts(value: object, path: tree.Path = ()) -> Iterator[tuple[tree.Path, str]]:
    """Every text in some settings, and where it stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from texts(inner, (*path, place))


def may_name_file(path: tree.Path, text: str) -> bool:
    """Whether an argument of an environment or a wrapper could name a file or code."""
    is_plain = _PLAIN_WORD.fullmatch(text) and path[:2] != ("env", "wrappers")
    return "kwargs" in path and not is_plain


def _plugins(data: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Where a name picks a plug-in, of which kind, and the name."""
    for single, kind in ((("env", "family"), "envs"), (("algo", "name"), "algos")):
        yield tree.dotted(single), kind, tree.value_at(data, single)
    for path, kind in _BY_NAME:
        part = tree.value_at(data, path)
        if isinstance(part, Mapping):
            yield f"{tree.dotted(path)}.name", kind, part.get("name")
        elif part != AUTO or kind != "nets":
            yield tree.dotted(path), kind, part
    lists: tuple[tuple[tree.Path, str, str], ...] = (
        (("env", "wrappers"), "name", "wrappers"),
        (("reward", "signals"), "source", "signals"),
        (("reward", "intrinsic"), "name", "intrinsic"),
        (("sinks",), "name", "sinks"),
    )
    for path, key, kind in lists:
        listed = tree.value_at(data, path)
        for place, item in enumerate(listed) if isinstance(listed, list | tuple) else ():
            if isinstance(item, Mapping):
                yield tree.dotted((*path, place, key)), kind, item.get(key)
            else:
                yield tree.dotted((*path, place)), kind, item


def is_recipe(address: str) -> bool:
    """Whether an address is a recipe's, with a variant or algorithm there is; any other leads to
    a third-party file or package, which must not be opened."""
    name, _, variant = address.partition(":")
    path = recipes.files().get(name)
    if path is None:
        return False
    return variant in ("", *recipes.variants(recipes.open_source(path)), *plugins.names("algos"))


def is_plain(address: str) -> bool:
    """Whether an address can be resolved without importing or opening what a stranger names: a
    recipe's, or the plain id of an environment with an algorithm of ours."""
    name, _, variant = address.partition(":")
    plain = bool(_PLAIN_ID.fullmatch(name)) and not name.endswith(recipes.SUFFIXES)
    return is_recipe(address) or (plain and variant in ("", *plugins.names("algos")))


def recipe_of(address: str) -> Resolved | None:
    """What an address means today, if it is a recipe; other names would lead to files or code."""
    try:
        return resolve(address) if is_recipe(address) else None
    except (UserError, ImportError):
        return None


def _check_plugin(kind: str, name: Any, where: str, remedy: str) -> None:
    """Text that is no known name; anything but text is refused by the config itself."""
    if isinstance(name, str) and name and name not in plugins.names(kind):
        clauses = [plugins.unknown(kind, name[:80]), remedy if "." in name else ""]
        raise UserError(f"{where}: {'; '.join(filter(None, clauses))}")


def check_id(where: str, id: object, remedy: str = "") -> None:
    """Refuse `package:EnvId`."""
    if isinstance(id, str) and id and not _PLAIN_ID.fullmatch(id):
        clause = f"{id[:80]!r} is not the plain id of an environment, such as CartPole-v1"
        raise UserError(f"{where}: {'; '.join(filter(None, (clause, remedy)))}")
