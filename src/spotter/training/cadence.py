"""When weights are evaluated, and on how many episodes: so that it stays a small part of a run.

By default evaluation may take `eval.share` of a run: half of it during training, the rest for
a policy that seems to solve the environment and for the final test. It is counted in env steps,
never in seconds: what a run does may not depend on how busy its machine is. An evaluation step of
many episodes at once costs no more than a step of training, which also learns from it.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spotter.config import RunConfig
from spotter.config.watching import FEWEST_EPISODES, FIRST_EPISODES, MOST_EPISODES
from spotter.envs.backends.batch.catalogue import is_cheap
from spotter.envs.base import episode_limit
from spotter.envs.make import UNLIMITED_CUT

CONFIRM_SHARE: Final = 0.1
"""Env steps that confirmations may take beyond their first round, as a share of training."""
_EVALUATIONS: Final = 20
"""How many the budget should have room for, rather than few of many episodes."""
_MOST_EVALUATIONS: Final = 40
_LONG: Final = 4000
"""Env steps: limits beyond are against endless episodes, and hardly ever reached."""
_LONGER: Final = 20.0
"""How many times as long as in training episodes may be: a hand of Blackjack stays short."""
_LONGER_LATER: Final = 4.0
"""… as in the evaluation before."""
_ANY_BUDGET: Final = 1_000_000
"""Env steps, where no budget says when a run ends."""
_BATCHED_ENV: Final = 3.0
_PASS: Final = 3.0
"""What a step of a batched env and a pass of learning cost, in choices of an action."""
_STATE: Final = ("next_at", "episodes", "played", "confirmed", "length")


class Plan(NamedTuple):
    """How one evaluation is made."""

    episodes: int
    confirm_steps: int = 0
    """Env steps left for confirmations."""
    test_parts: int = 1
    """The final test plays so many times as many episodes."""
    claim: int = 0
    """Episodes of a test that says solved, at least."""
    must_confirm: bool = True
    """A first round of a confirmation is played even where `confirm_steps` has no room for it."""


class Seen(NamedTuple):
    """What training has shown so far; the same in every repetition of a run."""

    env_steps: int = 0
    length: float | None = None
    """Mean length of the last training episodes; None before one has ended."""
    score: float | None = None
    """Their mean score."""


@dataclass
class Cadence:
    """Of one run. All state is restored when it is resumed."""

    config: RunConfig
    threshold: float | None
    next_at: float = 0.0
    """Env steps at which an evaluation is due at the earliest."""
    episodes: int | None = None
    """Of every evaluation, once it is known how long episodes are."""
    played: int = 0
    """Env steps of evaluations, confirmations and tests."""
    confirmed: int = 0
    """Those of confirmations."""
    length: float = 0.0
    """Mean length of the episodes evaluated last."""

    def __post_init__(self) -> None:
        self._cost = relative_cost(self.config)
        limit = episode_limit(self.config.env)
        self._limit = UNLIMITED_CUT if limit is None else limit
        self.wait_after(0)

    def is_due(self, seen: Seen) -> bool:
        """Whether the present weights are to be evaluated."""
        config = self.config.eval
        if seen.env_steps < self.next_at or not self._is_near(seen.score):
            return False
        if config.every_steps != "auto":
            return True
        episodes = self._choose(seen)
        one = episodes * self._length(seen)
        # the first is due in any case; later ones may have to be confirmed, by both policies
        more, share = (3 * one, config.share / 2) if self.played else (one, config.share)
        if self._affords(seen.env_steps, episodes, more, share):
            return True
        if self.threshold is None or seen.score is None or seen.score < self.threshold:
            return False
        return self._affords(seen.env_steps, episodes, 2 * one, config.share)  # and the test

    def plan(self, seen: Seen) -> Plan:
        """For an evaluation or test that is made now."""
        episodes = self.episodes = self._grown(self._choose(seen), seen)
        config = self.config.eval
        is_sized = config.episodes != "auto" or config.env_steps is not None
        claim = 0 if is_sized else FIRST_EPISODES
        if config.every_steps != "auto":
            confirm = int(CONFIRM_SHARE * seen.env_steps) - self.confirmed
            return Plan(episodes, confirm, 1 if is_sized else FIRST_EPISODES // episodes, claim)
        allowed = config.share * seen.env_steps / self._price(episodes)
        left, length = allowed - self.played, self._length(seen)
        if not is_sized:  # a test may follow, and episodes may be longer than they were
            episodes = max(1, min(episodes, int(left / 2 / length)))
        most_parts = 1 if is_sized else MOST_EPISODES // episodes
        confirm = int(left - allowed / 2 - episodes * length)
        parts = int(left / (episodes * length))
        return Plan(episodes, confirm, max(1, min(parts, most_parts)), claim, must_confirm=False)

    def choice(self, seen: Seen) -> str:
        """What was chosen, and from what; for people."""
        count, length = self.episodes, self._seen_length(seen)
        plays = f"evaluations play {count} episode{'' if count == 1 else 's'} each"
        return f"{plays}, now about {length:,.0f} env steps long (eval.episodes: auto)"

    def note(self, lengths: Collection[int], confirm_steps: int) -> None:
        """An evaluation, its confirmations and its test were played."""
        self.played += sum(lengths) + confirm_steps
        self.confirmed += confirm_steps
        if lengths:
            self.length = sum(lengths) / len(lengths)

    def wait_after(self, env_steps: int) -> None:
        """Weights of so many env steps were evaluated."""
        every = self.config.eval.every_steps
        if every == "auto":
            every = max(1, self._budget // _MOST_EVALUATIONS)
        self.next_at = math.inf if every is None else (env_steps // every + 1) * every
        self.next_at = max(self.next_at, self.config.eval.after_steps)

    def _is_near(self, score: float | None) -> bool:
        """Whether training has come as near to the threshold as `eval.after_score` asks."""
        after = self.config.eval.after_score
        if after is None or self.threshold is None:
            return True
        # A distance below the threshold, so that thresholds below 0 work as well.
        wanted = self.threshold - (1 - after) * abs(self.threshold)
        return score is not None and score >= wanted

    def _affords(self, env_steps: int, episodes: int, more: float, share: float) -> bool:
        return (self.played + more) * self._price(episodes) <= share * env_steps

    def _price(self, episodes: int) -> float:
        """Of a step: what one costs beside the environment is shared by those played at once."""
        return self._cost * (1 + 1 / episodes)

    def _choose(self, seen: Seen) -> int:
        config = self.config.eval
        if isinstance(config.episodes, int):
            return config.episodes
        if self.episodes is not None:
            return self.episodes
        if config.env_steps is not None:
            return max(1, round(config.env_steps / self._seen_length(seen)))
        room = self._room(seen)
        wanted = min(FIRST_EPISODES, max(FEWEST_EPISODES, room / _EVALUATIONS))
        return max(1, int(min(wanted, room)))

    def _grown(self, episodes: int, seen: Seen) -> int:
        """More, where evaluated episodes turned out short: a hand of Blackjack says little."""
        config = self.config.eval
        is_written = config.episodes != "auto" or config.env_steps is not None
        if is_written or config.every_steps != "auto" or not self.length:
            return episodes
        room = self._room(seen)
        wanted = int(min(MOST_EPISODES, room, max(FEWEST_EPISODES, room / _EVALUATIONS)))
        return wanted if wanted >= 2 * episodes else episodes

    def _room(self, seen: Seen) -> float:
        """Episodes that evaluations of the whole run may play."""
        affordable = self.config.eval.share / 2 * self._budget / self._price(FIRST_EPISODES)
        return affordable / self._longest(seen)

    def _length(self, seen: Seen) -> float:
        """What an episode will take."""
        return max(self._seen_length(seen), self.length) if self.length else self._longest(seen)

    def _longest(self, seen: Seen) -> float:
        """What episodes may become: a policy that avoids every risk may reach the limit."""
        length = max(self._seen_length(seen), self.length)
        longer = _LONGER_LATER if self.length else _LONGER
        return max(length, min(self._limit, _LONG, longer * length))

    def _seen_length(self, seen: Seen) -> float:
        if seen.length is not None:
            return max(1.0, seen.length)
        running = seen.env_steps / self.config.env.count  # none has ended yet
        return max(1.0, running) if running else float(self._limit)

    @property
    def _budget(self) -> int:
        return self.config.budget.env_steps or _ANY_BUDGET

    def state(self) -> dict[str, object]:
        return {name: vars(self)[name] for name in _STATE}

    def restore(
        self, state: Mapping[str, object], env_steps: int, changes: Collection[str]
    ) -> None:
        """Restore `state()`, with the settings that a resume changed."""
        for name in _STATE:
            setattr(self, name, state[name])
        if {"eval.every_steps", "eval.after_steps"} & set(changes):
            self.wait_after(env_steps)
        if {"eval.episodes", "eval.env_steps", "eval.share"} & set(changes):
            self.episodes = None


def upgraded(state: Mapping[str, Any], seen: Seen, episodes: int) -> Mapping[str, Any]:
    """What a loop of an earlier version saved, whose evaluations had the config's `episodes`."""
    if "cadence" in state:
        return state
    confirmed = state.get("confirm_steps", 0)
    cadence = dict.fromkeys(_STATE, 0) | {"next_at": state["next_evaluation"], "episodes": None}
    plans = [
        (at, Plan(episodes, int(CONFIRM_SHARE * at) - confirmed))
        for at in state.get("unranked", ())
    ]
    confirmed += state.get("unranked_steps", 0)
    return {
        **state,
        "cadence": cadence | {"confirmed": confirmed},
        "seen": seen,
        "plan": None,
        "unranked": plans,
    }


def relative_cost(config: RunConfig) -> float:
    """Of an evaluation step, with a step of training as 1: an upper bound from the config alone."""
    if not is_cheap(config.env):
        return 1.0  # the environment itself may be most of it
    act = 1 + _BATCHED_ENV
    return act / (act + _PASS * config.algo.work(config.env.count).passes)
