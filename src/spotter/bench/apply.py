"""Writing settings into a variant of a recipe, with the author's spelling and comments kept.

The YAML parser says where things stand; the text is changed there and nowhere else, then read
again: unless it means exactly what it should, nothing is written. Recipes that came with Spotter
are never edited: a copy in `recipes/` of the working folder hides them.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from spotter.config import Resolved, recipes, validate
from spotter.config.dump import flow, to_yaml
from spotter.config.format import format_text
from spotter.config.load import FITS_BUDGET
from spotter.config.overrides import edit, merge
from spotter.rundir.files import write_atomic
from spotter.types import UserError


@dataclass(frozen=True)
class Plan:
    """Which recipe file is to hold which text."""

    path: Path
    text: str
    address: str
    note: str = ""
    """What else the reader should know about that file."""

    def write(self) -> "Plan":
        path = self.path.resolve()
        mode = path.stat().st_mode if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, self.text)
        if mode is not None:
            with contextlib.suppress(OSError):
                path.chmod(mode)
        return self


def plan(resolved: Resolved, settings: Mapping[str, object]) -> Plan:
    """The file that `settings` belong into; `UserError` if they cannot stand there."""
    pairs = {tuple(key.split(".")): value for key, value in settings.items()}
    _check(resolved, pairs)
    variant = resolved.layers[-2]  # the last layer is the command line
    if variant.source is None:
        return _new_recipe(resolved, settings)
    source = variant.source.path
    text = recipes.read_text(source)
    for path, value in pairs.items():
        text = set_value(text, (*variant.keys, *path), value, str(source))
    if not source.resolve().is_relative_to(recipes.PACKAGED.resolve()):
        return Plan(source, text, resolved.address)
    name = source.resolve().relative_to(recipes.PACKAGED.resolve())
    return Plan(
        _free(recipes.LOCAL / name),
        text,
        resolved.address,
        "a copy of the recipe that came with Spotter, used instead of it in this folder",
    )


def destination(resolved: Resolved) -> None:
    """Refuse beforehand what could not be written after a minute of measuring."""
    plan(resolved, {"threads": 1})


def _check(resolved: Resolved, pairs: Mapping[tuple[str, ...], object]) -> None:
    """What was measured with overrides may not fit the recipe without them."""
    data: dict[str, object] = {}
    for layer in resolved.layers[:-1]:
        data = merge(data, layer.values)
    for path, value in pairs.items():
        data = edit(data, path, value)
    try:
        validate(data)
    except UserError as error:
        raise UserError(f"not written, since it does not fit the recipe itself: {error}") from None


def _new_recipe(resolved: Resolved, settings: Mapping[str, object]) -> Plan:
    """An environment without a recipe gets one."""
    env, algo = resolved.config.env, resolved.config.algo.name
    name = env.id.rsplit(":", 1)[-1]
    if name in recipes.files():
        raise UserError(f"there is a recipe {name} already; measure that one: spotter bench {name}")
    values: dict[str, object] = {}
    for layer in resolved.layers[1:-1]:  # what its kind starts from; a recipe has the family alone
        if layer.label != FITS_BUDGET:
            own = {key: value for key, value in layer.values.items() if key != "env"}
            values = merge(values, own)
    for key, value in settings.items():
        values = edit(values, key.split("."), value)
    data = {
        "family": env.family,
        "base": {"env": {"id": env.id}},
        "variants": {algo: values},
    }
    path = recipes.LOCAL / f"{name}.yaml"
    text = format_text(to_yaml(data), "recipe", str(path))
    return Plan(_free(path), text, f"{name}:{algo}", "a new recipe")


def _free(path: Path) -> Path:
    if path.exists():
        raise UserError(f"{path} is there already; measure it by its name: spotter bench {path}")
    return path


def set_value(text: str, path: tuple[str, ...], value: object, name: str = "text") -> str:
    """The same YAML with one value set; maps on the way to it are made where missing."""
    ends = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    before = recipes.plain(recipes.parse(text, name))
    after = _edited(text, path, value)
    if _is_tidy(text, name):
        after = format_text(after, "recipe", name)
    try:
        same = recipes.plain(recipes.parse(after, name)) == edit(before, path, value)
    except UserError:
        same = False
    if not same:
        raise UserError(
            f"{name} is written in a way that cannot be edited safely; "
            f"add {'.'.join(path)}: {flow(value)} yourself"
        )
    return after.replace("\n", ends)


def _is_tidy(text: str, name: str) -> bool:
    try:
        return format_text(text, "recipe", name) == text
    except UserError:
        return False


def _edited(text: str, path: tuple[str, ...], value: object) -> str:
    node: Node | None = YAML(typ="safe", pure=True).compose(text)
    parent_line = -1
    for depth, key in enumerate(path):
        if not isinstance(node, MappingNode):
            return _replaced(text, node, _nested(path[depth:], value))
        found = next((pair for pair in node.value if pair[0].value == key), None)
        if found is None:
            return _inserted(text, node, parent_line, path[depth:], value)
        parent_line, node = int(found[0].start_mark.line), found[1]
    return _replaced(text, node, flow(value))


def _nested(path: tuple[str, ...], value: object) -> str:
    for key in reversed(path):
        value = {key: value}
    return flow(value)


def _replaced(text: str, node: Node | None, new: str) -> str:
    """Another value on the same spot; one that is empty has no spot of its own."""
    if not isinstance(node, ScalarNode) or node.start_mark.index == node.end_mark.index:
        return text  # found out by the check that follows
    return text[: node.start_mark.index] + new + text[node.end_mark.index :]


def _inserted(
    text: str, node: MappingNode, parent_line: int, path: tuple[str, ...], value: object
) -> str:
    """Right below the key that holds the map, so that comments stay above what they explain."""
    entry = f"{path[0]}: {_nested(path[1:], value)}"
    if node.flow_style:
        end = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return text[:end].rstrip(" ,") + comma + entry + text[end:]
    lines = text.split("\n")
    indent = " " * int(node.value[0][0].start_mark.column)
    lines.insert(parent_line + 1, f"{indent}{entry}")
    return "\n".join(lines)
