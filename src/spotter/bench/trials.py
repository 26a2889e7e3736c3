"""Which changes are worth trying for a config, one at a time, and what to try after that.

A change is *free* if it leaves the mathematics of learning alone: who steps the environments, on
how many threads, on which device. Changes of `algo.overlap`, `env.count`, `algo.steps` and
`algo.minibatch` alter what is learnt from, and so what is learnt.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from spotter.bench.measure import Ratio
from spotter.config import RunConfig, changed
from spotter.config.dump import flow
from spotter.envs.backends import native, pool
from spotter.envs.backends.batch import vector as batch
from spotter.envs.games.doom import threads
from spotter.system import machine
from spotter.types import UserError

Group = Literal[
    "backend", "threads", "device", "overlap", "count", "steps", "minibatch", "together"
]
FREE: Final = ("backend", "threads", "device")
_FIRST: Final[Mapping[str, tuple[str, ...]]] = {
    "env": ("backend", "overlap", "count"),
    "policy": ("device", "overlap", "count", "threads"),
    "transfer": ("device", "count"),
    "learn": ("overlap", "minibatch", "device", "threads"),
    "idle": ("count", "backend"),
}
"""What helps against which bottleneck is tried first: time may run out."""
_OPTIONAL: Final = {"batch": batch, "native": native, "envpool": pool}
_FEWEST_STEPS: Final = 8
_MOST_COPIES: Final = 4096
_STILL_RISING: Final = 1.1


@dataclass(frozen=True)
class Change:
    """Settings by dotted name, tried as one."""

    group: Group
    settings: Mapping[str, Any]
    free: bool

    @property
    def label(self) -> str:
        return " ".join(f"{key}={flow(value)}" for key, value in self.settings.items())

    def applied(self, config: RunConfig) -> RunConfig:
        """The config with these settings; `UserError` if they do not fit the rest of it."""
        return changed(config, self.settings)


@dataclass(frozen=True)
class Trial:
    """What became of a change."""

    change: Change
    ratio: Ratio | None = None
    """Speed with the change over speed without it; None where it could not be measured."""
    problem: str = ""

    @property
    def is_faster(self) -> bool:
        return self.ratio is not None and self.ratio.is_faster

    @property
    def gain(self) -> float:
        return self.ratio.median if self.ratio else 0.0


@dataclass(frozen=True)
class Present:
    """What the untouched config came to on this machine."""

    backend: str
    threads: int
    device: str
    devices: tuple[str, ...] = ("cpu",)
    cores: int = field(default_factory=machine.cores)


def _change(group: Group, **settings: Any) -> Change:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return Change(group, dotted, group in FREE)


def candidates(config: RunConfig, present: Present, bottleneck: str) -> list[Change]:
    """All that fit the config, the most likely first and free ones before others."""
    everything = [
        *_backends(config, present),
        *_threads(present),
        *_devices(present),
        *_overlaps(config, present),
        *_counts(config),
        *_steps(config),
        *_minibatches(config),
    ]
    first = _FIRST[bottleneck]

    def rank(change: Change) -> tuple[bool, int]:
        place = first.index(change.group) if change.group in first else len(first)
        return not change.free, place

    return [change for change in sorted(everything, key=rank) if _fits(config, change)]


def following(config: RunConfig, trial: Trial, done: list[Trial]) -> list[Change]:
    """What a result suggests: other numbers of workers, still more envs."""
    change = trial.change
    if not trial.is_faster:
        return []
    if change.settings.get("env.backend") == "process" and "env.workers" not in change.settings:
        cores = machine.cores()
        fewer = {cores // 2, cores - 1} - {0, cores}
        found = [
            _change("backend", env__backend="process", env__workers=count)
            for count in sorted(fewer, reverse=True)
            if count < config.env.count
        ]
        return [other for other in found if _fits(config, other)]
    count = change.settings.get("env.count", 0)
    if change.group == "count" and set(change.settings) == {"env.count"} and count < _MOST_COPIES:
        smaller = [
            other.gain
            for other in done
            if other is not trial
            and set(other.change.settings) == {"env.count"}
            and other.change.settings["env.count"] < count
        ]
        larger = _change("count", env__count=2 * count)
        if trial.gain > _STILL_RISING * max([1.0, *smaller]) and _fits(config, larger):
            return [larger]
    return []


def _fits(config: RunConfig, change: Change) -> bool:
    try:
        change.applied(config)
    except UserError:
        return False
    return True


def _backends(config: RunConfig, present: Present) -> Iterator[Change]:
    for name in usable_backends(config):
        if name != present.backend:
            # workers belong to the process back-end alone
            workers = {} if config.env.workers is None else {"env__workers": None}
            yield _change("backend", env__backend=name, **workers)
    if present.backend == "process":
        now = config.env.workers or present.cores
        for count in sorted({present.cores, present.cores // 2, present.cores - 1} - {0, now}):
            if count <= config.env.count:
                yield _change("backend", env__backend="process", env__workers=count)


def usable_backends(config: RunConfig) -> list[str]:
    """Those that can serve this environment here."""
    able = [
        name
        for name, module in _OPTIONAL.items()
        if not module.reason_against(config.env, config.reward)
    ]
    if not threads.reason_against(config.env, config.reward):
        able.append("native")
    return ["sync", "process", *able]


def _threads(present: Present) -> Iterator[Change]:
    numbers = {1, present.cores} | ({present.cores // 2} if present.cores >= 8 else set())
    for number in sorted(numbers - {present.threads}):
        yield _change("threads", threads=number)


def _devices(present: Present) -> Iterator[Change]:
    for name in present.devices:
        if name != present.device:
            yield _change("device", device=name)


def _overlaps(config: RunConfig, present: Present) -> Iterator[Change]:
    if _setting(config, "overlap") is False and present.cores > 1:
        yield _change("overlap", algo__overlap=True)


def _counts(config: RunConfig) -> Iterator[Change]:
    """More envs in rollouts of the same size, then in larger ones."""
    count, steps = config.env.count, _setting(config, "steps")
    for factor in (2, 4):
        if steps and steps % factor == 0 and steps // factor >= _FEWEST_STEPS:
            yield _change("count", env__count=factor * count, algo__steps=steps // factor)
    for factor in (2, 4):
        yield _change("count", env__count=factor * count)
    if count >= 2:
        yield _change("count", env__count=count // 2)


def _steps(config: RunConfig) -> Iterator[Change]:
    if steps := _setting(config, "steps"):
        yield _change("steps", algo__steps=2 * steps)


def _minibatches(config: RunConfig) -> Iterator[Change]:
    size = _setting(config, "minibatch")
    if not size:
        return
    most: float = 1.0
    if isinstance(size, int):
        most = config.env.count * (_setting(config, "steps") or 1)
    for factor in (2, 4):
        if factor * size <= most:
            yield _change("minibatch", algo__minibatch=factor * size)


def _setting(config: RunConfig, name: str) -> Any:
    """A setting not every algorithm has."""
    return getattr(config.algo, name, None)
