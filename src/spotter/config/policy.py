"""The network's settings."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import (
    Field,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from spotter.config.base import Settings, Whole
from spotter.config.plugin import Plugin, picked_or_null
from spotter.schedules import Schedule, constant, within
from spotter.types import Progress

AUTO: Final = "auto"


class EncoderConfig(Plugin):
    """An image encoder with settings of its own; see policy/encoders/."""

    plugin_kind: ClassVar[str] = "nets"
    is_bare: ClassVar[bool] = True


class CoreConfig(Plugin):
    """A memory with settings of its own; see policy/cores/."""

    plugin_kind: ClassVar[str] = "cores"
    is_bare: ClassVar[bool] = True


def _named(data: object, handler: ValidatorFunctionWrapHandler) -> object:
    """A name stays one, once it is known; a map is validated by the encoder it names."""
    if data == AUTO or isinstance(data, EncoderConfig):
        return handler(data)
    section = {EncoderConfig.picked_by: data} if isinstance(data, str) else data
    found = EncoderConfig.chosen(section).from_data(section)
    return data if isinstance(data, str) else found


AnyEncoder = Annotated[str | SerializeAsAny[EncoderConfig], WrapValidator(_named)]


AnyCore = Annotated[SerializeAsAny[CoreConfig] | None, picked_or_null(CoreConfig)]


class PolicyConfig(Settings):
    """The network: encoder per observation leaf, trunk, heads."""

    encoder: AnyEncoder = Field(
        AUTO, description="For images; auto picks by size. A name, or a map with its settings."
    )
    hidden: tuple[Whole, ...] | None = Field(
        None, strict=False, description="Trunk layer widths; null: [64, 64], or [512] for images."
    )
    activation: Literal["tanh", "relu", "elu", "gelu", "silu"] | None = Field(
        None, description="null: tanh, or relu for images."
    )
    core: AnyCore = Field(
        None, description="A memory behind the trunk: gru, lstm, or a map with its settings."
    )
    predict_obs: Annotated[Schedule, within(0)] = Field(
        constant(0.0),
        description="Weight of predicting what is seen next, which trains the trunks; 0: not done.",
    )
    predict_reward: Annotated[Schedule, within(0)] = Field(
        constant(0.0),
        description="Weight of predicting the reward, which trains the trunks; 0: not done.",
    )
    norm: Literal["layer", "batch"] | None = Field(None, description="After each trunk layer.")
    shared: bool | None = Field(
        None, description="One trunk for actor and critic; null: only for images."
    )
    discrete: Literal["onehot", "embedding", "binary"] = Field(
        "onehot", description="How discrete observations enter the network."
    )
    embedding: Whole = Field(64, ge=1, description="Width, where discrete is embedding.")
    join: Literal["encode", "concat"] | None = Field(
        None,
        description=(
            "Several observation leaves: encode normalises each and gives it a layer, so that all "
            "count alike; concat takes them as they are; null: encode, unless all are discrete."
        ),
    )
    normalize_obs: Literal["auto", "running", "bounds"] | None = Field(
        None,
        description=(
            "running: mean and std seen so far; bounds: from the space; "
            "auto: bounds where all lie within -1 and 1, running elsewhere."
        ),
    )
    normalize_values: bool = Field(
        False, description="PopArt: the critic learns normalised targets."
    )
    engine: Literal["auto", "numpy", "torch"] = Field(
        "auto",
        description=(
            "Compute backend: torch, or for small networks on the CPU NumPy with gradients derived "
            "by hand, which is several times faster and equal up to rounding."
        ),
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="bfloat16: encoder and trunk in half the bits, on NVIDIA GPUs only.",
    )
    squash: bool = Field(False, description="Box actions through tanh instead of clipping.")
    log_std: float = Field(0.0, description="Initial log standard deviation of Box actions.")
    orthogonal: bool = Field(True, description="Orthogonal initialisation.")
    policy_gain: float = Field(0.01, gt=0, description="Small: the first policy is near uniform.")

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.hidden is not None and any(width < 1 for width in self.hidden):
            raise ValueError("needs every width in `hidden` to be at least 1")
        return self

    @property
    def foresees(self) -> bool:
        """Whether trunks are trained to predict, too."""
        return max(*self.predict_obs.values(), *self.predict_reward.values()) > 0

    def foresight_at(self, progress: Progress) -> dict[str, float]:
        """Weights of what is predicted."""
        return {
            name: getattr(self, name).at(progress) for name in ("predict_obs", "predict_reward")
        }

    @model_validator(mode="after")
    def _engine_carries_foresight(self) -> Self:
        if self.foresees and self.engine == "numpy":
            raise ValueError(
                "cannot have `engine: numpy` with `predict_obs` or `predict_reward`, whose "
                "gradients only torch computes; use torch or auto"
            )
        return self
