"""How values and lists appear inside an error sentence: as the user would write them, and short."""

import json
from collections.abc import Mapping, Sequence

_LONGEST = 60


def shown(value: object) -> str:
    """A value as YAML in one line: text in quotes, `null`, `true`; long ones are cut."""
    text = _flow(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_flow(inner) for inner in value)}]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(value)


def listed(words: Sequence[str], last: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
