"""Settings in which two configs differ, by dotted name."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

# What the saved state was made with: it cannot be restored with another value.
_FIXED: Final = ("env.id", "env.family", "policy.", "algo.name", "algo.optimizer", "seed")

# The compute backend of the policy: another one resumes from the same weights, up to rounding.
_HOW: Final = ("policy.engine", "policy.precision")


NO_RESULT: Final = ("launch",)
"""Sections that decide where a run is trained and nothing about it: no difference between runs."""


def difference(before: Any, after: Any, path: str = "") -> dict[str, tuple[object, object]]:
    """Setting -> (before, after) over plain data; schedules and lists count as one value."""
    if not (_is_section(before) and _is_section(after)):
        return {} if before == after else {path: (before, after)}
    changes: dict[str, tuple[object, object]] = {}
    for key in dict.fromkeys((*before, *after)):
        inner = f"{path}.{key}" if path else str(key)
        if inner not in NO_RESULT:
            changes |= difference(before.get(key), after.get(key), inner)
    return changes


def fixed(changes: Iterable[str]) -> str | None:
    """The first of these settings that cannot change when a run is resumed."""
    return next((name for name in changes if name.startswith(_FIXED) and name not in _HOW), None)


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) and not {"start", "points"} & set(value)
