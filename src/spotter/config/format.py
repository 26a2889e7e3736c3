"""Canonical order for recipe, family and protocol files; comments stay with the key they precede.

Works on lines, not on a re-dump, so spelling, flow style and spacing stay the author's. Lists and
maps in braces are left alone. The parsed data must be equal before and after, or nothing is done.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from spotter.config import recipes, tree
from spotter.config.layers import DEFAULT_ALGO
from spotter.config.models import Expect, RunConfig
from spotter.config.overrides import merge
from spotter.types import UserError

Order = Callable[[tuple[str, ...]], Sequence[str] | None]
"""Path of a map -> its keys in canonical order; None where the author's order stands."""

_KEEPS_BLANKS: Final = re.compile(r"[|>][0-9]?\+")


class _Line(NamedTuple):
    text: str
    verbatim: bool = False
    """Inside a text of several lines, where spaces and blank lines are data."""

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" "))


def format_text(text: str, kind: recipes.Kind, name: str = "text") -> str:
    """The same file in canonical form; idempotent. `name` is its path, which errors mention."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    data = recipes.plain(recipes.parse(text, name))
    root = YAML(typ="safe", pure=True).compose(text)
    lines = _split(text, root)
    if _is_block(root):
        lines = _Formatter(lines, _order(kind, data, Path(name))).whole_file(root)
    result = _joined(lines)
    _check_same(data, result, name)
    return result


def _check_same(data: object, result: str, name: str) -> None:
    try:
        same = recipes.plain(recipes.parse(result, name)) == data
    except UserError:
        same = False
    if not same:
        raise UserError(
            f"{name}: cannot be put in canonical order without changing its meaning; "
            "does an anchor (&) come after the alias (*) that uses it?"
        )


def _order(kind: recipes.Kind, data: Any, file: Path) -> Order:
    """Recipes: TOP_KEYS, then description, the config's own order and expect in each variant."""
    family = {"env": {"family": _family(kind, data, file)}}

    def keys_at(path: tuple[str, ...]) -> Sequence[str] | None:
        match path:
            case ():
                return recipes.KEYS[kind]
            case ("base", *rest):
                base = tree.value_at(data, ("base",))
                return _settings_at(tuple(rest), merge(family, base))
            case ("variants", _):
                return ("description", *tree.keys(RunConfig), "expect")
            case ("variants", _, "expect"):
                return tree.keys(Expect)
            case ("variants", name, *rest):
                base = tree.value_at(data, ("base",)) or {}
                below = merge(family, base)
                return _settings_at(tuple(rest), merge(below, data["variants"][name]))
        return None

    return keys_at


def _family(kind: recipes.Kind, data: Any, file: Path) -> str:
    """Whose settings may stand under `env`."""
    if kind == "family":
        return file.stem
    env_id = tree.value_at(data, ("base", "env", "id")) or recipes.name_of(file)
    with suppress(UserError):  # a broken family file is not this file's fault
        return str(data.get("family") or recipes.family_of(str(env_id)))
    return ""


def _settings_at(path: tuple[str, ...], settings: Any) -> Sequence[str] | None:
    if isinstance(tree.value_at(settings, ("algo",)), dict):
        settings = {**settings, "algo": {"name": DEFAULT_ALGO, **settings["algo"]}}
    model = tree.model_at(RunConfig, path, settings)
    return tree.keys(model) if model else None


@dataclass(frozen=True)
class _Entry:
    """One key of a block map: the comments above it, and its own lines."""

    key: str
    lead: list[_Line]
    body: list[_Line]
    gap: bool
    """Whether a blank line separates it from what comes before."""


class _Formatter:
    """Rearranges the lines of block maps, by the places the YAML parser found their keys at."""

    def __init__(self, lines: list[_Line], order: Order) -> None:
        self.lines = lines
        self.order = order

    def whole_file(self, root: MappingNode) -> list[_Line]:
        """A comment block at the top that a blank line follows belongs to the file, not a key."""
        above = self.lines[: _line(root.value[0][0])]
        ends = [n for n, line in enumerate(above) if line.is_blank or line.text[0] in "-%"]
        header = ends[-1] + 1 if ends else 0
        return [*self.lines[:header], *self._map(root, (), header, len(self.lines))]

    def _map(self, node: MappingNode, path: tuple[str, ...], begin: int, end: int) -> list[_Line]:
        """The lines from `begin` to `end`, which hold this map and nothing else, in order."""
        column = node.value[0][0].start_mark.column
        starts = [_line(key) for key, _ in node.value]
        if any(self.lines[start].indent != column for start in starts):
            return self.lines[begin:end]  # `? key` and the like: leave it alone
        entries: list[_Entry] = []
        for (key, value), start, limit in zip(node.value, starts, [*starts[1:], end], strict=True):
            stop = self._stop(_last_line(key, value, self.lines) + 1, limit, column)
            lead = self.lines[begin:start]
            kept = list(dropwhile(lambda line: line.is_blank, lead))
            body = self._body(str(key.value), value, path, start, stop)
            entries.append(_Entry(str(key.value), kept, body, gap=len(kept) < len(lead)))
            begin = stop
        return [*self._arranged(entries, path), *self.lines[begin:end]]

    def _stop(self, after: int, limit: int, column: int) -> int:
        """Comments below a value that are indented deeper than its key still belong to it."""
        stop = after
        for number in range(after, limit):
            line = self.lines[number]
            if not line.is_blank and line.indent <= column:
                break
            stop = stop if line.is_blank else number + 1
        return stop

    def _body(
        self, key: str, value: Node, path: tuple[str, ...], start: int, stop: int
    ) -> list[_Line]:
        if _is_block(value) and start < _line(value.value[0][0]) < stop:
            return [self.lines[start], *self._map(value, (*path, key), start + 1, stop)]
        return self.lines[start:stop]

    def _arranged(self, entries: list[_Entry], path: tuple[str, ...]) -> Iterator[_Line]:
        """Sorted, with blank lines where the author had them: before the second, the third …"""
        known = {key: rank for rank, key in enumerate(self.order(path) or ())}
        ranked = sorted(entries, key=lambda entry: known.get(entry.key, len(known)))
        for slot, (entry, original) in enumerate(zip(ranked, entries, strict=True)):
            if slot and original.gap:
                yield _Line("")
            yield from entry.lead
            yield from entry.body


def _line(node: Node) -> int:
    return int(node.start_mark.line)


def _is_block(node: Node | None) -> TypeGuard[MappingNode]:
    return isinstance(node, MappingNode) and not node.flow_style and bool(node.value)


def _last_line(key: Node, value: Node, lines: Sequence[_Line]) -> int:
    """The last line of an entry that holds data; the parser's own end marks run into comments."""
    if value.start_mark.index < key.start_mark.index:
        return int(key.end_mark.line)  # an alias: the node stands where its anchor is
    if isinstance(value, ScalarNode):
        if value.style in ("|", ">"):
            return _end_of_literal(value, int(key.start_mark.column), lines)
        return int(value.end_mark.line)
    assert isinstance(value, MappingNode | SequenceNode)
    if value.flow_style or not value.value:
        return int(value.end_mark.line)
    last = value.value[-1]
    inner_key, inner = last if isinstance(value, MappingNode) else (value, last)
    return _last_line(inner_key, inner, lines)


def _end_of_literal(node: ScalarNode, column: int, lines: Sequence[_Line]) -> int:
    first = last = _line(node)
    keeps_blanks = _KEEPS_BLANKS.search(lines[first].text) is not None
    for number in range(first + 1, len(lines)):
        if not lines[number].is_blank and lines[number].indent <= column:
            break
        if keeps_blanks or not lines[number].is_blank:
            last = number
    return last


def _split(text: str, root: Node | None) -> list[_Line]:
    lines = [_Line(line) for line in text.removesuffix("\n").split("\n")]
    for key, value in _entries(root):
        first, last = _line(value), _last_line(key, value, lines)
        if isinstance(value, ScalarNode) and last > first:
            lines[first : last + 1] = [_Line(line.text, True) for line in lines[first : last + 1]]
    return lines


def _entries(node: Node | None) -> Iterator[tuple[Node, Node]]:
    """Every value with its key, or with the list it stands in."""
    if isinstance(node, MappingNode):
        pairs = node.value
    elif isinstance(node, SequenceNode):
        pairs = [(node, item) for item in node.value]
    else:
        return
    for key, value in pairs:
        yield key, value
        if value.start_mark.index >= key.start_mark.index:  # aliases were seen at their anchor
            yield from _entries(value)


def _joined(lines: Sequence[_Line]) -> str:
    """No spaces at line ends, never two blank lines, one newline at the end."""
    kept: list[_Line] = []
    for line in lines:
        clean = line if line.verbatim else _Line(line.text.rstrip())
        if line.verbatim or clean.text or (kept and kept[-1].text):
            kept.append(clean)
    while kept and not kept[-1].text and not kept[-1].verbatim:
        kept.pop()
    return "".join(f"{line.text}\n" for line in kept)
