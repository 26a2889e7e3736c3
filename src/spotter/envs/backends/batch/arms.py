"""Our bandit for many envs at once: envs/families/bandit.py without its image."""

from typing import Any, ClassVar

import numpy as np

from spotter.envs.backends.batch.world import World
from spotter.envs.backends.buffers import Bools, Buffers


class Arms(World):
    """State: pulls of this episode."""

    info_keys: ClassVar[tuple[str, ...]] = ("regret",)

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((1, len(buffers.reward)), np.int64))
        self._means = game.means
        self._regrets = game.means.max() - game.means
        self._pulls = np.full(self.count, game.pulls)

    def start(self, row: int) -> None:
        self.state[:, row] = self.buffers.obs["obs"][row] = 0

    def advance(self, active: Bools | None) -> None:
        buffers, std = self.buffers, self.game.std
        means = self._means.take(buffers.action).tolist()
        rows = range(self.count) if active is None else np.flatnonzero(active).tolist()
        for row in rows:  # one by one: a normal number takes as many draws as it takes
            buffers.reward[row] = self._streams[row].normal(means[row], std)
        self.info[0] = self._regrets.take(buffers.action)
        self.state += 1
        np.greater_equal(self.state[0], self._pulls, buffers.terminated)
