"""Synthetic rows of a healthy run, to be spoilt one number at a time."""

import itertools
from collections.abc import Callable, Sequence

from spotter.diagnose.alerts import Alert, Facts, Watcher
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.types import Episode

CATALOGUE = Catalogue(common.METRICS)
DISCRETE = Facts(action_kind="discrete", action_count=2, clips=True, threshold=475.0)
BOX = Facts(action_kind="box", action_dims=2, clips=True, threshold=200.0)
HEALTHY = {
    "train/score": 20.0,
    "policy/entropy": 0.65,
    "policy/kl": 0.008,
    "policy/approx_kl": 0.01,
    "policy/clip_fraction": 0.12,
    "value/explained_variance": 0.8,
    "return/mean": 20.0,
    "return/std": 5.0,
    "loss/value": 1.0,
    "grad/norm": 2.0,
    "net/dead_units": 0.0,
    "action/mean": 0.5,
    "action/std": 0.5,
    "obs/std": 1.0,
    "rollout/lost": 0.0,
    "hp/algo.lr": 1e-3,
    "hp/algo.clip": 0.2,
    "hp/algo.max_grad_norm": 0.5,
    "time/fps": 3000.0,
}
BOX_HEALTHY = HEALTHY | {
    "policy/entropy": 2.8,
    "policy/std": 1.0,
    "action/mean": 0.0,
    "action/std": 1.0,
}


def episodes(score: float, n: int = 5, reward: float | None = None) -> list[Episode]:
    """Around a score, always with the same spread of about a tenth of it."""
    wobble = itertools.cycle((-0.15, -0.05, 0.0, 0.05, 0.15))
    paid = score if reward is None else reward
    return [
        Episode(0, score + (abs(score) + 1) * w, 10, True, paid + (abs(paid) + 1) * w)
        for w, _ in zip(wobble, range(n), strict=False)
    ]


class Feed:
    """Hands rows to a watcher, a thousand env steps each, and remembers what it said."""

    def __init__(self, facts: Facts = DISCRETE, ignore: Sequence[str] = ()) -> None:
        self.watcher = Watcher(facts, CATALOGUE, ignore)
        self.base = BOX_HEALTHY if facts.action_kind == "box" else HEALTHY
        self.update = 0
        self.env_steps = 0
        self.alerts: tuple[Alert, ...] = ()

    def rows(
        self,
        n: int,
        changes: dict[str, float] | None = None,
        *,
        score: float | Callable[[int], float] = 20.0,
        reward: Callable[[int], float] | None = None,
        env_steps: int = 1000,
        played: int = 5,
    ) -> "Feed":
        """n more rows; `score` and `reward` may be functions of the update."""
        for _ in range(n):
            self.update += 1
            self.env_steps += env_steps
            now = score(self.update) if callable(score) else score
            paid = reward(self.update) if reward else None
            self.alerts = self.watcher.see(
                self.base | {"train/score": now} | (changes or {}),
                self.update,
                self.env_steps,
                episodes(now, played, paid),
            )
        return self

    @property
    def active(self) -> set[str]:
        return {alert.id for alert in self.alerts}

    @property
    def fired(self) -> set[str]:
        return {count.last.id for count in self.watcher.counts()}

    def saw(self, name: str) -> str:
        return next(count.last.saw for count in self.watcher.counts() if count.last.id == name)
