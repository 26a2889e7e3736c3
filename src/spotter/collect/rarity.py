"""Rarity of events (Justesen and Risi, 2018): what happens rarely is worth more.

An amount counts as a multiple of what an episode has of it on the mean, so that a hundred steps
and one kill come to the same, and learning turns to what it cannot do yet.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

_EPISODES: Final = 100
_RAREST: Final = 0.01
"""Amount per episode: what never happened is worth 100 times what happens once in each."""


class Rarity:
    """How much of one signal recent episodes of all envs had."""

    def __init__(self, envs: int) -> None:
        self._recent: deque[float] = deque(maxlen=_EPISODES)
        self._present = np.zeros(envs)
        self._worth = 1 / _RAREST

    def scaled(self, amount: Doubles, active: npt.NDArray[np.bool_] | None) -> Doubles:
        """The amounts of one step [N], by what they are worth now."""
        self._present += np.abs(amount) if active is None else np.abs(amount) * active
        return np.asarray(amount * self._worth)

    def end(self, row: int, is_whole: bool) -> None:
        """An env's episode is over; one that failed tells nothing."""
        if is_whole:
            self._recent.append(float(self._present[row]))
            self._weigh()
        self._present[row] = 0.0

    def _weigh(self) -> None:
        mean = float(np.mean(self._recent)) if self._recent else 0.0
        self._worth = 1 / max(_RAREST, mean)

    def state(self) -> dict[str, object]:
        return {"recent": list(self._recent), "present": self._present.copy()}

    def restore(self, state: Mapping[str, Any], going_on: Sequence[int]) -> None:
        self._recent.extend(state["recent"])
        self._weigh()
        rows = list(going_on)
        self._present[rows] = state["present"][rows]
