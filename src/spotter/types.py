"""The glossary: the few values that cross module borders.

env step      one action in one environment; budgets and charts count these
vector step   one call that steps every env once (= env steps / envs)
rollout       the [T, N] block of transitions one update learns from
update        collect one rollout, learn from it: what `Training.step()` does
score         raw, unshaped return of a full episode; decides "solved" and "best"
reward        what the learner sees: weighted, shaped, scaled, clipped

No torch here: run readers, the command line and servers import this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from spotter.intervals import Interval, interval

if TYPE_CHECKING:
    from gymnasium.spaces import Space

Array = npt.NDArray[np.generic]
Obs = dict[str, Array]
"""One array per observation leaf, first axis = environment. Plain spaces use `obs`."""


class Numbers(Protocol):
    """A tensor, or an array where NumPy computes: what both can do."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, indices: Any, /) -> Self: ...
    def __setitem__(self, indices: Any, numbers: Any, /) -> None: ...
    def __add__(self, other: Self | float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def mean(self) -> Self | float: ...
    def reshape(self, shape: tuple[int, ...], /) -> Self: ...


CERTIFICATE_FORMAT: Final = 2
"""Of score.json: since 2, scores and seeds are in the same order, one seed per episode."""


class UserError(ValueError):
    """A mistake the user can fix: one sentence saying what, where, and the nearest valid thing."""


class NoMatchError(UserError):
    """A search that found nothing, which is an answer and no mistake: exit code 0."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training is; what schedules are evaluated at."""

    env_steps: int
    budget: int | None

    @property
    def fraction(self) -> float:
        return min(1.0, self.env_steps / self.budget) if self.budget else 0.0


@dataclass(frozen=True, slots=True)
class Leaf:
    """One flattened piece of an observation, as the policy receives it."""

    kind: Literal["vector", "image", "discrete", "multi_discrete", "binary"]
    shape: tuple[int, ...]
    dtype: str
    nvec: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """The action space as heads see it. Box actions live in [-1, 1] wherever a bound is finite."""

    kind: Literal["discrete", "multi_discrete", "binary", "box"]
    shape: tuple[int, ...]
    nvec: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        return "float32" if self.kind == "box" else "int64"

    @property
    def mask_size(self) -> int:
        """Length of a valid-action mask; 0 where masks make no sense."""
        return {"box": 0, "binary": self.shape[0] if self.shape else 0}.get(
            self.kind, sum(self.nvec)
        )


@dataclass(frozen=True, slots=True)
class EnvSpaces:
    """What the environment itself takes and gives, after its wrappers; see envs/spaces.py."""

    observation: "Space[Any]"
    action: "Space[Any]"


@dataclass(frozen=True, slots=True)
class Spaces:
    """What a policy is built from."""

    observation: Mapping[str, Leaf]
    action: ActionSpec
    env: EnvSpaces | None = field(default=None, compare=False)
    """The other side of the border; None in checkpoints written before it was kept."""


@dataclass(frozen=True, slots=True)
class EnvInfo:
    """What a family knows about an environment that Gymnasium does not say."""

    description: str = ""
    action_names: tuple[str, ...] = ()
    observation_names: tuple[str, ...] = ()
    score_range: tuple[float, float] | None = None
    score_is_bounded: bool = False
    """Whether no episode can score outside of `score_range`; else it is what usually happens."""
    threshold: float | None = None
    keys: Mapping[str, int] = field(default_factory=dict)
    """Keyboard key -> action, for a person at the controls."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode, as the environment side saw it."""

    env: int
    score: float
    length: int
    terminated: bool
    reward: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    """Sum of each weighted reward part, by name; they add up to `reward` before scale and clip."""
    info: Mapping[str, float] = field(default_factory=dict)
    """Every numeric `info` key of the environment: `<key>/mean` over the steps, `<key>/last`."""


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """An env's latest steps, with which a fresh one can be brought to the same state."""

    start: Mapping[str, Any]
    """The env's plain attributes and random streams before the reset; empty where unknown."""
    seed: int | None
    """What `reset` was called with."""
    actions: tuple[Array, ...]
    """As they stood in the buffers, one per step."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An environment that failed and was replaced."""

    env: int
    """Its row in the buffers."""
    kind: Literal["raised", "hung", "died", "not finite"]
    text: str
    """One sentence: which env, seed, step, last actions, and what happened."""
    traceback: str
    replay_log: ReplayLog | None


@dataclass(frozen=True, slots=True)
class Update:
    """What one `Training.step()` did."""

    index: int
    env_steps: int
    new_env_steps: int
    """Of this update alone."""
    vector_steps: int
    metrics: Mapping[str, float]
    episodes: tuple[Episode, ...]
    seconds: Mapping[str, float]
    """Wall time by stage: env, policy, transfer, learn."""


SeedSet = Literal["eval", "confirm", "test"]
"""Held-out seeds: `eval` ranks weights, `confirm` decides close calls, `test` gives the score."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The score of one fixed set of weights on held-out seeds.

    What is a tuple by episode (`scores`, `lengths`, `env_seeds` …) is in one order.
    """

    env_steps: int
    scores: tuple[float, ...]
    lengths: tuple[int, ...]
    threshold: float | None
    seeds: SeedSet
    deterministic: bool
    truncated: tuple[bool, ...] = ()
    """Which episodes a time limit cut."""
    stalled: tuple[bool, ...] = ()
    """Which of these earned nothing in the second half: a policy that goes in circles."""
    env_seeds: tuple[int | None, ...] = ()
    """What each episode was reset with; None if its env failed and was replaced on the way."""
    fingerprint: str = ""
    """Of the game: id, settings, wrappers; see envs/fingerprint.py."""
    protocol: str = ""
    """The name of its settings, and which of them were changed; empty if they have none."""
    versions: Mapping[str, str] = field(default_factory=dict)
    first_actions: tuple[Array, ...] = ()
    """Actions of the first episodes, a row per step: enough to replay and film them."""
    seconds: float = 0.0
    faults: tuple[Fault, ...] = ()
    """Envs that failed meanwhile; their episodes were restarted."""
    parts: int = 1
    """How many calls of `Evaluator.run` these episodes are from."""

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))

    @property
    def interval(self) -> Interval:
        """Of the mean score, over these episodes."""
        return interval(self.scores)

    @property
    def solved(self) -> bool:
        return self.threshold is not None and self.score >= self.threshold

    def certificate(self) -> dict[str, Any]:
        """What is stored of it: which episodes, played how, gave which score."""
        return {
            "format": CERTIFICATE_FORMAT,
            "score": self.score,
            "interval": self.interval.half,
            "seeds": self.seeds,
            "episodes": len(self.scores),
            "parts": self.parts,
            "deterministic": self.deterministic,
            "threshold": self.threshold,
            "solved": self.solved,
            "env_steps": self.env_steps,
            "scores": list(self.scores),
            "lengths": list(self.lengths),
            "truncated": list(self.truncated),
            "stalled": list(self.stalled),
            "env_seeds": list(self.env_seeds),
            "fingerprint": self.fingerprint,
            "protocol": self.protocol,
            "versions": dict(self.versions),
        }

    @classmethod
    def from_certificate(cls, written: Mapping[str, Any]) -> "Evaluation":
        """Without actions and faults, which are not stored. Older formats lack entries."""
        tuples = ("scores", "lengths", "truncated", "stalled", "env_seeds")
        plain = ("env_steps", "threshold", "seeds", "deterministic", "fingerprint", "protocol")
        entries: dict[str, Any] = {name: tuple(written.get(name) or ()) for name in tuples}
        entries |= {name: written[name] for name in (*plain, "parts") if name in written}
        entries["scores"] = tuple(map(float, entries["scores"]))
        entries["lengths"] = tuple(map(int, entries["lengths"]))
        return cls(**entries, versions=dict(written.get("versions") or {}))
