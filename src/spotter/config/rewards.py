"""The learner's reward: the environment's own, signals of single envs, and how they are mixed."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, model_validator

from spotter.config.base import Settings
from spotter.config.plugin import Plugin, picked
from spotter.schedules import Schedule, constant


class SignalConfig(Plugin):
    """One named extra reward; see envs/rewards/."""

    plugin_kind: ClassVar[str] = "signals"
    picked_by: ClassVar[str] = "source"

    name: str = Field("", description="What you call it in charts; the source if left out.")
    source: str = Field(description="Which signal: a file in envs/rewards/.")
    weight: Schedule = Field(constant(1.0), description="What its values are multiplied by.")

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


AnySignal = Annotated[SerializeAsAny[SignalConfig], picked(SignalConfig)]


class RewardConfig(Settings):
    """The learner's reward: weight · env reward + weighted signals, then scale, clip."""

    weight: Schedule = Field(constant(1.0), description="Weight of the environment's own reward.")
    signals: tuple[AnySignal, ...] = Field(
        (), strict=False, description="Named extra rewards; `spotter list signals`."
    )
    normalize: bool = Field(
        False, description="Divide by the running std of discounted returns (mean untouched)."
    )
    scale: float = Field(1.0, gt=0, description="Multiplies the sum, before clip.")
    clip: float | None = Field(None, gt=0, description="Clip to ±clip, after everything else.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [signal.name for signal in self.signals]
        for name in names:
            if names.count(name) > 1 or name == "env":
                raise ValueError(f"two reward parts are called '{name}'; give one another `name`")
        return self
