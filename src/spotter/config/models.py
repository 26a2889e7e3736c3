"""The typed, frozen config tree: what a run is made of.

Plug-ins (algorithms, wrappers, reward signals) bring their own `Config`, kept in their own file;
here they appear as the base class and are resolved by name while validating. No value in here is
derived from another one, and none is a secret.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self

from pydantic import (
    Field,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from spotter import plugins
from spotter.config.base import Settings, Whole
from spotter.config.demo import DemoConfig
from spotter.config.plugin import FreeForm, Plugin, known_to, picked, picked_or_null
from spotter.config.policy import PolicyConfig
from spotter.config.rewards import RewardConfig
from spotter.config.watching import (
    AlertsConfig,
    BudgetConfig,
    CheckpointConfig,
    EvalConfig,
    PlateauConfig,
    VideoConfig,
)
from spotter.schedules import Schedule, constant, scheduled, within
from spotter.types import Progress


class WrapperConfig(Plugin):
    """One environment wrapper; see envs/wrappers/."""

    plugin_kind: ClassVar[str] = "wrappers"

    train_only: bool = Field(False, description="Leave it out in evaluation and play.")


class SinkConfig(Plugin):
    """One more place for the numbers of a run; see sinks/trackers/."""

    plugin_kind: ClassVar[str] = "sinks"
    is_bare: ClassVar[bool] = True


class LauncherConfig(Plugin):
    """Where a run is started; see launch/launchers/."""

    plugin_kind: ClassVar[str] = "launchers"
    is_bare: ClassVar[bool] = True
    on_this_machine: ClassVar[bool] = False
    """Whether its runs share the cores of this machine, and a job is a process id."""


NOT_THE_GAME: Final = ("count", "backend", "workers", "threshold", "restarts", "timeout_s")
"""What the score of a policy does not depend on: how envs are run, what counts as solved."""

AnyWrapper = Annotated[SerializeAsAny[WrapperConfig], picked(WrapperConfig)]
AnySink = Annotated[SerializeAsAny[SinkConfig], picked(SinkConfig)]
AnyLauncher = Annotated[SerializeAsAny[LauncherConfig] | None, picked_or_null(LauncherConfig)]


class EnvConfig(Settings):
    """Which environment, how many parallel envs, and what stands between them and the policy.

    A family may bring a `Config` made from this one, with settings of its own.
    """

    training_only: ClassVar[tuple[str, ...]] = ()
    """Settings of a family that evaluation leaves out, as it does train-only wrappers."""
    chance: ClassVar[Mapping[str, Any]] = {}
    """Settings of a family that leave something in the game to chance, and what switches it off."""

    id: str = Field("", description="A Gymnasium id, or package:Id to import the package first.")
    family: Annotated[str, known_to("envs", "")] = Field(
        "", description="Which file in envs/families/ makes and describes it."
    )
    protocol: str | None = Field(
        None, description="A named set of game settings: a file in recipes/protocols/."
    )
    kwargs: FreeForm = Field({}, description="Arguments of the environment's constructor.")
    count: Whole = Field(8, ge=1, description="Number of parallel envs.")
    backend: Literal["auto", "sync", "process", "batch", "native", "envpool"] = Field(
        "auto",
        description=(
            "sync: one loop in this process; process: worker processes; batch: all envs in one "
            "computation; native: the vector environment the package brings; envpool: EnvPool."
        ),
    )
    workers: Whole | None = Field(
        None, ge=1, description="Processes of the process back-end; null: one per core."
    )
    time_limit: Whole | None = Field(
        None, ge=1, description="Truncate episodes after this many env steps."
    )
    mask: bool = Field(True, description="Use the valid-action mask where there is one.")
    drop: tuple[str, ...] = Field(
        (), strict=False, description="Leaves of a Dict observation to leave out, such as mission."
    )
    previous_action: bool = Field(
        False, description="Show the policy its last action, beside the observation."
    )
    previous_reward: bool = Field(
        False, description="Show the policy its last reward, beside the observation."
    )
    restarts: Whole = Field(
        3, ge=0, description="Failed envs replaced before the run stops; 0: stop at the first."
    )
    timeout_s: float | None = Field(
        300.0, gt=0, description="An env silent for so long counts as hung; null: wait forever."
    )
    threshold: float | None = Field(
        None, description="Score that counts as solved; null: the family's own."
    )
    wrappers: tuple[AnyWrapper, ...] = Field((), strict=False, description="Innermost first.")
    demo: DemoConfig | None = Field(
        None, description="Training episodes begin within a demonstration; null: at the start."
    )

    @property
    def shows_previous(self) -> str:
        """Which setting adds the last action or reward to what is seen; empty if none does."""
        found = [name for name in ("previous_action", "previous_reward") if getattr(self, name)]
        return found[0] if found else ""

    def as_played(self) -> Self:
        """What evaluation and play meet: without what is for training only."""
        left_out = (*self.training_only, "demo")
        defaults = {name: type(self).model_fields[name].default for name in left_out}
        return self.model_copy(update=defaults)

    def as_explored(self) -> Self:
        """The game as a demonstration was found: from its start, and nothing left to chance."""
        return self.model_copy(update={**self.chance, "demo": None})

    @classmethod
    def chosen(cls, data: object) -> "type[EnvConfig]":
        """The `Config` of the family a section names; this class where the family has none."""
        family = data.get("family") if isinstance(data, Mapping) else None
        if not isinstance(family, str) or not plugins.offers("envs", family, "Config"):
            return cls
        config = plugins.load("envs", family).Config
        return config if isinstance(config, type) and issubclass(config, cls) else cls

    @model_validator(mode="after")
    def _workers_work(self) -> Self:
        if self.workers is not None and self.backend != "process":
            raise ValueError("`workers` counts processes and needs `backend: process`")
        return self

    def of_family(self) -> "EnvConfig":
        """The same settings, with the family's own, where this is none of its `Config` yet."""
        own = EnvConfig.chosen({"family": self.family})
        return self if isinstance(self, own) else own.from_data(self.model_dump(by_alias=True))


def _of_family(data: object, handler: ValidatorFunctionWrapHandler) -> object:
    """Validate `env` with the `Config` of its family."""
    if isinstance(data, EnvConfig):
        return data.of_family()
    if not isinstance(data, Mapping):
        return handler(data)
    return EnvConfig.chosen(data).from_data(data)


AnyEnv = Annotated[SerializeAsAny[EnvConfig], WrapValidator(_of_family)]


class Work(NamedTuple):
    """What one update takes at least, for estimates."""

    vector_steps: int = 1
    minibatch: int = 1
    """Samples that are learnt from at once."""
    passes: float = 1.0
    """Over all samples, at most."""
    setting: str = "algo.steps"
    """What the vector steps follow from."""


class AlgoConfig(Plugin):
    """What every algorithm has; the rest is in algos/<name>.py."""

    plugin_kind: ClassVar[str] = "algos"
    needs_whole_episodes: ClassVar[bool] = False
    """Whether envs wait for each other, as where whole episodes are collected."""
    adds_bonus: ClassVar[bool] = False
    """Whether `update` learns from `Rollout.with_bonus`, as intrinsic rewards need it."""
    trains_trunks: ClassVar[bool] = False
    """Whether it steps by `make_learner`, which adds what the policy predicts to its objective."""

    @property
    def baseline_used(self) -> Literal["value", "mean", "none"]:
        """What advantages are measured against: the critic, the mean return, or nothing."""
        return "value"

    @property
    def credit(self) -> Literal["to_go", "episode"]:
        """Whether a step is credited with what followed it, or with its whole episode."""
        return "to_go"

    @property
    def overlaps(self) -> bool:
        """Whether the next rollout is collected while the last is learnt from."""
        return False

    def own(self, name: str, missing: object = None) -> Any:
        """A setting that not every algorithm has."""
        return getattr(self, name, missing)

    def at(self, progress: Progress) -> dict[str, float]:
        """Scheduled settings by name, as an update at that point uses them."""
        return {name: schedule.at(progress) for name, schedule in scheduled(self)}

    lr: Annotated[Schedule, within(0)] = Field(constant(3e-4), description="Learning rate.")
    critic_lr: Annotated[Schedule, within(0)] | None = Field(
        None, description="Own rate for critic-only parameters; null: the same as lr."
    )
    gamma: Annotated[Schedule, within(0, 1)] = Field(
        constant(0.99), description="Discount of rewards, per env step."
    )
    entropy: Annotated[Schedule, within(0)] = Field(
        constant(0.0), description="Weight of the entropy bonus."
    )
    max_grad_norm: Annotated[Schedule, within(0, open_low=True)] | None = Field(
        constant(0.5), description="Longer gradients are scaled down to this norm; null: never."
    )
    optimizer: Literal["adam", "adamw", "rmsprop", "sgd"] = Field(
        "adam", description="What turns gradients into changes of the weights."
    )

    def work(self, count: int) -> Work:
        """One update with so many envs; algorithms that know more say so."""
        return Work(minibatch=count)

    def check(self, run: "RunConfig") -> None:
        """Cross-section checks: raise `ValueError` with a remedy."""


class RunConfig(Settings):
    """Everything a run needs; saved with it."""

    env: AnyEnv
    reward: RewardConfig = RewardConfig()
    policy: PolicyConfig = PolicyConfig()
    algo: Annotated[SerializeAsAny[AlgoConfig], picked(AlgoConfig)]
    eval: EvalConfig = EvalConfig()
    budget: BudgetConfig = BudgetConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    video: VideoConfig = VideoConfig()
    alerts: AlertsConfig = AlertsConfig()
    plateau: PlateauConfig | None = None
    sinks: tuple[AnySink, ...] = Field(
        (), strict=False, description="Where else numbers go, such as [tensorboard]."
    )
    launch: AnyLauncher = Field(
        None, description="Where `spotter train` starts it, such as slurm; null: in this process."
    )
    seed: Whole = Field(1, ge=0, lt=2**31, description="Of everything random in the run.")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", description="Where torch computes; auto: a GPU for images, else the CPU."
    )
    threads: Whole | None = Field(
        None, ge=1, le=1024, description="CPU threads of torch; null: by network."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_schedules()
        self._check_one_normalizer()
        self._check_intrinsic()
        self._check_foresight()
        self._check_demo()
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
        foreign = {vars(wrapper).get("wrapper") for wrapper in self.env.wrappers}
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

    def _check_intrinsic(self) -> None:
        """Refused where their advantage would get lost."""
        if self.reward.intrinsic and not self.algo.adds_bonus:
            raise ValueError(
                f"reward.intrinsic: {self.algo.name} does not learn from their advantage; "
                "a2c and ppo do, and `reward.signals` work everywhere"
            )
        if self.reward.intrinsic and self.algo.overlaps:
            raise ValueError("reward.intrinsic does not work with algo.overlap; leave one out")

    def _check_foresight(self) -> None:
        """Refused where nothing would learn to predict."""
        if self.policy.foresees and not self.algo.trains_trunks:
            raise ValueError(
                f"policy.predict_obs and policy.predict_reward: {self.algo.name} has an objective "
                "of its own, which they cannot be added to; leave them out"
            )
        if self.policy.foresees and self.algo.overlaps:
            raise ValueError(
                "policy.predict_obs and policy.predict_reward do not work with algo.overlap; "
                "leave one out"
            )

    def _check_demo(self) -> None:
        """Refused where it would not be imitated."""
        if self.env.demo is not None and self.env.demo.clone and self.policy.core is not None:
            raise ValueError(
                "env.demo.clone imitates single steps, which teaches policy.core nothing; "
                "set env.demo.clone=0 or leave out policy.core"
            )

    def schedules(self) -> Iterator[tuple[str, Schedule]]:
        """Every schedulable setting with its dotted name."""
        yield from ((f"algo.{name}", value) for name, value in scheduled(self.algo))
        yield from ((f"policy.{name}", value) for name, value in scheduled(self.policy))
        yield "reward.weight", self.reward.weight
        for signal in self.reward.signals:
            yield f"reward.{signal.name}", signal.weight
        for part in self.reward.intrinsic:
            yield f"reward.{part.name}", part.weight

    def as_data(self) -> dict[str, Any]:
        """Plain maps and numbers, canonical order: what is saved and printed."""
        data = self.model_dump(mode="json", by_alias=True)
        assert isinstance(data, dict)
        return data


class Expect(Settings):
    """The expected score of a recipe; checked by `make learn`."""

    score: float = Field(description="The mean score that every seed reaches.")
    env_steps: Whole = Field(ge=1, description="By when, at the latest.")
    seeds: Whole = Field(5, ge=3, description="How many `make learn` trains with.")
