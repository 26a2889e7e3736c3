"""How many tokens a text is worth."""

import re
from typing import Final

_PIECES: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]|[^\sA-Za-z0-9]|\n|[^\S\n]{2,}")
_LETTERS: Final = 4


def tokens(text: str) -> int:
    """About how many tokens a language model counts; too many rather than too few.

    A digit, a sign, a line end and a stretch of blanks count one each, a word one per four letters
    begun, anything outside ASCII one per byte. Tokenizers merge more than this.
    """
    return sum(map(_worth, _PIECES.findall(text)))


def _worth(piece: str) -> int:
    if not piece.isascii():
        return len(piece.encode())
    return -(-len(piece) // _LETTERS) if piece.isalpha() else 1


def clip(text: str, most: int) -> str:
    """The beginning of a text, of at most so many tokens; `…` where it was cut."""
    if tokens(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle] + "…") <= most else (low, middle - 1)
    return text[:low] + "…"
