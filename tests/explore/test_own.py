"""An intrinsic reward of one's own is a file in the working folder; settings are optional."""

import sys

import pytest

from spotter.config import resolve
from spotter.training.training import Training

PLAIN = """
    import torch


    def make(config, spaces, policy):
        return Far()


    class Far(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.home = torch.nn.Parameter(torch.zeros(4))

        def novelty(self, steps):
            return (steps.after["obs"] - self.home).square().sum(-1).detach()

        def loss(self, steps):
            return (steps.after["obs"] - self.home).square().sum(-1)
"""
WITH_SETTINGS = """
    from far_away import Far

    from spotter.config import IntrinsicConfig


    class Config(IntrinsicConfig):
        times: float = 1.0


    def make(config, spaces, policy):
        far = Far()
        once = far.novelty
        far.novelty = lambda steps: config.times * once(steps)
        return far
"""
SMALL = {"env.count": 2, "algo.steps": 16, "algo.minibatch": 16, "threads": 1}


@pytest.fixture
def files(folder, monkeypatch):
    folder("far_away.py", PLAIN)
    folder("far_times.py", WITH_SETTINGS)
    monkeypatch.syspath_prepend(".")
    yield
    for name in ("far_away", "far_times"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("one", ["far_away", {"name": "far_times", "times": 2.0, "weight": 0.1}])
def test_it_is_named_in_the_config(one):
    config = resolve("CartPole-v1:ppo", {**SMALL, "reward.intrinsic": [one]}).config
    name = config.reward.intrinsic[0].name
    with Training(config) as training:
        metrics = training.step().metrics
        assert metrics[f"intrinsic/{name}/loss"] > 0 and metrics[f"intrinsic/{name}/share"] > 0
