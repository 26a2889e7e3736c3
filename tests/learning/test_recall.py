"""A task that a policy with a core solves in seconds, and one without cannot."""

import pytest

from spotter.training.run import train

pytestmark = pytest.mark.learning
PPO = {"name": "ppo", "lr": 5e-3, "steps": 25, "minibatch": 0.25, "gamma": 0.95, "entropy": 0.01}


def score(make_config, core, kind="discrete", algo=None, steps=40_000, engine="auto"):
    config = make_config(
        "tests.learning.recall:Recall-v0",
        algo or PPO,
        env={"kwargs": {"kind": kind}, "threshold": 0.97, "count": 16},
        policy={"core": core, "hidden": [32], "log_std": -0.5, "engine": engine},
        eval={"every_steps": 4000, "episodes": 200},
        budget={"env_steps": steps},
    )
    return train(config).score


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_what_was_shown_is_remembered(make_config, core, engine):
    assert score(make_config, {"name": core, "size": 16}, engine=engine) >= 0.95


@pytest.mark.parametrize("kind", ["mask", "box"])
def test_with_masks_and_box_actions(make_config, kind):
    assert score(make_config, {"name": "gru", "size": 16}, kind) >= 0.95


@pytest.mark.parametrize(
    "algo",
    [
        {"name": "a2c", "lr": 5e-3, "steps": 25, "optimizer": "adam", "gamma": 0.95},
        {"name": "reinforce", "lr": 1e-2, "episodes": 4},
    ],
    ids=lambda algo: algo["name"],
)
def test_every_algorithm_remembers(make_config, algo):
    core = {"name": "gru", "size": 16}
    assert score(make_config, core, algo=algo, steps=100_000) >= 0.95


def test_without_memory_it_is_guessed(make_config):
    assert score(make_config, None) < 0.5
