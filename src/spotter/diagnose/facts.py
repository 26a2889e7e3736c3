"""What alert rules know about a run beforehand, and the bounds that follow from it.

All of it comes from the config and from the spaces of the environment, nothing from training.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Limits = tuple[float, float]

BOX_WIDEST: Final = 2.0
"""Std of a number with bounds of ±1 from which on most of it is cut: 62 % around a mean of 0."""
_BOX_NARROWEST: Final = 0.05
_MEAN_OFF: Final = 0.15
"""Share of the range by which a fresh policy's mean may be off."""
_STD_OFF: Final = 0.2
_CHANCE: Final = 4.0
"""Standard errors that chance may explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rules need to know about a run; from its config and spaces."""

    action_kind: Literal["discrete", "multi_discrete", "binary", "box"]
    action_count: int | None = None
    """How many different actions there are; None for Box."""
    action_choices: tuple[int, ...] = ()
    """Choices of each component; empty for Box."""
    action_dims: int = 1
    """How many numbers a Box action has."""
    action_bounded: tuple[bool, ...] = ()
    """Which numbers of a Box action have bounds, ±1 for the policy; empty: all of them."""
    squash: bool = False
    """Whether Box actions are held within their bounds by the policy itself."""
    masked: bool = False
    """Whether some actions are invalid at times."""
    shaped: bool = False
    """Whether the learner's reward differs from the environment's own."""
    threshold: float | None = None
    score_range: Limits | None = None
    """From the least to the most an episode can score, where that is known."""
    score_is_bounded: bool = False
    """Whether no episode at all can score outside of it."""
    episode_limit: int | None = None
    """Decisions after which an episode is cut, at the latest."""
    obs_range: Limits | None = None
    """Of all numbers of an observation; None where one has no bound."""
    target_kl: float | None = None
    clips: bool = False
    """Whether the algorithm clips its objective, as PPO does."""
    single_step: bool = False
    """Whether an update is one gradient step, before which KL and clip fraction are always 0."""
    intrinsic: tuple[str, ...] = ()
    """Names of the intrinsic rewards."""
    counted: tuple[str, ...] = ()
    """Names of rewards for states that the whole run has rarely visited."""
    core: bool = False
    """Whether the policy remembers, in numbers that cannot leave ±1."""
    critic: bool = True
    """Whether values are learnt at all."""
    fresh: bool = True
    """Starts from random weights, not from those of another run."""
    images: bool = False
    lr_peak: float | None = None
    """The largest learning rate of the schedule."""
    reward_clip: float | None = None
    eval_episodes: int = 20
    greedy: bool = True
    """Whether evaluation takes the most likely action instead of sampling."""

    def components(self) -> Iterator["Component"]:
        """The parts of an action, by what is appended to the name of a metric."""
        if self.action_kind == "box":
            bounded = self.action_bounded or (True,) * self.action_dims
            for i, is_bounded in enumerate(bounded):
                yield Component(f"/{i}" if len(bounded) > 1 else "", None, is_bounded)
            return
        single = self.action_kind == "discrete" and self.action_count
        choices = self.action_choices or ((self.action_count or 1,) if single else ())
        for i, count in enumerate(choices):
            yield Component(f"/{i}" if len(choices) > 1 else "", count)


def starts_uniform(facts: Facts) -> bool:
    """Whether the first policy should be uniform over its choices, or centred in its bounds."""
    return facts.fresh and not facts.masked


def moves_by_clipping(facts: Facts) -> bool:
    """Whether KL and clip fraction say how far an update moves the policy."""
    return facts.clips and not facts.single_step


@dataclass(frozen=True, slots=True)
class Component:
    """One number or one choice of an action."""

    suffix: str
    """Of its metrics, such as `action/mean/1`; empty where it is the whole action."""
    choices: int | None
    """None for a number of a Box action."""
    bounded: bool = True

    @property
    def words(self) -> str:
        return f"component {self.suffix[1:]}" if self.suffix else "the action"

    def usual_mean(self, samples: int, std: float) -> Limits:
        """Means that the first rollout of a fresh policy may have."""
        centre = 0.0 if self.choices is None else (self.choices - 1) / 2
        span = 2.0 if self.choices is None else self.choices - 1
        off = max(_MEAN_OFF * span, _CHANCE * std / math.sqrt(max(1, samples)))
        return centre - off, centre + off

    def usual_std(self, samples: int) -> Limits:
        """Standard deviations that the first rollout of a fresh policy may have."""
        if self.choices is None:
            return _BOX_NARROWEST, BOX_WIDEST
        uniform = math.sqrt((self.choices**2 - 1) / 12)
        off = max(_STD_OFF, _CHANCE * 0.45 / math.sqrt(max(1, samples))) * uniform
        return uniform - off, uniform + off


def hard_bounds(facts: Facts) -> dict[str, Limits]:
    """Metrics and what they cannot leave if the code is right."""
    bounds: dict[str, Limits] = dict(_of_actions(facts))
    if facts.action_count is not None:
        bounds["policy/entropy"] = (0.0, math.log(facts.action_count))
    if facts.reward_clip is not None:
        bounds["rollout/reward_mean"] = (-facts.reward_clip, facts.reward_clip)
        bounds["rollout/reward_std"] = (0.0, facts.reward_clip)
    if facts.obs_range is not None:
        low, high = facts.obs_range
        bounds |= {"obs/mean": (low, high), "obs/std": (0.0, (high - low) / 2)}
    if facts.episode_limit is not None:
        bounds["train/length"] = (1.0, float(facts.episode_limit))
    if facts.score_range is not None and facts.score_is_bounded:
        names = ("train/score", "train/score_best", "train/score_last", "eval/score", "test/score")
        bounds |= dict.fromkeys(names, facts.score_range)
    return bounds


def _of_actions(facts: Facts) -> Iterator[tuple[str, Limits]]:
    for part in facts.components():
        if part.choices is not None:
            yield f"action/mean{part.suffix}", (0.0, part.choices - 1.0)
            yield f"action/std{part.suffix}", (0.0, part.choices / 2)
        elif facts.squash:
            yield f"action/mean{part.suffix}", (-1.0, 1.0)
            yield f"action/std{part.suffix}", (0.0, 1.0)
