"""A clock that only moves when told to, and trainings whose speed is known."""

from dataclasses import dataclass, field

from spotter.bench.limits import Limits
from spotter.bench.measure import Sample
from spotter.bench.run import Findings
from spotter.bench.trials import Present
from spotter.types import Update

STEPS = 100


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Subject:
    """Each update takes `seconds`, times what the machine is doing at the moment."""

    clock: Clock
    seconds: float
    name: str = ""
    log: list[str] = field(default_factory=list)
    first: float = 1.0
    """How much longer the first update takes."""
    drift: float = 0.0
    updates: int = 0

    def prepare(self) -> None:
        self.log.append(self.name)

    def step(self) -> Update:
        self.updates += 1
        slow = (self.first if self.updates == 1 else 1.0) * (1 + self.drift * self.clock.now)
        spent = self.seconds * slow
        self.clock.now += spent
        stages = {"env": 0.2, "policy": 0.1, "transfer": 0.1, "learn": 0.5}
        return Update(
            index=self.updates,
            env_steps=STEPS * self.updates,
            new_env_steps=STEPS,
            vector_steps=self.updates,
            metrics={},
            episodes=(),
            seconds={stage: part * spent for stage, part in stages.items()},
        )


def findings(config, trials=(), not_tried=(), rewards=1000, **stages) -> Findings:
    """What a bench might have found; 1000 random steps, `rewards` of them paid."""
    spent = {"env": 0.1, "policy": 0.2, "transfer": 0.1, "learn": 0.6, "idle": 0.0} | stages
    return Findings(
        config=config,
        present=Present("sync", 1, "cpu", cores=2),
        profile=Sample(10, 1000, 1.0, spent),
        limits=Limits(10_000.0, 2500.0, 1000, rewards),
        trials=tuple(trials),
        not_tried=tuple(not_tried),
    )
