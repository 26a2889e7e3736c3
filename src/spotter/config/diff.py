"""Settings in which two configs differ, by dotted name."""

from collections.abc import Mapping
from typing import Any


def difference(before: Any, after: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Setting -> (before, after) over plain data; schedules and lists count as one value."""
    if not (_is_section(before) and _is_section(after)):
        return {} if before == after else {path: (before, after)}
    changes: dict[str, tuple[Any, Any]] = {}
    for key in dict.fromkeys((*before, *after)):
        inner = f"{path}.{key}" if path else str(key)
        changes |= difference(before.get(key), after.get(key), inner)
    return changes


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) and not {"start", "points"} & set(value)
