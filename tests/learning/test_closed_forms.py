"""Learning in seconds, against answers known in closed form."""

import pytest
import torch

from spotter.training.run import train
from spotter.training.training import Training

pytestmark = pytest.mark.learning
FAST_CRITIC = {"lr": 1e-2, "gamma": 0.9}
ALGOS = {
    "ppo": {"name": "ppo", "steps": 32, "minibatch": 64, "epochs": 4, **FAST_CRITIC},
    "a2c": {"name": "a2c", "steps": 8, **FAST_CRITIC},
    "reinforce": {"name": "reinforce", "baseline": "value", **FAST_CRITIC},
}


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("normalize_values", [False, True])
def test_p03_a_pure_time_limit_is_worth_the_infinite_sum(make_config, algo, normalize_values):
    """Constant reward 1, truncated every 5 steps: V must approach 1/(1−γ) = 10, not 4.1."""
    config = make_config(
        "tests.learning.envs:Steady-v0",
        policy={"hidden": [16], "normalize_values": normalize_values},
        algo=ALGOS[algo],
        budget={"env_steps": 30_000},
    )
    with Training(config) as training:
        while training.env_steps < 30_000:
            training.step()
            value = training.policy.value({"obs": torch.ones(1, 1)}).item()
            if abs(value - 10) < 0.3:
                return
    pytest.fail(f"V = {value:.2f} after {training.env_steps} steps")


@pytest.mark.parametrize("algo", ALGOS)
def test_p03_termination_is_worth_nothing_more(make_config, algo):
    config = make_config(
        "tests.learning.envs:Countdown-v0", policy={"hidden": []}, algo=ALGOS[algo]
    )
    expected = torch.tensor([(1 - 0.9 ** (5 - t)) / 0.1 for t in range(5)])
    with Training(config) as training:
        while training.env_steps < 40_000:
            training.step()
            values = training.policy.value({"obs": torch.arange(5)})
            if (values - expected).abs().max() < 0.25:
                return
    pytest.fail(f"V = {values.tolist()} where {expected.tolist()} is right")


@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
@pytest.mark.parametrize("kind", ["discrete", "multi_discrete", "binary", "box"])
def test_every_algorithm_learns_to_match_in_every_action_space(make_config, algo, kind):
    settings = {
        "ppo": {"name": "ppo", "lr": 1e-2, "steps": 32, "minibatch": 64},
        "a2c": {"name": "a2c", "lr": 1e-2, "steps": 8, "optimizer": "adam"},
        "reinforce": {"name": "reinforce", "episodes": 4},
    }[algo]
    config = make_config(
        "tests.learning.envs:Match-v0",
        env={"kwargs": {"kind": kind}, "threshold": 8 * (0.9 if kind == "box" else 0.97)},
        policy={"hidden": [32], "log_std": -1.0},
        algo={**settings, "gamma": 0.0},
        eval={"every_steps": 2000},
        budget={"env_steps": 40_000},
    )
    result = train(config)
    assert result.solved, f"score {result.score} of 8"


def test_a_convolutional_policy_learns_from_pixels(make_config):
    """Through the whole chain: grayscale, resize, stack, Nature CNN, uint8 until the network."""
    wrappers = [
        {"name": "grayscale"},
        {"name": "resize", "height": 36, "width": 36},
        {"name": "frame_stack", "count": 2},
    ]
    config = make_config(
        "tests.learning.envs:Match-v0",
        {"name": "ppo", "steps": 32, "minibatch": 64, "lr": 1e-3, "gamma": 0.0},
        env={"kwargs": {"kind": "pixels"}, "wrappers": wrappers, "threshold": 7.8},
        policy={"hidden": [64]},
        eval={"every_steps": 512, "episodes": 10},
        budget={"env_steps": 6000},
    )
    result = train(config)
    assert result.policy.network.spaces.observation["obs"].shape == (2, 36, 36)
    assert result.solved, f"score {result.score} of 8"


def test_masks_narrow_the_choice_while_learning(make_config):
    """With two valid actions of four, even the first policy scores about half."""
    config = make_config(
        "tests.learning.envs:Match-v0",
        env={"kwargs": {"mask": True}},
        algo={"name": "ppo", "steps": 256, "lr": 0.0},
        eval={"deterministic": False, "episodes": 200, "every_steps": None},
        budget={"env_steps": 1024},
    )
    assert train(config).score == pytest.approx(4.0, abs=0.3)
