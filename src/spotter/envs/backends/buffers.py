"""What one vector step produces, in arrays over all envs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spotter.types import Obs

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Buffers:
    """What one vector step produces. First axis = env; valid until the next call."""

    obs: Obs
    final_obs: Obs
    """True last observation; only rows that ended in this step mean anything."""
    action: npt.NDArray[Any]
    reward: Doubles
    """The environment's own reward after wrappers, before signals, scale and clip."""
    terminated: Bools
    truncated: Bools
    lost: Bools
    """The env failed and was replaced: there was no transition, `obs` begins a new episode."""
    signals: Doubles
    """[N, signals]: amounts, potentials or cells of this step."""
    signals_start: Doubles
    """[N, signals]: their values at the first observation of the current episode."""
    mask: Bools | None
    """[N, actions]: which actions are valid at `obs`."""

    def rows(self, start: int, stop: int) -> "Buffers":
        """A view of some envs."""
        cut = slice(start, stop)
        return Buffers(
            obs={key: array[cut] for key, array in self.obs.items()},
            final_obs={key: array[cut] for key, array in self.final_obs.items()},
            action=self.action[cut],
            reward=self.reward[cut],
            terminated=self.terminated[cut],
            truncated=self.truncated[cut],
            lost=self.lost[cut],
            signals=self.signals[cut],
            signals_start=self.signals_start[cut],
            mask=None if self.mask is None else self.mask[cut],
        )

    def not_finite(self, row: int) -> str | None:
        """What is no number in a row's observation and signals, as the end of a sentence."""
        for path, leaf in floats(self.obs).items():
            values = leaf[row].ravel()
            places = np.flatnonzero(~np.isfinite(values))
            if places.size:
                place = places[0]
                return f"returned an observation with {values[place]} at place {place} of {path}"
        if not np.isfinite(self.signals[row]).all():
            return f"gave reward signals of {self.signals[row].tolist()}"
        return None


def floats(obs: Obs) -> Obs:
    """The leaves that could hold something that is no number."""
    return {path: leaf for path, leaf in obs.items() if leaf.dtype.kind == "f"}
