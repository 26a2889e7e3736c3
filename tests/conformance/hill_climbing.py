"""An algorithm without losses, gradients, critic or optimizer, as another package may bring it."""

from spotter.config import AlgoConfig, Whole, Work
from spotter.metrics.spec import MetricSpec

METRICS = (MetricSpec("climb/best", "mean return of the best weights so far", better="high"),)


class Config(AlgoConfig):
    steps: Whole = 32
    spread: float = 0.05

    @property
    def baseline_used(self):
        return "none"

    def work(self, count):
        return Work(self.steps)


def collect(config, collector, progress):
    return collector.collect(config.steps, progress)


def make(config, policy, seed):
    return HillClimbing(config, policy, seed)


class HillClimbing:
    """Tries weights near the best ones, and keeps them if they earn more."""

    optimizer = None

    def __init__(self, config, policy, seed):
        import torch

        self.config, self.policy = config, policy
        self.random = torch.Generator().manual_seed(seed)
        self.best, self.kept = float("-inf"), self._weights()

    def _weights(self):
        return {name: value.clone() for name, value in self.policy.state_dict().items()}

    def update(self, rollout, progress):
        import torch

        found = float(rollout.reward.mean())
        if found > self.best:
            self.best, self.kept = found, self._weights()
        with torch.no_grad():
            for name, parameter in self.policy.named_parameters():
                step = torch.randn(parameter.shape, generator=self.random)
                parameter.copy_(self.kept[name] + self.config.spread * step)
        return {"climb/best": self.best}

    def retune(self, config):
        self.config = config

    def state(self):
        return {"best": self.best, "kept": self.kept, "random": self.random.get_state()}

    def restore(self, state):
        import torch

        self.best = state["best"]
        self.kept = {name: torch.as_tensor(value) for name, value in state["kept"].items()}
        self.random.set_state(torch.as_tensor(state["random"]))
