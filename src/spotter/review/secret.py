"""Takes a key out of what a stranger said, also where it was wrapped over lines."""

from collections.abc import Iterator
from typing import Final

_HIDDEN: Final = "(key)"
_SHORT: Final = 8
"""Below, it is a stand-in such as `ollama`, which may be a part of other words."""


def without(text: str, key: str) -> str:
    """`key` has no spaces; in the text it may have any, and signs that do not show."""
    if not key:
        return text
    shown = [place for place, char in enumerate(text) if char.isprintable() and char != " "]
    bare = "".join(text[place] for place in shown)
    pieces, done = [], 0
    for found in _places(bare, key):
        first, last = shown[found], shown[found + len(key) - 1]
        if len(key) < _SHORT and not _is_word(text, first, last):
            continue
        pieces += [text[done:first], _HIDDEN]
        done = last + 1
    return "".join([*pieces, text[done:]])


def _places(bare: str, key: str) -> Iterator[int]:
    found = bare.find(key)
    while found >= 0:
        yield found
        found = bare.find(key, found + len(key))


def _is_word(text: str, first: int, last: int) -> bool:
    around = text[max(first - 1, 0) : first] + text[last + 1 : last + 2]
    return not any(char.isalnum() for char in around)
