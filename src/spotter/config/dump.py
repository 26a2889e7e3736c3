"""A resolved config as YAML: one line per setting, so that each line can carry its origin.

Schedules and other small maps stand in braces on the line of their key. What is written here reads
back as the very same data.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from spotter.config.tree import Path

# Text that YAML 1.2 reads back as itself without quotes, in block and in flow style.
_PLAIN: Final = re.compile(r"[A-Za-z_][\w./-]*(?:[ :][\w./-]+)*", re.ASCII)
_WORDS: Final = {"true", "false", "null"}
_WIDEST: Final = 60

Origin = Callable[[Path], str]


def to_yaml(data: Mapping[str, object], origin: Origin | None = None) -> str:
    """Sections as blocks, settings one per line; with `origin`, each followed by `# from …`."""
    lines = list(_lines(data))
    if origin is None:
        return "".join(f"{text}\n" for text, _ in lines)
    width = min(_WIDEST, max((len(text) for text, path in lines if path), default=0))
    return "".join(
        f"{text:<{width}}  # from {origin(path)}\n" if path else f"{text}\n" for text, path in lines
    )


def _lines(data: Mapping[str, object]) -> Iterator[tuple[str, Path]]:
    """Each line with the path of the setting it holds; empty where it holds none."""
    for name, section in data.items():
        if isinstance(section, Mapping) and section:
            yield f"{scalar(name)}:", ()
            for key, value in section.items():
                yield from _setting(f"  {scalar(key)}:", (name, key), value)
        else:
            yield from _setting(f"{scalar(name)}:", (name,), section)


def _setting(start: str, path: Path, value: object) -> Iterator[tuple[str, Path]]:
    """Maps in a list get a line each; everything else stays on the line of its key."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        yield start, path
        for item in value:
            yield f"    - {flow(item)}", ()
    else:
        yield f"{start} {flow(value)}", path


def flow(value: object) -> str:
    """Any value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(flow(item) for item in value)}]"
    return scalar(value)


def brief(value: object) -> str:
    """The same for a label: `0.001→0` instead of a linear schedule's keys."""
    if isinstance(value, Mapping) and value.keys() == {"shape", "start", "end"}:
        ends = f"{value['start']:g}→{value['end']:g}"
        return ends if value["shape"] == "linear" else f"{ends} {value['shape']}"
    return flow(value)


def scalar(value: object) -> str:
    """Numbers as Python writes them, text without quotes where YAML allows."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' * (value < 0)}.inf"
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if is_plain else _quoted(value)
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def _quoted(text: str) -> str:
    """Double quotes; what cannot be printed as YAML's own escapes (JSON's split astral ones)."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
