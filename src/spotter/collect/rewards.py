"""The learner's reward and its terms: weights, shaping, counts, normalisation.

One mixer serves all envs, in the main process: visit counts and return statistics are shared
between envs whatever back-end steps them, and weights can follow schedules. Scores never pass
through here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spotter.collect.counts import Counts, as_arrays, from_arrays
from spotter.collect.rarity import Rarity
from spotter.config import CountConfig, RewardConfig, SignalConfig
from spotter.envs.backends.slices import Buffers
from spotter.envs.signals import Kind
from spotter.types import Progress, UserError

Doubles = npt.NDArray[np.float64]


class RewardMixer:
    """Turns environment rewards and signal readings into the learner's reward."""

    def __init__(self, config: RewardConfig, kinds: Sequence[Kind], count: int) -> None:
        assert len(kinds) == len(config.signals)
        self.names = ("env", *(signal.name for signal in config.signals))
        self._config = config
        self._kinds = kinds
        self._potential = np.zeros((count, len(kinds)))
        self._counts = {
            i: Counts(_counting(config.signals[i]), count)
            for i, kind in enumerate(kinds)
            if kind == "cell"
        }
        """By the column of their signal."""
        self._rarities = {
            i: Rarity(count)
            for i, signal in enumerate(config.signals)
            if _has_rarity(signal, kinds[i])
        }
        self.scaler = ReturnScaler(count) if config.normalize else None

    def retune(self, config: RewardConfig) -> None:
        """Use other weights of the same signals from now on."""
        self._config = config

    def reset(self, buffers: Buffers) -> None:
        """All envs begin a new episode."""
        self._potential[...] = buffers.signals_start
        for row in range(len(self._potential)):
            self._begin(row, buffers)
        if self.scaler is not None:
            self.scaler.restart()

    @property
    def visits(self) -> list[dict[int, int]]:
        """Of every signal, how often each cell was visited since the start."""
        return [self._counts[i].run if i in self._counts else {} for i in range(len(self._kinds))]

    def weights(self, progress: Progress) -> dict[str, float]:
        """The weight of every part now: `weight` for the environment's own, then by name."""
        config = self._config
        return {
            "weight": config.weight.at(progress),
            **{signal.name: signal.weight.at(progress) for signal in config.signals},
        }

    def mix(
        self,
        buffers: Buffers,
        gamma: float,
        progress: Progress,
        active: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Doubles, Doubles]:
        """The reward [N] of this step, and its weighted parts [N, parts] before scale and clip."""
        config = self._config
        if not self._kinds:
            reward = config.weight.at(progress) * buffers.reward
            parts = reward[:, None]
            if active is not None:
                reward[~active] = 0.0
        else:
            parts = self._parts(buffers, gamma, progress, active)
            reward = parts.sum(axis=1)
        if self.scaler is not None:
            ended = buffers.terminated | buffers.truncated | buffers.lost
            reward = self.scaler.scale(reward, ended, gamma, active)
        if config.scale != 1.0:
            reward = reward * config.scale
        if config.clip is not None:
            reward = reward.clip(-config.clip, config.clip)
        return reward, parts

    def _parts(
        self,
        buffers: Buffers,
        gamma: float,
        progress: Progress,
        active: npt.NDArray[np.bool_] | None,
    ) -> Doubles:
        """[N, parts]: the environment's own reward and every signal, weighted."""
        ended = buffers.terminated | buffers.truncated | buffers.lost
        parts = np.empty((len(buffers.reward), len(self.names)))
        parts[:, 0] = self._config.weight.at(progress) * buffers.reward
        for i, signal in enumerate(self._config.signals):
            amount = self._amount(i, buffers, gamma, active)
            parts[:, 1 + i] = signal.weight.at(progress) * amount
        self._potential[...] = np.where(ended[:, None], buffers.signals_start, buffers.signals)
        for row in np.flatnonzero(ended) if self._counts or self._rarities else ():
            self._begin(int(row), buffers)
            for rarity in self._rarities.values():
                rarity.end(int(row), not buffers.lost[row])
        if active is not None:
            parts[~active] = 0.0
        return parts

    def state(self) -> dict[str, object]:
        """The state a mixer is restored from."""
        return {
            "names": list(self.names),
            "potential": self._potential.copy(),
            "visits": [as_arrays(cells) for cells in self.visits],
            "episodes": [
                [as_arrays(cells) for cells in counts.episodes] for counts in self._counts.values()
            ],
            "rarities": {str(i): rarity.state() for i, rarity in self._rarities.items()},
            "scaler": None if self.scaler is None else dict(vars(self.scaler)),
        }

    def restore(self, state: Mapping[str, Any], begun: Sequence[int]) -> None:
        """Restore `state()`; the envs in `begun` have started new episodes since.

        With other signals than before, their counts and potentials restart.
        """
        going_on = [row for row in range(len(self._potential)) if row not in set(begun)]
        if state["names"] == list(self.names):
            for i, counts in self._counts.items():
                counts.run = from_arrays(state["visits"][i])
            for counts, episodes in zip(
                self._counts.values(), state.get("episodes", ()), strict=False
            ):
                for row in going_on:
                    counts.episodes[row] = from_arrays(episodes[row])
            for i, rarity in self._rarities.items():
                if str(i) in state.get("rarities", {}):
                    rarity.restore(state["rarities"][str(i)], going_on)
            if going_on:
                self._potential[going_on] = state["potential"][going_on]
        if self.scaler is not None and state["scaler"] is not None:
            returns = self.scaler.returns
            vars(self.scaler).update(state["scaler"], returns=returns)
            if going_on:
                returns[going_on] = state["scaler"]["returns"][going_on]

    def _amount(
        self, i: int, buffers: Buffers, gamma: float, active: npt.NDArray[np.bool_] | None
    ) -> Any:
        reading = buffers.signals[:, i]
        if self._kinds[i] == "potential":
            # A terminal state has no future, so its potential is 0 (Ng et al., 1999).
            return gamma * np.where(buffers.terminated, 0.0, reading) - self._potential[:, i]
        if self._kinds[i] == "cell":
            bonus = np.zeros(len(reading))
            for row in range(len(reading)):
                if active is None or active[row]:
                    bonus[row] = self._counts[i].visit(row, int(reading[row]))
            return bonus
        if i in self._rarities:
            return self._rarities[i].scaled(reading.astype(np.float64), active)
        return reading

    def _begin(self, row: int, buffers: Buffers) -> None:
        """An env has begun an episode, which its counts begin with."""
        for i, counts in self._counts.items():
            counts.begin(row, int(buffers.signals_start[row, i]))


def _counting(signal: SignalConfig) -> CountConfig:
    """How the cells of a signal are counted: over the run, where it does not say."""
    if isinstance(signal, CountConfig):
        return signal
    return CountConfig(source=signal.source, name=signal.name)


def _has_rarity(signal: SignalConfig, kind: Kind) -> bool:
    if signal.rarity and kind != "sum":
        words = {"potential": "is a potential", "cell": "counts visits"}[kind]
        raise UserError(
            f"reward signal {signal.name}: rarity is for signals that add up, and "
            f"{signal.source} {words}"
        )
    return signal.rarity


class ReturnScaler:
    """Divides rewards by the running standard deviation of discounted returns.

    The mean is left alone, so no reward changes its sign. An env's return restarts when its
    episode ends for whatever reason.
    """

    def __init__(self, count: int) -> None:
        self.returns = np.zeros(count)
        self.mean = 0.0
        self.var = 1.0
        self.count = 0.0

    def restart(self) -> None:
        self.returns[:] = 0.0

    def scale(
        self,
        reward: Doubles,
        ended: npt.NDArray[np.bool_],
        gamma: float,
        active: npt.NDArray[np.bool_] | None,
    ) -> Doubles:
        playing = np.ones(len(reward), np.bool_) if active is None else active
        self.returns[playing] = self.returns[playing] * gamma + reward[playing]
        self._learn(self.returns[playing])
        self.returns[ended] = 0.0
        return reward / math.sqrt(self.var + 1e-8)

    def _learn(self, sample: Doubles) -> None:
        size = len(sample)
        if not size:
            return
        total = self.count + size
        delta = float(sample.mean()) - self.mean
        between = delta * delta * self.count * size / total
        self.var = (self.var * self.count + float(sample.var()) * size + between) / total
        self.mean += delta * size / total
        self.count = total
