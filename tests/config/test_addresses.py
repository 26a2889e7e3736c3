"""What an address finds: recipes by package id, packaged variants, algorithms without a variant."""

import pytest

from spotter.config import recipes, resolve
from spotter.config.catalogue import check, entries
from spotter.types import UserError

PACKAGE = """\
import gymnasium as gym
gym.register("Drift-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
"""


@pytest.fixture
def package(folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder("drift_pkg.py", PACKAGE)
    folder(
        "recipes/mine/Drift.yaml",
        "base: {env: {id: 'drift_pkg:Drift-v0'}, seed: 5}\n"
        "variants: {slow: {algo: {name: a2c}}, ppo: {}}\n",
    )


# --- algorithms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
@pytest.mark.parametrize("name", recipes.files())
def test_every_recipe_takes_every_algorithm(name, algo):
    resolved = resolve(name, algo=algo)
    assert resolved.config.algo.name == algo
    assert resolved.address.startswith(f"{name}:")


def test_an_algorithm_without_a_variant_has_its_defaults_over_what_variants_share(folder):
    base = "env: {id: CartPole-v1}, seed: 9, algo: {gamma: 0.5, clip: 0.3}"
    folder("recipes/Toy-v0.yaml", f"base: {{{base}}}\nvariants: {{one: {{}}, two: {{seed: 3}}}}\n")
    for resolved in (resolve("Toy-v0", algo="a2c"), resolve("Toy-v0:a2c")):
        config = resolved.config
        assert (resolved.address, config.seed, config.env.id) == ("Toy-v0:a2c", 9, "CartPole-v1")
        assert config.algo.gamma.start == 0.5
        assert resolved.description == "a2c with its defaults: Toy-v0 has no variant for it"
        assert resolved.expect is None
    named = base.replace("algo: {", "algo: {name: ppo, ")
    folder("recipes/Toy-v0.yaml", f"base: {{{named}}}\nvariants: {{one: {{}}}}\n")
    assert resolve("Toy-v0:a2c").config.algo.gamma.start == 0.99


@pytest.mark.parametrize(
    "typed", ["algo.name=a2c", "algo=a2c", {"algo": "a2c"}, {"algo": {"name": "a2c"}}]
)
@pytest.mark.parametrize(
    "address", ["CartPole-v1", "Pendulum-v1", "Blackjack-v1", "Taxi-v4", "ALE/Pong-v5"]
)
def test_a_typed_algorithm_chooses_as_the_option_does(address, typed):
    by_option, by_setting = resolve(address, algo="a2c"), resolve(address, [typed])
    assert by_setting.address == by_option.address
    assert by_setting.config == by_option.config


def test_an_own_algorithm_takes_over_a_variant_if_it_can(folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder(
        "own_ppo.py",
        "from typing import Literal\n"
        "from spotter.algos import ppo\n"
        "from spotter.algos.ppo import METRICS, make\n"
        'class Config(ppo.Config):\n    name: Literal["own_ppo"] = "own_ppo"\n',
    )
    assert resolve("CartPole-v1:ppo", ["algo=own_ppo"]).config.algo.name == "own_ppo"
    for address, variant in (("CartPole-v1:ppo", "uses ppo"), ("Blackjack-v1:ppo", "names ppo")):
        with pytest.raises(UserError, match=f"{variant}, not a2c; leave out"):
            resolve(address, ["algo=a2c"])


# --- package ids ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "algo", "found"),
    [
        ("drift_pkg:Drift-v0", None, "mine/Drift:ppo"),
        ("drift_pkg:Drift-v0:slow", None, "mine/Drift:slow"),
        ("drift_pkg:Drift-v0", "a2c", "mine/Drift:slow"),
        ("drift_pkg:Drift-v0:reinforce", None, "mine/Drift:reinforce"),
    ],
)
def test_a_recipe_is_found_by_the_package_id_it_is_for(package, address, algo, found):
    resolved = resolve(address, algo=algo)
    assert resolved.address == found
    assert (resolved.config.seed, resolved.config.env.id) == (5, "drift_pkg:Drift-v0")


def test_a_broken_recipe_does_not_hide_a_package(package, folder):
    folder("recipes/mine/Drift.yaml", "base: [")
    assert resolve("drift_pkg:Drift-v0").config.seed == 1


# --- recipes of one's own ------------------------------------------------------------------------


def test_own_variants_are_added_to_the_packaged_ones(folder):
    packaged = {entry.address for entry in entries()}
    folder("recipes/CartPole-v1.yaml", "variants:\n  mine: {seed: 8}\n  a2c: {seed: 7}\n")
    assert resolve("CartPole-v1").address == "CartPole-v1:mine"
    assert resolve("CartPole-v1:mine").notes == ()
    shipped = resolve("CartPole-v1:ppo")
    assert shipped.expect.score == 475
    assert shipped.origin(("algo", "gamma")) == "variant ppo"
    own = resolve("CartPole-v1:a2c")
    assert own.config.seed == 7
    assert own.notes == (
        "recipes/CartPole-v1.yaml:3: variant a2c hides the one that comes with Spotter",
    )
    assert {entry.address for entry in entries()} == packaged | {"CartPole-v1:mine"}
    with pytest.raises(UserError, match="it has mine, a2c, ppo, ppo_centre and reinforce"):
        resolve("CartPole-v1:zzzz")


def test_a_file_without_a_family_finds_it(folder):
    folder("recipes/toys/any.yaml", "variants: {one: {env: {id: Taxi-v4}}, two: {}}\n")
    folder("recipes/Pendulum-v1.yaml", "variants: {one: {}}\n")
    assert resolve("toys/any:one").config.env.family == "toy_text"
    assert resolve("toys/any:one").config.policy.discrete == "onehot"
    assert resolve("Pendulum-v1:one").config.env.family == "classic"


@pytest.mark.parametrize(
    ("address", "typed", "family"),
    [
        ("LunarLander-v3", "Taxi-v4", "toy_text"),
        ("CartPole-v1:ppo", "Acrobot-v1", "classic"),
        ("CartPole-v1:ppo", "FrozenLake-v1", "toy_text"),
        ("Acrobot-v1", "Reacher-v5", "mujoco"),
    ],
)
def test_the_family_follows_an_overridden_environment(address, typed, family):
    resolved = resolve(address, [f"env.id={typed}"])
    assert resolved.config.env.family == family
    if family == "toy_text":
        assert resolved.config.policy.discrete == "onehot"


def test_a_family_that_was_named_stays():
    assert resolve("CartPole-v1", ["env.id=Taxi-v4", "env.family=gymnasium"]).config.env.family == (
        "gymnasium"
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Taxi-v3", "Taxi-v4"),
        ("LunarLander-v2", "LunarLander-v3"),
        ("FrozenLake-v0", "FrozenLake-v1"),
    ],
)
def test_another_version_is_proposed(typed, meant):
    with pytest.raises(UserError, match=f"'{typed}'; did you mean '{meant}'"):
        resolve(typed)


# --- check ---------------------------------------------------------------------------------------


def test_every_problem_at_once(folder):
    folder(
        "recipes/Bad-v0.yaml",
        "famly: classic\n"
        "base: {env: {id: CartPole-v1, count: none}, bugdet: {}}\n"
        "variants:\n"
        "  one: {algo: {name: ppo, lr: fast, clp: 1}, seed: x}\n"
        "  two: {algo: {name: zzz}}\n",
    )
    folder(
        "recipes/Worse-v0.yaml",
        "base: {env: {id: CartPole-v1, count: none}}\n"
        "variants:\n"
        "  one: {algo: {name: ppo, lr: fast, clp: 1}, seed: x}\n"
        "  two: {algo: {name: zzz}}\n",
    )
    checked = check([])
    assert checked.bad_files == 2
    places = [problem.split(": ")[0] for problem in checked.problems]
    assert places[:2] == ["recipes/Bad-v0.yaml:1", "recipes/Bad-v0.yaml:2"]
    worse = [problem for problem in checked.problems if "Worse" in problem]
    assert sorted(problem.split(": ")[1].split()[0] for problem in worse) == [
        "algo.clp", "algo.lr", "algo.name", "env.count", "seed",
    ]  # fmt: skip


def test_a_recipe_for_a_class_needs_no_family(folder):
    folder("grove.py", "import gymnasium as gym\nclass Tree(gym.Env): pass\n")
    folder("recipes/Tree.yaml", "base: {env: {id: 'grove:Tree'}}\nvariants: {one: {}}\n")
    assert resolve("Tree:one").config.env.family == "python"


@pytest.mark.parametrize(
    ("address", "note"),
    [
        (
            "MountainCarContinuous-v0",
            "no recipe for MountainCarContinuous-v0: defaults for continuous control "
            "(kind `continuous`)",
        ),
        (
            "Blackjack-v1:a2c",
            "no recipe for Blackjack-v1: defaults for tabular states (kind `tabular`)",
        ),
        (
            "CartPole-v1:defaults",
            "CartPole-v1 without its recipe: defaults for discrete actions (kind `discrete`)",
        ),
    ],
)
def test_which_defaults_stand_in_for_a_recipe_is_said(address, note):
    assert resolve(address).notes == (note,)


def test_a_recipe_says_nothing_of_defaults():
    assert resolve("CartPole-v1").notes == ()


@pytest.mark.parametrize(("algo", "steps"), [("ppo", 128), ("a2c", 5)])
def test_defaults_of_a_kind_are_tuned_for_ppo(algo, steps):
    """Another algorithm gets what describes the task: normalisation, budget, the discount."""
    config = resolve(f"Blackjack-v1:{algo}").config
    assert (config.algo.steps, config.budget.env_steps) == (steps, 300_000)
    car = resolve(f"MountainCarContinuous-v0:{algo}").config
    assert car.policy.normalize_obs == "auto"
    assert car.algo.gamma == resolve("MountainCarContinuous-v0").config.algo.gamma
