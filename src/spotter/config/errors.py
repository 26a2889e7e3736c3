"""Validation errors as one clear sentence: what is wrong, where, and the nearest valid thing."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from spotter.plugins import did_you_mean, nearest
from spotter.types import UserError

Locate = Callable[[tuple[str | int, ...]], str]
"""Path of a setting -> where it was written, e.g. `recipes/CartPole-v1.yaml:12`, or empty."""


def explain(error: ValidationError, root: type[BaseModel], data: Any, locate: Locate) -> UserError:
    """The first problem as a sentence, with a count of the others."""
    details = error.errors(include_url=False)
    first = min(details, key=_importance)
    path = tuple(part for part in first["loc"] if not _is_internal(part))
    sentence = _sentence(first, path, data, root)
    place = locate(path)
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return UserError(f"{place + ': ' if place else ''}{sentence}{more}")


def _importance(detail: ErrorDetails) -> int:
    """A misspelt key explains the missing one beside it, so it comes first."""
    return 0 if detail["type"] == "extra_forbidden" else 1


def _is_internal(part: str | int) -> bool:
    """pydantic names union branches and validators in the path; users wrote none of those."""
    return isinstance(part, str) and ("[" in part or part in {"Schedule", "int", "float", "bool"})


def dotted(path: tuple[str | int, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _sentence(detail: ErrorDetails, path: tuple[str | int, ...], data: Any, root: type) -> str:
    name = dotted(path)
    if detail["type"] == "extra_forbidden":
        return unknown_key(path, data, root)
    if detail["type"] == "missing":
        return f"{name} is missing"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if not path:
        return message
    got = detail.get("input")
    if detail["type"] == "value_error":
        shown = f" (got {got!r})" if isinstance(got, int | float | str) else ""
        return f"{name}: {message}{shown}"
    wish = message[0].lower() + message[1:].removeprefix("nput should ")
    return f"{name} should {wish.removeprefix('i')}, got {got!r}"


def unknown_key(path: tuple[str | int, ...], data: Any, root: type) -> str:
    """`algo.clp is not a setting; did you mean algo.clip?`, looking in other sections as well."""
    siblings = _siblings(path, data, root)
    key = str(path[-1])
    prefix = dotted(path[:-1])
    here = nearest(key, siblings)
    if here is None:
        elsewhere = nearest(dotted(path), known_paths(root)) or _same_leaf(key, root)
        if elsewhere:
            return f"{dotted(path)} is not a setting; did you mean {elsewhere}?"
        return f"{dotted(path)} is not a setting{did_you_mean(key, siblings)}"
    return f"{dotted(path)} is not a setting; did you mean {prefix + '.' if prefix else ''}{here}?"


def _same_leaf(key: str, root: type) -> str | None:
    return next((path for path in known_paths(root) if path.rsplit(".", 1)[-1] == key), None)


def _siblings(path: tuple[str | int, ...], data: Any, root: type) -> list[str]:
    """Field names of the model the unknown key stands in."""
    from spotter import plugins

    model: Any = root
    node = data
    for part in path[:-1]:
        node = _child(node, part)
        if isinstance(part, int):
            kind, key = ("signals", "source") if "signals" in path else ("wrappers", "name")
            model = plugins.load(kind, node[key]).Config
            continue
        field = getattr(model, "model_fields", {}).get(part)
        annotation = field.annotation if field else None
        if part == "algo" and isinstance(node, dict) and "name" in node:
            annotation = plugins.load("algos", node["name"]).Config
        model = annotation
    return [f.alias or name for name, f in getattr(model, "model_fields", {}).items()]


def _child(node: Any, part: str | int) -> Any:
    try:
        return node[part]
    except (KeyError, IndexError, TypeError):
        return None


def known_paths(model: type, prefix: str = "") -> list[str]:
    """Dotted names of every setting below a model, plug-in sections by their common fields."""
    paths: list[str] = []
    for name, field in getattr(model, "model_fields", {}).items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and name != "weight":
            paths += known_paths(annotation, f"{prefix}{name}.")
        else:
            paths.append(f"{prefix}{name}")
    return paths
