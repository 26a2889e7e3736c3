"""Validation errors as one clear sentence: what is wrong, where, and the nearest valid thing."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from spotter import plugins
from spotter.config import other_names, synonyms, tree
from spotter.config.plugin import Plugin
from spotter.config.words import listed, shown
from spotter.types import UserError

Locate = Callable[[tree.Path], str]
"""Path of a setting -> where it was written, e.g. `recipes/CartPole-v1.yaml:12`, or empty."""

_KINDS: Final = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map of settings",
    "model_attributes_type": "a map of settings",
}
_BOUNDS: Final = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
# Sections whose keys come from a plug-in: the section, the kind of plug-in, what names it.
_PICKED: Final = (("algo", "algos", "name"), ("env", "envs", "family"))
# A validator's message that starts like this continues the setting's name as one sentence.
_VERBS: Final = ("should", "must", "needs", "cannot", "names")


class ConfigError(UserError):
    """What is wrong with a config: the most specific problem, and how many others there are."""

    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, problems: Sequence[str]) -> Self:
        others = len(problems) - 1
        more = f" (and {others} more problem{'s' * (others > 1)})" if others else ""
        error = cls(f"{problems[0]}{more}")
        error.problems = tuple(problems)
        return error


def explain(
    error: ValidationError, root: tree.Model, data: object, locate: Locate, typed: str = ""
) -> ConfigError:
    """Every problem as a sentence, the most specific one first.

    `typed` is the place of what the user wrote just now.
    """
    problems: dict[tree.Path, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        problems.setdefault(_written_path(detail, data), []).append(detail)
    # A misspelt key explains the missing one beside it, so it comes first.
    paths = sorted(problems, key=lambda path: problems[path][0]["type"] != "extra_forbidden")
    found = []
    for path in paths:
        sentence = _sentence(problems[path], path, data, root)
        place = _place(path, sentence, data, root, locate, typed)
        found.append(f"{place + ': ' if place else ''}{sentence}")
    return ConfigError.of(found)


def _written_path(detail: ErrorDetails, data: Any) -> tree.Path:
    """The path without the union branches and validators that pydantic adds to it."""
    *parents, last = detail["loc"] or ("",)
    path: tree.Path = ()
    for part in parents:
        if _is_written(data, part):
            path, data = (*path, part), data[part]
    if last != "" and (_is_written(data, last) or detail["type"] == "missing"):
        path = (*path, last)
    return path


def _is_written(node: object, part: str | int) -> bool:
    if isinstance(part, int):
        return isinstance(node, list | tuple) and part < len(node)
    return isinstance(node, dict) and part in node


def _place(
    path: tree.Path, sentence: str, data: object, root: tree.Model, locate: Locate, typed: str
) -> str:
    """Where to look: the setting, the name that picked its plug-in, or one the sentence names."""
    model = tree.model_at(root, path, data)
    if model is not None and issubclass(model, Plugin) and locate((*path, model.picked_by)):
        return locate((*path, model.picked_by))
    if path:
        return locate(path)
    named = [tuple(name.split(".")) for name in re.findall(r"[a-z_]+(?:\.[a-z_]+)+", sentence)]
    places = [place for name in named if (place := locate(name))]
    # Two settings at odds: what was typed just now is the likelier culprit.
    return typed if typed in places else next(iter(places), "")


def _sentence(details: list[ErrorDetails], path: tree.Path, data: object, root: tree.Model) -> str:
    name, detail = tree.dotted(path), details[0]
    if detail["type"] == "extra_forbidden":
        return unknown_key(path, data, root)
    if detail["type"] == "missing":
        return f"{name} is missing"
    got = detail["input"]
    if detail["type"] in ("value_error", "assertion_error"):
        message = str(detail["ctx"]["error"])
        model = tree.model_at(root, path, data)
        if message.startswith("unknown ") and model is not None and issubclass(model, Plugin):
            name = f"{name}.{model.picked_by}"
            if path == ("algo",) and (hint := other_names.of_algorithm(message.split("'")[1])):
                message = message.partition(";")[0] + hint
        return _own_sentence(name, message, got)
    if wish := _wish(details):
        hint = other_names.of_policy_class(got) if path == ("policy",) else _near_choice(detail)
        return f"{name} should be {wish}, got {shown(got)}{hint}"
    return f"{name}: {detail['msg'][0].lower()}{detail['msg'][1:]}, got {shown(got)}"


def _own_sentence(name: str, message: str, got: object) -> str:
    """What a validator of ours, or of a plug-in, had to say."""
    if not name:
        return message
    if not message.startswith(_VERBS):
        return f"{name}: {message}"
    reported = ", got " in message or (
        isinstance(got, dict) and not message.startswith("should stay")
    )
    return f"{name} {message}{'' if reported else f', got {shown(got)}'}"


def _wish(details: list[ErrorDetails]) -> str:
    """What the value should have been; several details are branches of one union."""
    wishes = {wish: None for detail in details if (wish := _one_wish(detail))}
    if "a number" in wishes:
        wishes.pop("a whole number", None)
    return listed(list(wishes))


def _one_wish(detail: ErrorDetails) -> str:
    kind, ctx = detail["type"], detail.get("ctx", {})
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        bound = ctx[key]
        return f"{word} {int(bound) if bound == int(bound) else bound}"
    if kind == "literal_error":
        return listed(_choices(detail))
    if kind in ("too_short", "too_long"):
        few, size = ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
        noun = "map" if ctx["field_type"] == "Dictionary" else "list"
        return f"a {noun} with {few} {ctx[size]} item{'' if ctx[size] == 1 else 's'}"
    start, wish = "Input should be ", detail["msg"]
    return wish.removeprefix(start) if wish.startswith(start) else ""


def _choices(detail: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']*)'", detail.get("ctx", {}).get("expected", ""))


def _near_choice(detail: ErrorDetails) -> str:
    choices, got = _choices(detail), detail["input"]
    near = plugins.nearest(got, choices) if isinstance(got, str) and len(choices) > 1 else None
    return f"; did you mean {near}?" if near else ""


def unknown_key(path: tree.Path, data: object, root: tree.Model, also: Sequence[str] = ()) -> str:
    """`algo.clp is not a setting; did you mean algo.clip?`

    What another library calls a setting comes first, then a near miss in the same section, the same
    key elsewhere, and what is alike. `also` are keys that stand beside the fields of the section.
    """
    if theirs := _of_another_library(path, data, root):
        return f"{tree.dotted(path)} is not a setting; {theirs}"
    section, key = tree.model_at(root, path[:-1], data), str(path[-1])
    beside = [*(tree.keys(section) if section else ()), *also]
    prefix = tree.dotted(path[:-1])
    here = plugins.nearest(key, beside)
    is_typo = here is not None and plugins.mistakes(key.lower(), here.lower()) <= 1
    if not is_typo and (elsewhere := _elsewhere(key, path, data, root)):
        return elsewhere
    if here:
        meant = f"{prefix}.{here}" if prefix else here
        return f"{tree.dotted(path)} is not a setting; did you mean {meant}?"
    near = plugins.nearest(tree.dotted(path), tree.paths(root, data))
    if near:
        return f"{tree.dotted(path)} is not a setting; did you mean {near}?"
    place = f" {prefix} has" if prefix else " the sections are"
    return f"{tree.dotted(path)} is not a setting;{place} {listed(beside, 'and')}"


def _of_another_library(path: tree.Path, data: object, root: tree.Model) -> str:
    """`did you mean algo.lr=0.001?` for `learning_rate=1e-3`, at the top or in a section."""
    name = str(path[-1])
    if len(path) > 2 or not isinstance(data, Mapping):
        return ""
    meant = synonyms.proposal(name, tree.value_at(data, path), data)
    known = set(tree.paths(root, data)) if meant else set()
    for setting in meant:
        section, _, key = setting.rpartition(".")
        if setting not in known and (owner := _elsewhere(key, (section, key), data, root)):
            return f"it is {setting} here, {owner.partition(' is ')[2]}"
    return synonyms.hint(name, tree.value_at(data, path), data)


def _elsewhere(key: str, path: tree.Path, data: object, root: tree.Model) -> str:
    """The same key in another algorithm or family, or in another section."""
    for section, kind, picked_by in _PICKED:
        if path[:-1] == (section,):
            names = plugins.names(kind)
            owners = [name for name in names if key in _keys(section, {picked_by: name}, root)]
            if owners:
                mine = tree.value_at(data, (section, picked_by)) or "gymnasium"
                return f"{section}.{key} is a setting of {listed(owners, 'and')}, not of {mine}"
    # a bare `clip` is likelier algo.clip than reward.clip
    known = sorted(tree.paths(root, data), key=lambda name: not name.startswith("algo."))
    match = next((name for name in known if name.rsplit(".", 1)[-1] == key), None)
    return f"{tree.dotted(path)} is not a setting; did you mean {match}?" if match else ""


def _keys(section: str, data: object, root: tree.Model) -> list[str]:
    config = tree.child(root, section, data)
    return tree.keys(config) if config else []
