"""How a run is watched: evaluation, checkpoints, videos, alerts, budget."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from spotter.config.base import Settings, Whole

FEWEST_EPISODES: Final = 5
FIRST_EPISODES: Final = 20
MOST_EPISODES: Final = 100
"""Of an evaluation whose number of episodes is left to `auto`: at least, at first, at most."""


class EvalConfig(Settings):
    """When the policy is scored, on held-out seeds and the raw score."""

    every_steps: Annotated[Whole, Field(ge=1)] | Literal["auto"] | None = Field(
        "auto", description="Env steps; auto: as often as share allows; null: only at the end."
    )
    after_steps: Whole = Field(0, ge=0, description="Warm-up: none before so many env steps.")
    after_score: float | None = Field(
        None,
        gt=0,
        le=1,
        description="None before the training score has reached this fraction of the threshold.",
    )
    episodes: Annotated[Whole, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="Of one evaluation; auto: up to 100, as their length and share allow."
    )
    env_steps: Whole | None = Field(
        None, ge=1, description="Instead of episodes: as many as take about so many env steps."
    )
    share: float = Field(
        0.1,
        gt=0,
        le=1,
        description="Of a run's time, for evaluation and test, where either is auto.",
    )
    deterministic: bool = Field(True, description="Most likely action instead of sampling.")
    stop_when_solved: bool = Field(
        True, description="End training once an evaluation reaches env.threshold."
    )
    mode: Literal["inline", "async"] = Field(
        "inline", description="async: in a process of its own, on a snapshot of the weights."
    )

    @property
    def most_episodes(self) -> int:
        """That one evaluation may play at first."""
        return FIRST_EPISODES if self.episodes == "auto" else self.episodes

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if self.env_steps is not None and self.episodes != "auto":
            raise ValueError(
                "eval.env_steps and eval.episodes exclude each other; set eval.episodes to auto"
            )
        return self


class BudgetConfig(Settings):
    """When training ends if nothing else ends it first."""

    env_steps: Whole | None = Field(
        100_000, ge=1, description="Up to a whole rollout more; null: until solved or interrupted."
    )
    minutes: float | None = Field(
        None, gt=0, description="Of training, evaluation and saving, over every resume; null: any."
    )

    def __str__(self) -> str:
        steps = f"{self.env_steps:,} env steps" if self.env_steps else ""
        minutes = f"{self.minutes:g} min" if self.minutes else ""
        return " or ".join(filter(None, (steps, minutes))) or "no limit"

    def fraction(self, env_steps: int, elapsed_s: float) -> float:
        """How much of it is spent, by whichever limit is nearer; 0 without any."""
        steps = env_steps / self.env_steps if self.env_steps else 0.0
        minutes = elapsed_s / 60 / self.minutes if self.minutes else 0.0
        return min(1.0, max(steps, minutes))


class CheckpointConfig(Settings):
    """When training is saved beyond every evaluation, and what is kept."""

    every_s: float | None = Field(
        60.0, gt=0, description="Seconds between saves; null: only with evaluations and at the end."
    )
    keep: Whole | None = Field(
        0, ge=0, description="Older checkpoints kept besides best and latest; null: all."
    )


class VideoConfig(Settings):
    """Films of evaluation episodes."""

    when: Literal["end", "best", "eval"] | None = Field(
        "end", description="end: the best policy; best: each new best; eval: every evaluation."
    )
    max_s: float | None = Field(
        120.0, gt=0, description="Longest video in seconds; longer episodes are cut. null: any."
    )


class AlertsConfig(Settings):
    """What the watcher may do beyond speaking."""

    ignore: tuple[str, ...] = Field((), strict=False, description="Ids of alerts to silence.")
    actions: dict[str, Literal["stop", "snapshot", "lower_lr"]] = Field(
        {}, description="Alert id -> what to do each time it comes up; nothing unless written here."
    )


class PlateauAction(Settings):
    """One change to a schedulable setting."""

    setting: str = Field(description="Dotted name, such as algo.lr.")
    operation: Literal["multiply", "add", "set"] = Field(
        "multiply", description="What is done with value."
    )
    value: float = Field(description="The factor, the difference or the new value.")
    low: float | None = Field(None, description="Never below this.")
    high: float | None = Field(None, description="Never above this.")
    revert_if_worse: bool = Field(
        False, description="Undo it after the cooldown if the metric is not better."
    )


class PlateauConfig(Settings):
    """What to change, in turn, when a metric stops improving."""

    monitor: str = Field("train/score", description="A metric that has a better direction.")
    patience_steps: Whole = Field(ge=1, description="Env steps without improvement.")
    min_delta: float = Field(0.0, ge=0, description="What counts as improvement.")
    cooldown_steps: Whole = Field(0, ge=0, description="Env steps to wait after a change.")
    actions: tuple[PlateauAction, ...] = Field(
        strict=False, min_length=1, description="Changes, one at each plateau, in turn."
    )
