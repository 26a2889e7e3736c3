"""PPO's own details."""

from itertools import pairwise

import pytest
import torch

from spotter.engines import functional, objectives
from spotter.training.training import Training
from spotter.types import UserError


def first_updates(make_config, updates=1, **algo):
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, **algo})
    with Training(config) as training:
        return [training.step().metrics for _ in range(updates)], training


def weights(training):
    return torch.cat([p.detach().flatten() for p in training.policy.parameters()])


@pytest.mark.parametrize(("engine", "maths"), [("torch", functional), ("numpy", objectives)])
def test_first_minibatch_has_ratio_one_even_with_running_statistics(
    make_config, monkeypatch, engine, maths
):
    """Acting and learning must see the same normalised observations."""
    seen = []
    original = maths.policy_shift
    monkeypatch.setattr(
        maths, "policy_shift", lambda ratio, *rest: seen.append(ratio) or original(ratio, *rest)
    )
    config = make_config("CartPole-v1", policy={"normalize_obs": "running", "engine": engine})
    with Training(config) as training:
        for _ in range(3):
            seen.clear()
            training.step()
            assert abs(seen[0]).max() < 1e-5


def test_target_kl_ends_only_the_current_update(make_config):
    metrics, training = first_updates(make_config, updates=4, lr=0.05, epochs=10, target_kl=1e-3)
    assert all(row["ppo/kl_stop"] == 1 for row in metrics)
    assert all(row["ppo/epochs"] < 10 for row in metrics)
    before = weights(training)
    config = training.config
    with Training(config) as again:
        for _ in range(4):
            again.step()
            moved = weights(again)
            assert not torch.equal(before, moved), "an update after a stop still learns"
            before = moved


def test_without_target_kl_every_epoch_runs(make_config):
    metrics, _ = first_updates(make_config, lr=0.05, epochs=7)
    assert metrics[0]["ppo/epochs"] == 7
    assert metrics[0]["ppo/kl_stop"] == 0


def test_epochs_can_be_scheduled(make_config):
    epochs = {"points": [[0, 6], [200, 2]]}
    metrics, _ = first_updates(make_config, updates=5, epochs=epochs)
    assert [row["ppo/epochs"] for row in metrics] == [6, 5, 3, 2, 2]


@pytest.mark.parametrize(("lr", "direction"), [(0.05, -1), (1e-7, 1)])
def test_adaptive_rate_moves_towards_the_kl_target(make_config, lr, direction):
    metrics, _ = first_updates(make_config, updates=3, lr=lr, lr_target_kl=0.01, epochs=4)
    factors = [row["ppo/lr_factor"] for row in metrics]
    steps = [b - a for a, b in pairwise(factors)]
    assert all(step * direction > 0 for step in steps)


def test_value_clipping_is_off_unless_asked_for(make_config):
    default, _ = first_updates(make_config, updates=2, lr=0.02)
    explicit, _ = first_updates(make_config, updates=2, lr=0.02, value_clip=None)
    clipped, _ = first_updates(make_config, updates=2, lr=0.02, value_clip=0.01)
    assert default[-1]["loss/value"] == explicit[-1]["loss/value"]
    assert clipped[-1]["loss/value"] != default[-1]["loss/value"]


@pytest.mark.parametrize(
    "option",
    [
        {"value_loss": "huber", "huber_delta": 0.1},
        {"normalize_advantage": "rollout"},
        {"normalize_advantage": None},
        {"critic_lr": 0.0},
        {"max_grad_norm": None},
        {"optimizer": "sgd"},
        {"optimizer": "adamw"},
        {"optimizer": "rmsprop"},
        {"clip": 0.001},
        {"entropy": 0.1},
        {"value_weight": 5.0},
        {"lambda": 0.1},
        {"gamma": 0.5},
        {"minibatch": 32},
    ],
    ids=str,
)
def test_every_option_changes_the_result(make_config, option):
    _, base = first_updates(make_config, updates=2, lr=0.01)
    _, other = first_updates(make_config, updates=2, lr=0.01, **option)
    assert not torch.equal(weights(base), weights(other))


def test_critic_rate_zero_freezes_only_the_critic(make_config):
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, "critic_lr": 0.0})
    with Training(config) as training:
        critic = [p.detach().clone() for p in training.policy.critic_parameters()]
        actor = training.policy.policy_head.linear.weight.detach().clone()
        training.step()
        same = zip(critic, training.policy.critic_parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in same)
        assert not torch.equal(actor, training.policy.policy_head.linear.weight)


@pytest.mark.parametrize(
    ("minibatch", "samples"), [(1, 1), (64, 64), (1.0, 64), (0.5, 32), (16, 16), (3.2e1, 32)]
)
def test_minibatches_as_counts_and_fractions(make_config, minibatch, samples):
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, "minibatch": minibatch})
    assert config.algo.samples(4) == samples


def test_p29_minibatches_of_one_sample_train_without_nan(make_config):
    metrics, training = first_updates(make_config, minibatch=1, epochs=1)
    assert weights(training).isfinite().all()
    assert all(value == value for value in metrics[0].values())


def test_p29_a_one_step_rollout_of_one_copy_trains(make_config):
    config = make_config(
        "CartPole-v1", {"name": "ppo", "steps": 1, "minibatch": 1}, env={"count": 1}
    )
    with Training(config) as training:
        for _ in range(3):
            training.step()
        assert weights(training).isfinite().all()


def test_a_minibatch_that_does_not_divide_is_refused_with_the_nearest(make_config):
    sentence = r"algo.minibatch=60 must divide .* = 4 × 16 = 64; nearest: 64"
    with pytest.raises(UserError, match=sentence):
        make_config("CartPole-v1", {"name": "ppo", "steps": 16, "minibatch": 60})


def test_batch_norm_trains_and_refuses_single_samples(make_config):
    with Training(make_config("CartPole-v1", policy={"norm": "batch"})) as training:
        before = weights(training)
        training.step()
        assert weights(training).isfinite().all()
        assert not torch.equal(before, weights(training))
        assert not training.policy.training, "acting uses the running statistics"
    with pytest.raises(UserError, match="at least 2 samples"):
        make_config(
            "CartPole-v1", {"name": "ppo", "steps": 16, "minibatch": 1}, policy={"norm": "batch"}
        )
