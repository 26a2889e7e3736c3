"""REINFORCE's own choices."""

import pytest
import torch

from spotter.training.training import Training


def weights(make_config, updates=2, **algo):
    config = make_config("CartPole-v1", {"name": "reinforce", **algo})
    with Training(config) as training:
        for _ in range(updates):
            training.step()
        return torch.cat([p.detach().flatten() for p in training.policy.parameters()])


@pytest.mark.parametrize(
    "option",
    [
        {"returns": "episode"},
        {"baseline": "none"},
        {"baseline": "value"},
        {"normalize_returns": False},
        {"episodes": 2},
        {"entropy": 0.5},
    ],
    ids=str,
)
def test_every_option_changes_the_result(make_config, option):
    assert not torch.equal(weights(make_config), weights(make_config, **option))


def test_only_a_value_baseline_trains_the_critic(make_config):
    for baseline, moves in (("mean", False), ("none", False), ("value", True)):
        config = make_config("CartPole-v1", {"name": "reinforce", "baseline": baseline})
        with Training(config) as training:
            before = training.policy.value_head.weight.detach().clone()
            metrics = training.step().metrics
            assert torch.equal(before, training.policy.value_head.weight) != moves
            assert ("loss/value" in metrics) == moves


def test_updates_use_exactly_the_asked_episodes_per_copy(make_config):
    config = make_config("CartPole-v1", {"name": "reinforce", "episodes": 3})
    with Training(config) as training:
        for _ in range(3):
            update = training.step()
            played = [episode.env for episode in update.episodes]
            assert sorted(played) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_the_gradient_is_the_policy_gradient(make_config):
    """Against a direct computation with autograd on the collected episodes."""
    config = make_config(
        "CartPole-v1",
        {
            "name": "reinforce",
            "optimizer": "sgd",
            "lr": 1.0,
            "max_grad_norm": None,
            "baseline": "none",
            "normalize_returns": False,
            "gamma": 0.9,
        },
    )
    with Training(config) as training:
        policy = training.policy
        before = policy.policy_head.linear.weight.detach().clone()
        rollout = training.source.worker.gather(progress(0)).rollout
        losses, steps = [], 0
        for n in range(4):
            length = int(rollout.valid[:, n].sum())
            rewards = rollout.reward[:length, n]
            for t in range(length):
                to_go = sum(0.9**k * rewards[t + k] for k in range(length - t))
                obs = {"obs": rollout.obs["obs"][t, n].unsqueeze(0)}
                action = rollout.action[t, n].unsqueeze(0)
                losses.append(-to_go * policy.evaluate(obs, action).log_prob[0])
                steps += 1
        (torch.stack(losses).sum() / steps).backward()
        expected = before - policy.policy_head.linear.weight.grad
        policy.zero_grad()
        training.algorithm.update(rollout, progress(0))
        torch.testing.assert_close(policy.policy_head.linear.weight, expected, rtol=1e-4, atol=1e-5)


def progress(steps):
    from spotter.types import Progress

    return Progress(steps, 1000)
