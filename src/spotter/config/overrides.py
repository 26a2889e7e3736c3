"""How layers become one tree: merging maps, and `key=value` edits from the command line."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spotter.config import recipes
from spotter.schedules import Schedule
from spotter.types import UserError

COMMAND_LINE: Final = "command line"
ALGO_NAME: Final = ("algo", "name")
_EXAMPLE: Final = "algo.lr=3e-4"
_NULLS: Final = ("null", "~", "Null", "NULL")
_NAMED_BY: Final = {"core": "name", "launch": "name"}
"""Sections that a bare name may stand for, and the key it then is: `core: gru`, `core.size: 8`."""
_SCHEDULE_KEYS: Final = {info.alias or name for name, info in Schedule.model_fields.items()}


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Maps merge key by key; everything else, null, lists and schedules included, replaces."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        whole = key != "kwargs" and _is_schedule(value)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not whole:
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def _is_schedule(value: object) -> bool:
    """A whole one, as opposed to `{end: 0}`, which changes a part of the one below.

    Whole schedules replace: `{points: …}` and `{start: …}` must not blend into nonsense.
    """
    if not isinstance(value, Mapping) or not {"start", "points"} & set(value):
        return False
    return set(value) <= _SCHEDULE_KEYS


def edit(tree: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, Any]:
    """A copy of the tree with one value changed; reaches into schedules as well."""
    head, *rest = path
    old = tree.get(head)
    if not rest:
        return merge(tree, {head: value})
    if isinstance(old, str) and head in _NAMED_BY:
        old = {_NAMED_BY[head]: old}
    return {**tree, head: edit(old if isinstance(old, Mapping) else {}, rest, value)}


Pairs = list[tuple[tuple[str, ...], Any]]
Override = str | Mapping[str, Any]
"""`"algo.lr=3e-4"`, `{"algo.lr": 3e-4}` or `{"algo": {"lr": 3e-4}}`."""


def parse(overrides: Sequence[Override] | Mapping[str, object], place: str = COMMAND_LINE) -> Pairs:
    """`algo.lr=3e-4` → (("algo", "lr"), 0.0003); values are YAML, never evaluated.

    `place` is where they were written, for messages.
    """
    pairs: Pairs = []
    for override in (overrides,) if isinstance(overrides, Mapping) else overrides:
        if isinstance(override, str):
            pairs.append(_parse_one(override, place))
        else:
            pairs += [(_path(key, key, place), value) for key, value in override.items()]
    return [_by_name(path, value) for path, value in pairs]


def _by_name(path: tuple[str, ...], value: object) -> tuple[tuple[str, ...], object]:
    """`algo=a2c` is short for `algo.name=a2c`."""
    return (ALGO_NAME, value) if path == ALGO_NAME[:1] and isinstance(value, str) else (path, value)


def written(pairs: Pairs) -> dict[str, object]:
    """The settings that some edits write, and no others."""
    found: dict[str, Any] = {}
    for path, value in pairs:
        found = edit(found, path, value)
    return found


def _parse_one(text: str, place: str) -> tuple[tuple[str, ...], object]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"{place}: '{text}' is not an override; write key=value, e.g. {_EXAMPLE}")
    path = _path(key.strip(), text, place)
    parsed = recipes.plain(recipes.parse(value, f"{place}: {key.strip()}", lines=False))
    if parsed is None and value.strip() not in _NULLS:
        raise UserError(
            f"{place}: '{text}' has no value; write {key.strip()}=null to switch it off"
        )
    return path, parsed


def _path(key: str, text: str, place: str) -> tuple[str, ...]:
    path = tuple(key.split("."))
    if not all(path) or any(part != part.strip() for part in path):
        raise UserError(
            f"{place}: '{text}' is not an override; write section.key=value, e.g. {_EXAMPLE}"
        )
    return path
