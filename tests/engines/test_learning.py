"""Whole updates on both engines: the same parameters after a hundred gradient steps, or more."""

import pytest
import torch

from spotter.config import validate
from spotter.training.training import Training

pytestmark = pytest.mark.usefixtures("primitives")

ENVS = {
    "CartPole-v1": {"family": "classic"},
    "Pendulum-v1": {"family": "classic"},
    "Taxi-v4": {"family": "toy_text"},
}


def weights(training):
    return torch.cat([value.flatten().double() for value in training.policy.state_dict().values()])


def both(env, algo, updates, **sections):
    found = []
    for engine in ("torch", "numpy"):
        config = validate(
            {
                **{k: v for k, v in sections.items() if k != "policy"},
                "env": {"id": env, "count": 4, **ENVS[env]},
                "algo": algo,
                "policy": {"engine": engine, **sections.get("policy", {})},
                "budget": {"env_steps": 100_000},
            }
        )
        with Training(config) as training:
            metrics = [training.step().metrics for _ in range(updates)]
            found.append((weights(training), metrics, training.last))
    return found


def assert_same(found, tolerance):
    (theirs, their_metrics, their_rollout), (ours, our_metrics, our_rollout) = found
    assert torch.equal(their_rollout.action, our_rollout.action), "the same actions were taken"
    assert (theirs - ours).abs().max() < tolerance
    assert set(their_metrics[-1]) == set(our_metrics[-1])
    for name, value in their_metrics[-1].items():
        assert our_metrics[-1][name] == pytest.approx(value, rel=2e-2, abs=2e-3), name


PPO = {"name": "ppo", "steps": 32, "minibatch": 32, "epochs": 5, "lr": 1e-3}


@pytest.mark.parametrize("env", ["CartPole-v1", "Taxi-v4"])
def test_ppo_agrees_after_a_hundred_steps(env):
    assert_same(both(env, PPO, updates=5), 2e-5)


@pytest.mark.parametrize(
    "option",
    [
        {"value_loss": "huber", "huber_delta": 0.5},
        {"value_clip": 0.1},
        {"normalize_advantage": "rollout"},
        {"normalize_advantage": None},
        {"entropy": 0.02, "critic_lr": 3e-3},
        {"max_grad_norm": None, "optimizer": "adamw"},
        {"optimizer": "rmsprop", "lr": 1e-4},
        {"optimizer": "sgd", "lr": 1e-2},
        {"target_kl": 1e-3},
        {"lr_target_kl": 1e-3},
    ],
    ids=str,
)
def test_ppo_options_agree(option):
    assert_same(both("CartPole-v1", PPO | option, updates=3), 5e-5)


@pytest.mark.parametrize(
    "policy",
    [
        {"normalize_obs": "running"},
        {"normalize_obs": "bounds"},
        {"normalize_values": True},
        {"norm": "layer", "shared": True, "activation": "relu"},
    ],
    ids=str,
)
def test_policy_options_agree(policy):
    assert_same(both("CartPole-v1", PPO, updates=3, policy=policy), 5e-5)


@pytest.mark.parametrize("squash", [False, True])
def test_continuous_actions_agree(squash):
    found = both("Pendulum-v1", PPO, updates=2, policy={"squash": squash})
    (theirs, _, _), (ours, _, _) = found
    assert (theirs - ours).abs().max() < 1e-4


@pytest.mark.parametrize("env", ["CartPole-v1", "Taxi-v4"])
def test_a2c_agrees_after_a_hundred_steps(env):
    algo = {"name": "a2c", "steps": 5, "lr": 1e-3}
    if env == "Taxi-v4":
        algo |= {"entropy": 0.01, "value_loss": "huber", "normalize_advantage": True}
    assert_same(both(env, algo, updates=100), 2e-4)


@pytest.mark.parametrize("baseline", ["none", "mean", "value"])
@pytest.mark.parametrize("returns", ["to_go", "episode"])
def test_reinforce_agrees(baseline, returns):
    algo = {"name": "reinforce", "baseline": baseline, "returns": returns, "lr": 1e-3}
    assert_same(both("CartPole-v1", algo, updates=5), 5e-5)


MEMORIES = {
    "gru": {"core": "gru"},
    "lstm": {"core": {"name": "lstm", "size": 16, "layers": 2}, "normalize_obs": "running"},
    "shared": {"core": {"name": "lstm", "size": 16}, "shared": True, "normalize_values": True},
}


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_policies_with_a_memory_agree(algo, memory):
    settings = {
        "ppo": {**PPO, "entropy": 0.01},
        "a2c": {"name": "a2c", "steps": 16, "lr": 1e-3},
        "reinforce": {"name": "reinforce", "baseline": "value", "lr": 1e-3},
    }[algo]
    found = both("CartPole-v1", settings, updates=4, policy=MEMORIES[memory])
    assert_same(found, 5e-5)
    (_, _, theirs), (_, _, ours) = found
    assert theirs.state
    torch.testing.assert_close(ours.state, theirs.state, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ours.value, theirs.value, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(ours.log_prob, theirs.log_prob, rtol=1e-3, atol=1e-3)
