"""The typed, frozen config tree: what a run is made of.

Plug-ins (algorithms, wrappers, reward signals) bring their own `Config`, kept in their own file;
here they appear as the base class and are resolved by name while validating. No value in here is
derived from another one, and none is a secret.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    WrapValidator,
    model_validator,
)

from spotter import plugins
from spotter.schedules import Schedule, constant, within
from spotter.types import UserError

_SECRET_WORDS = ("password", "passwd", "secret", "api_key", "apikey", "token", "credential")


class Settings(BaseModel):
    """Base of every config section: unknown keys, wrong types and later changes are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _whole(value: Any) -> Any:
    """YAML has `5e4` and `100_000`; both mean a whole number here, 0.5 does not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer that may be written as `1e6`."""


def _refuse_secrets(value: Any) -> Any:
    for key in value if isinstance(value, dict) else ():
        if any(word in str(key).lower() for word in _SECRET_WORDS):
            raise ValueError(
                f"'{key}' looks like a secret; configs are saved and shared, "
                "so pass secrets in environment variables"
            )
    return value


FreeForm = Annotated[dict[str, Any], BeforeValidator(_refuse_secrets)]
"""Arguments handed on to somebody else's constructor, unchecked but for secrets."""


class Plugin(Settings):
    """A section whose `name` picks a plug-in file, which brings the rest of the fields."""

    name: str


def plugin_field(kind: str) -> WrapValidator:
    """Validate a section with the `Config` of the plug-in it names."""

    def validate(data: Any, handler: Any) -> Any:
        if isinstance(data, Plugin):
            return data
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            raise ValueError(f"needs `name`; known: {', '.join(plugins.names(kind))}")
        try:
            module = plugins.load(kind, data["name"])
        except UserError as error:
            raise ValueError(str(error)) from error
        return module.Config.model_validate(data)

    return WrapValidator(validate)


class WrapperConfig(Plugin):
    """One environment wrapper; see envs/wrappers/."""

    train_only: bool = Field(False, description="Leave it out in evaluation and play.")


class SignalConfig(Plugin):
    """One named extra reward; see envs/signals/."""

    source: str = Field(description="Which signal: a file in envs/signals/.")
    weight: Schedule = constant(1.0)


def _signal(data: Any, handler: Any) -> Any:
    """Signals have two names: `source` picks the file, `name` is what the user calls it."""
    if isinstance(data, SignalConfig):
        return data
    if not isinstance(data, dict) or not isinstance(data.get("source"), str):
        raise ValueError(f"needs `source`; known: {', '.join(plugins.names('signals'))}")
    try:
        module = plugins.load("signals", data["source"])
    except UserError as error:
        raise ValueError(str(error)) from error
    return module.Config.model_validate({"name": data["source"], **data})


AnyWrapper = Annotated[SerializeAsAny[WrapperConfig], plugin_field("wrappers")]
AnySignal = Annotated[SerializeAsAny[SignalConfig], WrapValidator(_signal)]


class EnvConfig(Settings):
    """Which environment, how many copies, and what stands between it and the policy."""

    id: str = Field("", description="A Gymnasium id, or package:Id to import the package first.")
    family: str = Field("", description="Which file in envs/ makes and describes it.")
    kwargs: FreeForm = Field({}, description="Arguments of the environment's constructor.")
    count: Whole = Field(8, ge=1, description="Copies stepped together.")
    backend: Literal["auto", "sync", "process"] = Field(
        "auto", description="sync: one loop in this process; process: worker processes."
    )
    workers: Whole | None = Field(
        None, ge=1, description="Processes of the process back-end; null: one per core."
    )
    time_limit: Whole | None = Field(
        None, ge=1, description="Truncate episodes after this many env steps."
    )
    mask: bool = Field(True, description="Use the valid-action mask where the environment gives one.")
    threshold: float | None = Field(
        None, description="Score that counts as solved; null: the family's own."
    )
    wrappers: tuple[AnyWrapper, ...] = Field((), strict=False, description="Innermost first.")


class RewardConfig(Settings):
    """What the learner is paid: weight · env reward + weighted signals, then scale, clip."""

    weight: Schedule = Field(constant(1.0), description="Weight of the environment's own reward.")
    signals: tuple[AnySignal, ...] = Field((), strict=False)
    normalize: bool = Field(
        False, description="Divide by the running std of discounted returns (mean untouched)."
    )
    scale: float = Field(1.0, gt=0)
    clip: float | None = Field(None, gt=0, description="Clip to ±clip, after everything else.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [signal.name for signal in self.signals]
        for name in names:
            if names.count(name) > 1 or name == "env":
                raise ValueError(f"two reward parts are called '{name}'; give one another `name`")
        return self


class PolicyConfig(Settings):
    """The network: encoder per observation leaf, trunk, heads."""

    encoder: str = Field("auto", description="For images; auto picks by size. A file in nets/.")
    hidden: tuple[Whole, ...] | None = Field(
        None, strict=False, description="Trunk layer widths; null: [64, 64], or [512] for images."
    )
    activation: Literal["tanh", "relu", "elu", "gelu", "silu"] | None = Field(
        None, description="null: tanh, or relu for images."
    )
    norm: Literal["layer", "batch"] | None = Field(None, description="After each trunk layer.")
    shared: bool | None = Field(
        None, description="One trunk for actor and critic; null: only for images."
    )
    discrete: Literal["onehot", "embedding", "binary"] = Field(
        "onehot", description="How discrete observations enter the network."
    )
    embedding: Whole = Field(64, ge=1, description="Width, where discrete is embedding.")
    normalize_obs: Literal["running", "bounds"] | None = Field(
        None, description="running: mean and std seen so far; bounds: from the space."
    )
    normalize_values: bool = Field(
        False, description="PopArt: the critic learns normalised targets."
    )
    squash: bool = Field(False, description="Box actions through tanh instead of clipping.")
    log_std: float = Field(0.0, description="Initial log standard deviation of Box actions.")
    orthogonal: bool = Field(True, description="Orthogonal initialisation.")
    policy_gain: float = Field(0.01, gt=0, description="Small: the first policy is near uniform.")

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.hidden is not None and any(width < 1 for width in self.hidden):
            raise ValueError("every width in `hidden` must be at least 1")
        return self


class AlgoConfig(Plugin):
    """What every algorithm has; the rest is in algos/<name>.py."""

    lr: Annotated[Schedule, within(0)] = constant(3e-4)
    critic_lr: Annotated[Schedule, within(0)] | None = Field(
        None, description="Own rate for critic-only parameters; null: the same as lr."
    )
    gamma: Annotated[Schedule, within(0, 1)] = constant(0.99)
    entropy: Annotated[Schedule, within(0)] = Field(
        constant(0.0), description="Weight of the entropy bonus."
    )
    max_grad_norm: Annotated[Schedule, within(0, open_low=True)] | None = constant(0.5)
    optimizer: Literal["adam", "adamw", "rmsprop", "sgd"] = "adam"

    def check(self, run: "RunConfig") -> None:
        """Cross-section checks: raise `ValueError` with a remedy."""


class EvalConfig(Settings):
    """When the policy is scored, on held-out seeds and the raw score."""

    every_steps: Whole | None = Field(10_000, ge=1, description="null: only at the end.")
    episodes: Whole = Field(20, ge=1)
    deterministic: bool = Field(True, description="Most likely action instead of sampling.")
    stop_when_solved: bool = True


class BudgetConfig(Settings):
    """When training ends if nothing else ends it first."""

    env_steps: Whole | None = Field(100_000, ge=1, description="null: until solved or interrupted.")


class RunConfig(Settings):
    """Everything a run needs; saved with it."""

    env: EnvConfig
    reward: RewardConfig = RewardConfig()
    policy: PolicyConfig = PolicyConfig()
    algo: Annotated[SerializeAsAny[AlgoConfig], plugin_field("algos")]
    eval: EvalConfig = EvalConfig()
    budget: BudgetConfig = BudgetConfig()
    seed: Whole = Field(1, ge=0, lt=2**31)
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: Whole | None = Field(None, ge=1, description="CPU threads of torch; null: by network.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_schedules()
        self._check_one_normalizer()
        self.algo.check(self)
        return self

    def _check_schedules(self) -> None:
        if self.budget.env_steps is not None:
            return
        for path, schedule in self.schedules():
            if schedule.needs_budget:
                raise ValueError(
                    f"{path} is scheduled in fractions of the budget, but budget.env_steps is null"
                )

    def _check_one_normalizer(self) -> None:
        """Normalising twice is silent and wrong; every statistic has one owner."""
        foreign = {getattr(wrapper, "wrapper", "") for wrapper in self.env.wrappers}
        if self.policy.normalize_obs and "NormalizeObservation" in foreign:
            raise ValueError(
                "observations would be normalised twice: drop the NormalizeObservation wrapper "
                "or set policy.normalize_obs to null"
            )
        if self.reward.normalize and "NormalizeReward" in foreign:
            raise ValueError(
                "rewards would be normalised twice: drop the NormalizeReward wrapper "
                "or set reward.normalize to false"
            )

    def schedules(self) -> Iterator[tuple[str, Schedule]]:
        """Every schedulable setting with its dotted name."""
        for name in type(self.algo).model_fields:
            value = getattr(self.algo, name)
            if isinstance(value, Schedule):
                yield f"algo.{name}", value
        yield "reward.weight", self.reward.weight
        for signal in self.reward.signals:
            yield f"reward.{signal.name}", signal.weight

    def as_data(self) -> dict[str, Any]:
        """Plain maps and numbers, canonical order: what is saved and printed."""
        data = self.model_dump(mode="json")
        assert isinstance(data, dict)
        return data


class Expect(Settings):
    """What a recipe promises; checked by `make learn`."""

    score: float
    env_steps: Whole = Field(ge=1, description="By when, at the latest.")
    seeds: Whole = Field(3, ge=3)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merge key by key; everything else, null and lists included, replaces."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not _replaces(old, value):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def _replaces(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """A schedule is one value: `{points: …}` over `{start: …}` must not blend into nonsense."""
    return any({"start", "points"} & set(schedule) for schedule in (old, new))
