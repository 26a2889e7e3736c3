"""A demonstration that training starts from: a list of actions, and how episodes move back in it.

It is written out in the config, so a run needs no other file; `spotter train --demo` fills it in.
"""

import re
from itertools import groupby
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from spotter.config.base import Settings, Whole

_PIECE: Final = re.compile(r"(\d{1,4})\*([1-9]\d{0,6})")
_MOST: Final = 1_000_000


def written(actions: list[int]) -> str:
    """`[3, 3, 3, 0]` as `3*3 0*1`."""
    return " ".join(f"{action}*{len(list(same))}" for action, same in groupby(actions))


def read(text: str) -> list[int]:
    """The actions that `written` wrote."""
    found: list[int] = []
    for word in text.split():
        piece = _PIECE.fullmatch(word)
        if piece is None:
            raise ValueError(f"actions are written ACTION*TIMES, as in 3*16 0*2, not {word!r:.40}")
        if len(found) + int(piece[2]) > _MOST:
            raise ValueError(f"a demonstration has at most {_MOST:,} actions")
        found += [int(piece[1])] * int(piece[2])
    if not found:
        raise ValueError("a demonstration has at least one action")
    return found


def _checked(text: str) -> str:
    read(text)
    return text


class DemoConfig(Settings):
    """What is imitated, and where training episodes begin; evaluation always plays the whole game.

    After a success an env begins its next episode earlier, after a failure later.
    """

    actions: Annotated[str, AfterValidator(_checked)] = Field(
        description="Of the bare game, as ACTION*TIMES: 3*16 0*2 is sixteen times 3, twice 0."
    )
    score: float = Field(gt=0, description="What they reach in the game without chance.")
    seed: Whole = Field(1, ge=0, lt=2**31, description="Of the game they were found in.")
    back: float = Field(
        0.01,
        gt=0,
        le=1,
        description="A success moves an env's start back by this share of the demonstration.",
    )
    success: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="Starts stay where this share of episodes succeeds: failures move them on.",
    )
    extra: Whole = Field(
        50, ge=0, description="Actions an episode may take beyond those of the demonstration."
    )
    clone: Whole = Field(
        0, ge=0, description="Passes of imitation (behaviour cloning) before the first update."
    )

    @property
    def sequence(self) -> list[int]:
        return read(self.actions)
