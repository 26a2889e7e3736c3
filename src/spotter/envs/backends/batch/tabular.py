"""Worlds that are one transition table: FrozenLake, CliffWalking and Taxi for many envs.

Table, start and masks are taken from one real env.
"""

from bisect import bisect_right
from typing import Any, ClassVar, Final

import numpy as np

from spotter.envs.backends.batch.draws import Draws
from spotter.envs.backends.batch.world import Numbers, World
from spotter.envs.backends.buffers import Bools, Buffers

_NEVER: Final = -1.0  # no draw lies below it


class Tabular(World):
    """State: the cell."""

    info_keys: ClassVar[tuple[str, ...]] = ("prob",)

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((1, len(buffers.reward)), np.int64))
        self._draws = Draws(self.count)
        self._starts: list[float] = np.cumsum(game.initial_state_distrib).tolist()
        cells, actions = len(game.P), len(game.P[0])
        self._actions = np.full(self.count, actions)
        table = [game.P[cell][action] for cell in range(cells) for action in range(actions)]
        self._most = max(len(outcomes) for outcomes in table)
        self._chances = np.full((len(table), self._most), _NEVER)
        for row, outcomes in enumerate(table):
            self._chances[row, : len(outcomes)] = np.cumsum([chance for chance, *_ in outcomes])
        padded = [
            outcome
            for outcomes in table
            for outcome in outcomes + [outcomes[0]] * (self._most - len(outcomes))
        ]
        prob, after, reward, ended = zip(*padded, strict=True)
        self._prob = np.array(prob, np.float64)
        self._after = np.array(after, np.int64)
        self._reward = np.array(reward, np.float64)
        self._ended = np.array(ended, np.bool_)
        self._masks = None if buffers.mask is None else _masks(game, cells)

    def seed(self, row: int, stream: np.random.Generator) -> None:
        self._draws.seed(row, stream)

    def stream(self, row: int) -> np.random.Generator:
        return self._draws.stream(row)

    def start(self, row: int) -> None:
        cell = bisect_right(self._starts, self._draws.take_one(row)) % len(self._starts)
        self.state[0, row] = self.buffers.obs["obs"][row] = cell
        if self._masks is not None and self.buffers.mask is not None:
            self.buffers.mask[row] = self._masks[cell]

    def advance(self, active: Bools | None) -> None:
        buffers, cell = self.buffers, self.state[0]
        draw = self._draws.take(active)
        outcome = cell * self._actions + buffers.action
        if self._most > 1:
            which = (self._chances.take(outcome, axis=0) > draw[:, None]).argmax(axis=1)
            outcome = outcome * self._most + which
        cell[:] = buffers.obs["obs"][:] = self._after.take(outcome)
        buffers.reward[:] = self._reward.take(outcome)
        buffers.terminated[:] = self._ended.take(outcome)
        self.info[0] = self._prob.take(outcome)
        if self._masks is not None and buffers.mask is not None:
            buffers.mask[:] = self._masks.take(cell, axis=0)


def _masks(game: Any, cells: int) -> Numbers:
    return np.array([game.action_mask(cell) for cell in range(cells)]).astype(np.bool_)
