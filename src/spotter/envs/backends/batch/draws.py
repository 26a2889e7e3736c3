"""The numbers `Generator.random()` would give each env one by one, drawn in blocks."""

from typing import Any, Final

import numpy as np
from gymnasium.utils.seeding import np_random

from spotter.envs.backends.batch.world import Doubles
from spotter.envs.backends.buffers import Bools

_BLOCK: Final = 256


class Draws:
    """One stream of uniform numbers per env; only `random()` may ever be drawn from it."""

    def __init__(self, count: int) -> None:
        self._numbers = np.empty((count, _BLOCK))
        self._flat = self._numbers.reshape(-1)
        self._first = np.arange(count) * _BLOCK
        self._next = self._first + _BLOCK
        self._streams = [np_random()[0] for _ in range(count)]
        self._before = [stream.bit_generator.state for stream in self._streams]
        self._one = np.ones(count, np.int64)
        self._sure = 0
        """Numbers that every env has left, at least."""
        for row in range(count):
            self._refill(row)

    def seed(self, row: int, stream: np.random.Generator) -> None:
        self._streams[row] = stream
        self._refill(row)

    def stream(self, row: int) -> np.random.Generator:
        """A generator that stands where the env's next number comes from."""
        bits: Any = np.random.PCG64(0)
        bits.state = self._before[row]
        bits.advance(int(self._next[row] - self._first[row]))
        return np.random.Generator(bits)

    def take(self, active: Bools | None) -> Doubles:
        """[N]: the next number of every active env; what resting ones get means nothing."""
        if self._sure == 0:
            self._refill_all()
        self._sure -= 1
        numbers = self._flat.take(self._next)
        self._next += self._one if active is None else active
        return numbers

    def take_one(self, row: int) -> float:
        if self._left(row) == 0:
            self._refill(row)
        number = self._flat[self._next[row]]
        self._next[row] += 1
        self._sure = min(self._sure, self._left(row))
        return float(number)

    def _left(self, row: int) -> int:
        return int(self._first[row] + _BLOCK - self._next[row])

    def _refill_all(self) -> None:
        left = self._first + _BLOCK - self._next
        for row in np.flatnonzero(left == 0):
            self._refill(int(row))
            left[row] = _BLOCK
        self._sure = int(left.min())

    def _refill(self, row: int) -> None:
        self._before[row] = self._streams[row].bit_generator.state
        self._streams[row].random(out=self._numbers[row])
        self._next[row] = self._first[row]
