"""The learner's reward: the environment's own, signals of single envs, and how they are mixed."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, SerializeAsAny, model_validator

from spotter.config.base import Settings, Whole
from spotter.config.plugin import Plugin, picked
from spotter.schedules import Schedule, constant


class SignalConfig(Plugin):
    """One named extra reward; see envs/rewards/."""

    plugin_kind: ClassVar[str] = "signals"
    picked_by: ClassVar[str] = "source"

    name: str = Field("", description="What you call it in charts; the source if left out.")
    source: str = Field(description="Which signal: a file in envs/rewards/.")
    weight: Schedule = Field(constant(1.0), description="What its values are multiplied by.")
    rarity: bool = Field(
        False,
        description=(
            "Divide by how much of it the last 100 episodes had on the mean, 0.01 at the least: "
            "rare events are worth more. For signals that add up."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _named_after_source(cls, data: object) -> Any:
        if isinstance(data, dict) and "source" in data:
            return {"name": data["source"], **data}
        return data


class CountConfig(SignalConfig):
    """A signal of kind `cell`, and what its visits are worth; see collect/counts.py."""

    scope: Literal["run", "episode", "both"] = Field(
        "run",
        description=(
            "run: visits by all envs since the start; episode: visits in the env's present "
            "episode; both: as run, but only a cell's first visit in an episode counts."
        ),
    )
    bonus: Literal["sqrt", "inverse", "first"] = Field(
        "sqrt", description="1/√visits, 1/visits, or 1 for the first visit and 0 afterwards."
    )


class IntrinsicConfig(Plugin):
    """A learnt reward for what is new, with a critic of its own; see explore/rewards/."""

    model_config = ConfigDict(populate_by_name=True)
    plugin_kind: ClassVar[str] = "intrinsic"
    is_bare: ClassVar[bool] = True

    weight: Schedule = Field(
        constant(0.5), description="What its advantage is multiplied by, beside that of the reward."
    )
    gamma: float = Field(0.99, ge=0, lt=1, description="Its discount.")
    lambda_: float = Field(
        0.95, ge=0, le=1, alias="lambda", description="Of generalised advantage estimation."
    )
    episodic: bool = Field(
        False, description="Whether it ends with the episode; otherwise it counts beyond."
    )
    lr: float = Field(1e-3, gt=0, description="Learning rate of its networks.")
    epochs: Whole = Field(1, ge=1, description="Passes over a rollout.")
    minibatches: Whole = Field(4, ge=1, description="Gradient steps a pass.")
    critic: Whole = Field(128, ge=1, description="Units of the hidden layer of its critic.")


AnySignal = Annotated[SerializeAsAny[SignalConfig], picked(SignalConfig)]
AnyIntrinsic = Annotated[SerializeAsAny[IntrinsicConfig], picked(IntrinsicConfig)]


class RewardConfig(Settings):
    """The learner's reward: weight · env reward + weighted signals, then scale, clip."""

    weight: Schedule = Field(constant(1.0), description="Weight of the environment's own reward.")
    signals: tuple[AnySignal, ...] = Field(
        (), strict=False, description="Named extra rewards; `spotter list signals`."
    )
    intrinsic: tuple[AnyIntrinsic, ...] = Field(
        (), strict=False, description="Learnt rewards for what is new; `spotter list intrinsic`."
    )
    normalize: bool = Field(
        False, description="Divide by the running std of discounted returns (mean untouched)."
    )
    scale: float = Field(1.0, gt=0, description="Multiplies the sum, before clip.")
    clip: float | None = Field(None, gt=0, description="Clip to ±clip, after everything else.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [part.name for part in (*self.signals, *self.intrinsic)]
        for name in names:
            if names.count(name) > 1 or name == "env":
                raise ValueError(f"two reward parts are called '{name}'; give one another `name`")
        return self
