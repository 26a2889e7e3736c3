"""Slopes lead to the gradient that autograd finds for the loss itself."""

import pytest
import torch

from spotter.engines.learner import TorchLearner
from spotter.engines.losses import Evaluated
from spotter.training.training import Training

ALGOS = {
    "ppo": {"name": "ppo", "steps": 16, "entropy": 0.01},
    "ppo, clipped values": {"name": "ppo", "steps": 16, "value_clip": 0.1, "value_loss": "huber"},
    "a2c": {"name": "a2c", "steps": 16, "entropy": 0.01},
    "reinforce": {"name": "reinforce", "baseline": "mean"},
    "reinforce, values": {"name": "reinforce", "baseline": "value", "entropy": 0.01},
}
NOW = {"clip": 0.2, "value_weight": 0.5, "entropy": 0.01, "value_clip": 0.1}


@pytest.mark.parametrize("algo", ALGOS.values(), ids=ALGOS)
@pytest.mark.parametrize(
    "policy", [{}, {"shared": True}, {"normalize_values": True}], ids=["", "shared", "popart"]
)
def test_slopes_give_the_gradient_of_the_loss(make_config, algo, policy):
    config = make_config("CartPole-v1", algo, policy={"engine": "torch", **policy})
    with Training(config) as training:
        training.step()  # a policy that has moved since the rollout was made
        algorithm, rollout = training.algorithm, training.last
        learner, optimizer = algorithm.learner, algorithm.optimizer
        assert isinstance(learner, TorchLearner)
        batch = rollout.flatten(rollout.reward, rollout.reward)
        samples = learner.prepare(batch)
        samples = learner.select(samples, torch.arange(16))  # ½ and 1/16 round nothing

        _, slopes = algorithm.objective(learner.evaluate(samples), samples, NOW)
        learner.differentiate(slopes)
        found = optimizer.gradient.clone()

        learner.evaluate(samples)
        said = Evaluated(*learner._said)
        if algo["name"] == "reinforce":  # a baseline is a constant
            advantage = algorithm._advantage(samples.advantage, said.raw_value.detach())
            algorithm._advantage = lambda *_: advantage
        optimizer.differentiate(algorithm.objective(said, samples, NOW).terms["loss/total"])
        assert found.any()
        assert torch.equal(found, optimizer.gradient)
