"""Environments without a recipe start from what suits their kind."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.config import recipes, resolve
from spotter.envs.defaults import of_spaces

PICTURE = gs.Box(0, 255, (84, 84, 3), np.uint8)
NUMBERS = gs.Box(-1.0, 1.0, (5,), np.float32)
CHOICE = gs.Discrete(3)


@pytest.mark.parametrize(
    ("observation", "action", "kind"),
    [
        (PICTURE, CHOICE, "pixels"),
        (PICTURE, NUMBERS, "pixels"),
        (gs.Dict(camera=PICTURE, speed=NUMBERS), CHOICE, "pixels"),
        (NUMBERS, NUMBERS, "continuous"),
        (CHOICE, NUMBERS, "continuous"),
        (NUMBERS, CHOICE, "discrete"),
        (gs.Tuple((NUMBERS, CHOICE)), gs.MultiBinary(4), "discrete"),
        (CHOICE, CHOICE, "tabular"),
        (gs.Tuple((gs.Discrete(32), gs.MultiDiscrete([2, 3]))), CHOICE, "tabular"),
    ],
)
def test_the_kind_follows_from_what_it_shows_and_takes(observation, action, kind):
    assert of_spaces(observation, action) == kind
    assert kind in recipes.defaults_files()


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("MountainCarContinuous-v0", "continuous"),
        ("Blackjack-v1", "tabular"),
        ("tests.doctor.games:Trap-v0", "discrete"),
        ("VizDoom/SomeMap", "pixels"),
    ],
)
@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_every_algorithm_gets_what_it_has(address, kind, algo):
    if address.startswith("VizDoom"):
        pytest.importorskip("vizdoom")
        address = "VizDoom/PredictPosition"
    resolved = resolve(f"{address}:{algo}")
    assert resolved.origin(("algo", "lr")) == f"defaults {kind}"
    assert resolved.origin(("budget", "env_steps")) == f"defaults {kind}"
    assert resolved.config.budget.env_steps > 100_000
    assert (resolved.origin(("algo", "clip")) != "default") == (kind == "pixels" and algo == "ppo")


def test_what_is_typed_comes_first():
    typed = resolve("Blackjack-v1", ["algo.lr=0.5", "budget.env_steps=64"])
    assert typed.config.algo.lr.start == 0.5
    assert typed.origin(("algo", "steps")) == "fits budget.env_steps"


def test_recipes_do_not_have_them():
    layers = [layer.label for layer in resolve("CartPole-v1:ppo").layers]
    assert not any("defaults" in label for label in layers)


def test_an_environment_that_cannot_be_made_says_so_later(monkeypatch):
    def broken(**kwargs):
        raise RuntimeError("no display")

    spec = gym.envs.registration.EnvSpec("Broken-v7", entry_point=broken)
    monkeypatch.setitem(gym.registry, "Broken-v7", spec)
    assert not any("defaults" in layer.label for layer in resolve("Broken-v7").layers)
