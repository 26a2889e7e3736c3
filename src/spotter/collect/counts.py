"""Visit counts of cells, over a whole run and within episodes, as a reward for what is rare.

Within an episode the state it begins in counts as visited, so that going back there is nothing new.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.config import CountConfig

Cells = dict[int, int]
"""Visits by cell."""

_BONUS: Final[dict[str, Callable[[int], float]]] = {
    "sqrt": lambda visits: 1 / math.sqrt(visits),
    "inverse": lambda visits: 1 / visits,
    "first": lambda visits: float(visits == 1),
}


class Counts:
    """The visits one signal reports, and what they are worth."""

    def __init__(self, config: CountConfig, envs: int) -> None:
        self._bonus = _BONUS[config.bonus]
        self._keeps_run = config.scope != "episode"
        self.keeps_episode = config.scope != "run"
        self.run: Cells = {}
        self.episodes: list[Cells] = [{} for _ in range(envs)]
        self._seen = self._new = 0

    def begin(self, row: int, cell: int) -> None:
        """An env starts an episode in this cell."""
        if self.keeps_episode:
            self.episodes[row] = {cell: 1}

    def visit(self, row: int, cell: int) -> float:
        """The reward of an env that has stepped into this cell."""
        here = counted(self.episodes[row], cell) if self.keeps_episode else 1
        ever = counted(self.run, cell) if self._keeps_run else here
        self._seen += 1
        self._new += ever == 1
        if not self._keeps_run:
            return self._bonus(here)
        return self._bonus(ever) if here == 1 else 0.0

    def report(self) -> dict[str, float]:
        """Since the last call: the share of steps into new cells; and all cells there are."""
        share = self._new / max(1, self._seen)
        self._seen = self._new = 0
        cells = len(self.run) if self._keeps_run else np.mean([len(c) for c in self.episodes])
        return {"new": share, "cells": float(cells)}


def counted(cells: Cells, cell: int) -> int:
    """Visits, this one included."""
    visits = cells[cell] = cells.get(cell, 0) + 1
    return visits


def as_arrays(cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.array(list(cells), np.int64), np.array(list(cells.values()), np.int64)


def from_arrays(data: Sequence[Any]) -> Cells:
    cells, visits = data
    return dict(zip(cells.tolist(), visits.tolist(), strict=True))
