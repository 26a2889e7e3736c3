"""A2C's own choices."""

import pytest
import torch

from spotter.training.training import Training


def weights(make_config, updates=2, **algo):
    config = make_config("CartPole-v1", {"name": "a2c", "steps": 5, **algo})
    with Training(config) as training:
        for _ in range(updates):
            metrics = training.step().metrics
        return torch.cat([p.detach().flatten() for p in training.policy.parameters()]), metrics


@pytest.mark.parametrize(
    "option",
    [
        {"value_loss": "huber", "huber_delta": 0.1},
        {"normalize_advantage": True},
        {"lambda": 0.5},
        {"gamma": 0.5},
        {"entropy": 0.5},
        {"value_weight": 5.0},
        {"optimizer": "adam"},
        {"max_grad_norm": 0.01},
    ],
    ids=str,
)
def test_every_option_changes_the_result(make_config, option):
    assert not torch.equal(weights(make_config)[0], weights(make_config, **option)[0])


def test_kl_is_measured_after_the_step(make_config):
    assert weights(make_config, lr=0.0)[1]["policy/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert weights(make_config, lr=0.05)[1]["policy/approx_kl"] > 1e-5
