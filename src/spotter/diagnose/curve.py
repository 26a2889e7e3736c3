"""The scores of a whole run in a few dozen buckets: where it began, its best, where it is now.

Buckets hold sums over whole numbers of episodes; when there are too many, neighbours are joined.
So memory and effort stay the same however long a run is.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from spotter.types import Episode

_FIRST_SIZE: Final = 10
_MOST_BUCKETS: Final = 64
_START_EPISODES: Final = 20
_RECENT_EPISODES: Final = 50
_QUARTER_EPISODES: Final = 100


class Stat(NamedTuple):
    """Mean and standard deviation over n episodes."""

    n: int
    mean: float
    std: float

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.std / math.sqrt(self.n)


class Bucket(NamedTuple):
    """Sums over episodes; values are taken relative to the first episode, for precision."""

    env_steps: int
    """When its last episode ended."""
    n: int
    score: float
    score_squares: float
    reward: float
    reward_squares: float

    def joined(self, later: "Bucket") -> "Bucket":
        return Bucket(
            later.env_steps,
            self.n + later.n,
            self.score + later.score,
            self.score_squares + later.score_squares,
            self.reward + later.reward,
            self.reward_squares + later.reward_squares,
        )


_EMPTY: Final = Bucket(0, 0, 0.0, 0.0, 0.0, 0.0)


class ScoreCurve:
    """Scores, and the learner's returns, over a run."""

    def __init__(self) -> None:
        self._origin: tuple[float, float] | None = None
        self._buckets: list[Bucket] = []
        self._open = _EMPTY
        self._size = _FIRST_SIZE
        self.start: Stat | None = None
        """The first episodes."""
        self.recent: Stat | None = None
        """The last episodes."""
        self.best: Stat | None = None
        """The best that `recent` has been."""
        self.quarters: tuple[Stat, Stat] | None = None
        """Scores in the third and in the fourth quarter of the run so far, by env steps."""
        self.reward_quarters: tuple[Stat, Stat] | None = None

    def add(self, episodes: Sequence[Episode], env_steps: int) -> bool:
        """Take the episodes that ended; true when the figures above have been brought up to date.

        An episode with a score or return that is not finite is left out.
        """
        good = [e for e in episodes if math.isfinite(e.score + e.reward)]
        if not good:
            return False
        if self._origin is None:
            self._origin = (good[0].score, good[0].reward)
        score0, reward0 = self._origin
        scores = [e.score - score0 for e in good]
        rewards = [e.reward - reward0 for e in good]
        added = Bucket(
            env_steps,
            len(scores),
            sum(scores),
            sum(x * x for x in scores),
            sum(rewards),
            sum(x * x for x in rewards),
        )
        self._open = self._open.joined(added)
        if self._open.n < self._size:
            return False
        self._close()
        return True

    def _close(self) -> None:
        buckets = self._buckets
        buckets.append(self._open)
        self._open = _EMPTY
        if len(buckets) == _MOST_BUCKETS:
            pairs = zip(buckets[::2], buckets[1::2], strict=True)
            buckets[:] = [left.joined(right) for left, right in pairs]
            self._size *= 2
        if self.start is None and sum(bucket.n for bucket in buckets) >= _START_EPISODES:
            self.start = self._score(buckets)
        self.recent = self._score(self._tail(_RECENT_EPISODES))
        if self.recent and (self.best is None or self.recent.mean > self.best.mean):
            self.best = self.recent
        self._divide()

    def _tail(self, episodes: int) -> list[Bucket]:
        """The fewest last buckets with so many episodes; none if there are not so many."""
        n = 0
        for i, bucket in enumerate(reversed(self._buckets), 1):
            n += bucket.n
            if n >= episodes:
                return self._buckets[-i:]
        return []

    def _divide(self) -> None:
        end = self._buckets[-1].env_steps
        third = [b for b in self._buckets if 0.5 * end < b.env_steps <= 0.75 * end]
        fourth = [b for b in self._buckets if 0.75 * end < b.env_steps]
        self.quarters = self.reward_quarters = None
        if min(sum(b.n for b in third), sum(b.n for b in fourth)) >= _QUARTER_EPISODES:
            scores = self._score(third), self._score(fourth)
            rewards = self._reward(third), self._reward(fourth)
            assert scores[0] and scores[1] and rewards[0] and rewards[1]
            self.quarters = scores[0], scores[1]
            self.reward_quarters = rewards[0], rewards[1]

    def _score(self, buckets: Iterable[Bucket]) -> Stat | None:
        origin = self._origin[0] if self._origin else 0.0
        return _stat(((b.n, b.score, b.score_squares) for b in buckets), origin)

    def _reward(self, buckets: Iterable[Bucket]) -> Stat | None:
        origin = self._origin[1] if self._origin else 0.0
        return _stat(((b.n, b.reward, b.reward_squares) for b in buckets), origin)

    def state(self) -> dict[str, object]:
        return {
            "origin": list(self._origin) if self._origin else None,
            "buckets": [list(bucket) for bucket in self._buckets],
            "open": list(self._open),
            "size": self._size,
            "start": list(self.start) if self.start else None,
            "best": list(self.best) if self.best else None,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        origin = state["origin"]
        self._origin = (origin[0], origin[1]) if origin else None
        self._buckets = [Bucket(*bucket) for bucket in state["buckets"]]
        self._open = Bucket(*state["open"])
        self._size = int(state["size"])
        self.start = Stat(*state["start"]) if state["start"] else None
        self.best = Stat(*state["best"]) if state["best"] else None
        if self._buckets:
            self.recent = self._score(self._tail(_RECENT_EPISODES))
            self._divide()


def _stat(sums: Iterable[tuple[int, float, float]], origin: float) -> Stat | None:
    n, total, squares = 0, 0.0, 0.0
    for count, part, part_squares in sums:
        n += count
        total += part
        squares += part_squares
    if n == 0:
        return None
    mean = total / n
    return Stat(n, origin + mean, math.sqrt(max(0.0, squares / n - mean * mean)))
