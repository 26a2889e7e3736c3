"""Settings from a stranger: which of them would import code that is not Spotter's own.

To read a config is to load the plug-ins it names, and a dotted name is a module of any package. Who
reads the runs or requests of others looks here first.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from spotter import plugins
from spotter.config import recipes, tree
from spotter.types import UserError

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_][\w.+-]*(/[A-Za-z0-9_][\w.+-]*)*", re.ASCII)


def check_names(data: Mapping[str, Any], remedy: str = "") -> None:
    """Refuse names that are none of Spotter's, at every place where a name picks a plug-in.

    `remedy` says what to do about it, in a clause.
    """
    for path, kind in ((("env", "family"), "envs"), (("algo", "name"), "algos")):
        _check_plugin(kind, tree.value_at(data, path), tree.dotted(path), remedy)
    encoder = tree.value_at(data, ("policy", "encoder"))
    if encoder != "auto":
        _check_plugin("nets", encoder, "policy.encoder", remedy)
    for path, key, kind in (
        (("env", "wrappers"), "name", "wrappers"),
        (("reward", "signals"), "source", "signals"),
    ):
        listed = tree.value_at(data, path)
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, Mapping):
                _check_plugin(kind, item.get(key), f"{tree.dotted(path)} {key}", remedy)
    check_id("env.id", tree.value_at(data, ("env", "id")), remedy)


def is_recipe(address: str) -> bool:
    """Whether an address is a recipe's, with a variant or algorithm there is; any other leads to
    somebody's file or package, which must not be opened."""
    name, _, variant = address.partition(":")
    path = recipes.files().get(name)
    if path is None:
        return False
    return variant in ("", *recipes.variants(recipes.open_source(path)), *plugins.names("algos"))


def _check_plugin(kind: str, name: Any, where: str, remedy: str) -> None:
    """Text that is no known name; anything but text is refused by the config itself."""
    if isinstance(name, str) and name and name not in plugins.names(kind):
        clauses = [plugins.unknown(kind, name[:80]), remedy if "." in name else ""]
        raise UserError(f"{where}: {'; '.join(filter(None, clauses))}")


def check_id(where: str, id: Any, remedy: str = "") -> None:
    """Refuse `package:EnvId`."""
    if isinstance(id, str) and id and not _PLAIN_ID.fullmatch(id):
        clause = f"{id[:80]!r} is not the plain id of an environment, such as CartPole-v1"
        raise UserError(f"{where}: {'; '.join(filter(None, (clause, remedy)))}")
