"""Environments without a recipe start from what suits their kind."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.config import recipes, resolve
from spotter.envs.defaults import of_spaces
from spotter.types import UserError

PICTURE = gs.Box(0, 255, (84, 84, 3), np.uint8)
NUMBERS = gs.Box(-1.0, 1.0, (5,), np.float32)
CHOICE = gs.Discrete(3)


@pytest.mark.parametrize(
    ("observation", "action", "kind"),
    [
        (PICTURE, CHOICE, "pixels"),
        (PICTURE, NUMBERS, "pixels"),
        (gs.Dict(camera=PICTURE, speed=NUMBERS), CHOICE, "pixels"),
        (gs.Box(0, 255, (7, 7, 3), np.uint8), CHOICE, "grid"),
        (gs.Box(0, 1, (3, 10, 10), np.uint8), CHOICE, "grid"),
        (gs.Dict(camera=PICTURE, map=gs.Box(0, 9, (9, 9, 1), np.uint8)), CHOICE, "pixels"),
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
        ("tests.diagnose.doctor.games:Trap-v0", "discrete"),
        ("VizDoom/SomeMap", "pixels"),
    ],
)
@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_ppo_gets_all_of_them_and_others_what_describes_the_task(address, kind, algo):
    if address.startswith("VizDoom"):
        pytest.importorskip("vizdoom")
        address = "VizDoom/PredictPosition"
    resolved = resolve(f"{address}:{algo}")
    assert (resolved.origin(("algo", "lr")) == f"defaults {kind}") == (algo == "ppo")
    assert resolved.origin(("budget", "env_steps")) == f"defaults {kind}"
    assert resolved.config.budget.env_steps > 100_000
    assert (resolved.origin(("algo", "clip")) != "default") == (kind == "pixels" and algo == "ppo")


def test_what_is_typed_comes_first():
    typed = resolve("Blackjack-v1", ["algo.lr=0.5", "budget.env_steps=64"])
    assert typed.config.algo.lr.start == 0.5
    assert typed.origin(("algo", "steps")) == "fits budget.env_steps"


def test_a_short_budget_has_settings_of_its_own():
    pytest.importorskip("ale_py")
    game = "ALE/Asterix-v5"
    short = resolve(game, ["budget.env_steps=30_000"])
    assert short.origin(("algo", "entropy")) == "defaults arcade, short"
    assert (short.config.algo.epochs.start, short.config.algo.entropy.start) == (10, 0)
    assert short.origin(("algo", "steps")) == "defaults arcade"
    typed = resolve(game, ["budget.env_steps=30_000", "algo.entropy=0.5"])
    assert typed.config.algo.entropy.start == 0.5
    for other in (
        resolve(game),
        resolve(game, ["budget.env_steps=100_000"]),
        resolve(game, ["budget.env_steps=null", "budget.minutes=1", "algo.lr=1e-4"]),
        resolve(game, ["budget.env_steps=30_000"], algo="a2c"),
    ):
        assert "defaults arcade, short" not in labels(other)


def labels(resolved):
    return [layer.label for layer in resolved.layers]


def test_packaged_recipes_do_not_have_them():
    assert not any("defaults" in label for label in labels(resolve("CartPole-v1:ppo")))


def test_recipes_of_ones_own_stand_on_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "base: {env: {id: MountainCarContinuous-v0}}\nvariants: {mine: {algo: {epochs: 3}}}\n"
    (tmp_path / "car.yaml").write_text(text)
    own = resolve("car.yaml:mine")
    assert own.origin(("algo", "lr")) == "defaults continuous"
    assert own.config.algo.epochs.start == 3
    assert own.config.reward.normalize
    a2c = resolve("car.yaml", algo="a2c")
    assert (a2c.config.algo.name, a2c.origin(("algo", "lr"))) == ("a2c", "default")
    assert a2c.origin(("policy", "normalize_obs")) == "defaults continuous"


def test_the_kind_is_that_of_what_wrappers_show(tmp_path):
    wrappers = "[{name: tests.envs.wrappers.as_board}]"
    (tmp_path / "own.yaml").write_text(
        f"base: {{env: {{id: CartPole-v1, wrappers: {wrappers}}}}}\nvariants: {{mine: {{}}}}\n"
    )
    own = resolve(str(tmp_path / "own.yaml"))
    assert own.origin(("algo", "lr")) == "defaults grid"


def test_a_wrong_setting_of_the_environment_is_still_reported_with_its_line(tmp_path):
    (tmp_path / "car.yaml").write_text(
        "base: {env: {id: CartPole-v1, count: many}}\nvariants: {mine: {}}\n"
    )
    with pytest.raises(UserError, match=r"car.yaml:1: env.count"):
        resolve(str(tmp_path / "car.yaml"))


@pytest.mark.parametrize("algo", [None, "a2c"])
def test_defaults_in_place_of_a_variant_pass_over_the_recipe(algo):
    resolved = resolve("CartPole-v1:defaults", algo=algo)
    assert resolved.address == "CartPole-v1:defaults"
    assert resolved.config.algo.name == (algo or "ppo")
    assert resolved.origin(("policy", "normalize_obs")) == "defaults discrete"
    assert not any(label.startswith(("recipe", "variant")) for label in labels(resolved))


def test_a_variant_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "Acrobot-v1.yaml").write_text("variants: {defaults: {seed: 5}}\n")
    assert resolve("Acrobot-v1:defaults").config.seed == 5


def test_games_without_a_recipe_are_played_by_a_named_protocol():
    resolved = resolve("ALE/Seaquest-v5")
    assert resolved.config.env.protocol == "ale-v5"
    assert resolved.origin(("env", "sticky")) == "protocol ale-v5"
    assert resolve("ALE/Seaquest-v5", ["env.sticky=0"]).config.env.sticky == 0.0


def test_an_environment_that_cannot_be_made_says_so_later(monkeypatch):
    def broken(**kwargs):
        raise RuntimeError("no display")

    spec = gym.envs.registration.EnvSpec("Broken-v7", entry_point=broken)
    monkeypatch.setitem(gym.registry, "Broken-v7", spec)
    assert not any("defaults" in layer.label for layer in resolve("Broken-v7").layers)
