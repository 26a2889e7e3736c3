"""What every world has: states of all envs side by side, and each env's own random stream."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces as gs
from gymnasium.utils.seeding import np_random

from spotter.envs.backends.buffers import Bools, Buffers
from spotter.envs.scale import Scale

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]


class World(ABC):
    """N instances of one environment. `advance` writes into the buffers, for all rows.

    The caller puts resting rows back, which is why all that a step changes, apart from
    random streams, stands in `state` and the buffers.
    """

    info_keys: ClassVar[tuple[str, ...]] = ()

    def __init__(self, game: Any, buffers: Buffers, state: Numbers) -> None:
        self.game = game
        self.buffers = buffers
        self.count = len(buffers.reward)
        self.state = state
        """[values, N]"""
        self.info: Doubles = np.zeros((len(self.info_keys), self.count))
        """[keys, N]: what the step put into `info`."""
        self._streams = [np_random()[0] for _ in range(self.count)]

    def seed(self, row: int, stream: np.random.Generator) -> None:
        """An env draws from this stream from here on."""
        self._streams[row] = stream

    def stream(self, row: int) -> np.random.Generator:
        """An env's stream at the point where its next draw comes from."""
        return self._streams[row]

    def start(self, row: int) -> None:
        """Begin an episode: the game itself draws it, from this env's stream."""
        self.game.np_random = self._streams[row]
        self.buffers.obs["obs"][row] = self.game.reset()[0]
        self.state[:, row] = self.game.state

    @abstractmethod
    def advance(self, active: Bools | None) -> None:
        """One step with the actions in the buffers; resting envs draw nothing."""

    def constant(self, value: float, dtype: npt.DTypeLike = np.float64) -> Numbers:
        """[N]: arrays meet arrays in half the time they need to meet Python's numbers."""
        return np.full(self.count, value, dtype)


class Scaled:
    """A batch of policy actions in [-1, 1] as the one number each that a Box environment takes."""

    def __init__(self, space: gs.Box, count: int) -> None:
        one = Scale.between(space.low, space.high)
        self._one, self._minus_one = np.full(count, one.limit[0]), np.full(count, -one.limit[0])
        self._centre = np.full(count, one.centre[0])
        self._radius = np.full(count, one.radius[0])
        self._low, self._high = np.full(count, one.low[0]), np.full(count, one.high[0])

    def __call__(self, action: Numbers) -> Floats:
        """The arithmetic of `Scale.to_env`, in arrays made once."""
        kept = np.minimum(np.maximum(action[:, 0], self._minus_one), self._one)
        scaled = self._centre + self._radius * kept
        inside: Doubles = np.minimum(np.maximum(scaled, self._low), self._high)
        return inside.astype(np.float32)
