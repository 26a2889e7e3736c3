"""Answers a model can afford: compact JSON within a budget of tokens, saying what was cut.

Lists are what grows, so lists are what is cut; each tool says which of its lists may be, and from
which end. Numbers keep five significant digits.
"""

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp.types import CallToolResult, ContentBlock, ImageContent, TextContent

from spotter.config.tree import value_at
from spotter.pages.digest.tokens import tokens

Keep = Literal["first", "last"]
_DIGITS: Final = 5
_LONGEST_TEXT: Final = 300
_ROOM_FOR_CUT: Final = 60
_IN_TOOLS: Final = (
    (re.compile(r"\bcommand line: "), "overrides: "),
    (re.compile(r"start a new (?:run|one) with --from \S+"), "`fork` begins a new one with it"),
)
"""How sentences of the command line read where there are tools instead."""


@dataclass(frozen=True)
class Picture:
    data: bytes
    caption: str
    mime: str = "image/jpeg"


@dataclass(frozen=True)
class Answer:
    """What a tool says; `cuttable` names its lists, dotted, and the end that is worth keeping."""

    data: dict[str, Any]
    cuttable: Mapping[str, Keep] = field(default_factory=dict)
    hint: str = ""
    """How to get what was cut."""
    pictures: Sequence[Picture] = ()


def result(answer: Answer, limit: int) -> CallToolResult:
    """As the protocol wants it: the same data as text and as structure."""
    data = fitted(plain(answer.data), answer.cuttable, answer.hint, limit)
    content: list[ContentBlock] = [TextContent(type="text", text=as_text(data))]
    for picture in answer.pictures:
        if picture.caption:
            content.append(TextContent(type="text", text=picture.caption))
        encoded = base64.b64encode(picture.data).decode()
        content.append(ImageContent(type="image", data=encoded, mime_type=picture.mime))
    return CallToolResult(content=content, structured_content=data)


def mistake(sentence: str) -> CallToolResult:
    """One sentence for the model to read, which has tools and no command line."""
    text = " ".join(sentence.split())
    for pattern, words in _IN_TOOLS:
        text = pattern.sub(words, text)
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def as_text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def fitted(
    data: dict[str, object], cuttable: Mapping[str, Keep], hint: str, limit: int
) -> dict[str, object]:
    """The data with its lists shortened until it fits, and with `cut` to say so."""
    if tokens(as_text(data)) <= limit:
        return data
    shown: dict[str, tuple[int, int]] = {}
    while _size(data, shown, hint) > limit:
        name = max(cuttable, key=lambda each: tokens(as_text(_at(data, each) or "")), default=None)
        there = _at(data, name) if name else None
        if name is None or not isinstance(there, list) or not there:
            return _clipped(data, hint, limit)
        whole = shown.get(name, (0, len(there)))[1]
        kept = (
            there[: len(there) // 2] if cuttable[name] == "first" else there[-(len(there) // 2) :]
        )
        kept = kept if len(there) > 1 else []
        data = _with(data, name, kept)
        shown[name] = (len(kept), whole)
    return data | {"cut": _said(shown, hint)}


def _size(data: Mapping[str, object], shown: Mapping[str, tuple[int, int]], hint: str) -> int:
    return tokens(as_text(data)) + (tokens(_said(shown, hint)) + _ROOM_FOR_CUT if shown else 0)


def _said(shown: Mapping[str, tuple[int, int]], hint: str) -> str:
    parts = [f"{name}: {kept} of {whole} shown" for name, (kept, whole) in shown.items()]
    return "; ".join([*parts, hint] if hint else parts)


def _clipped(data: Mapping[str, object], hint: str, limit: int) -> dict[str, object]:
    """The last resort: the beginning of the text."""
    text = as_text(data)
    while text and tokens(text) + tokens(hint) + _ROOM_FOR_CUT > limit:
        text = text[: len(text) * 3 // 4]
    return {"beginning": text, "cut": f"the rest of this answer; {hint or 'ask for less'}"}


def _at(data: Mapping[str, Any], name: str) -> Any:
    return value_at(data, tuple(name.split(".")))


def _with(data: dict[str, Any], name: str, value: object) -> dict[str, object]:
    head, dot, rest = name.partition(".")
    return {**data, head: _with(data[head], rest, value) if dot else value}


def plain(value: Any) -> Any:
    """Data as JSON can hold it; numbers short, text not endless."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return short(value)
    return str(value)


def short(value: float) -> float | int | str:
    """Five significant digits: what a decision rests on, at half the tokens."""
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def clip(text: str, most: int = _LONGEST_TEXT) -> str:
    """One line, not endless."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
