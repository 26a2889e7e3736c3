"""Addresses, inheritance and where each value came from."""

import pytest

from spotter.config import resolve
from spotter.schedules import constant
from spotter.types import UserError

FAMILY = """\
matches: [Toy-v*]
base:
  env: {count: 4, kwargs: {a: 1, start: 1}}
  algo: {gamma: 0.9, lr: {shape: cosine, start: 1, end: 0.5}}
"""
RECIPE = """\
description: the whole
base:
  env: {id: CartPole-v1, kwargs: {b: 2}}
  algo: {lr: {start: 0.5}}
  eval: {episodes: 7}
variants:
  fast:
    algo: {name: a2c, gamma: 0.8}
    budget: {env_steps: 1e3}
    expect: {score: 10, env_steps: 900}
  slow:
    description: the slow one
    algo: {name: reinforce}
    eval: {episodes: 9}
"""


@pytest.fixture
def toys(folder):
    folder("recipes/families/gymnasium.yaml", FAMILY)
    folder("recipes/Toy-v0.yaml", f"family: gymnasium\n{RECIPE}")
    return folder


def test_family_recipe_variant_command_line(toys):
    resolved = resolve("Toy-v0:slow", ["eval.episodes=11"])
    config = resolved.config
    assert (config.env.count, config.algo.gamma.start) == (4, 0.9)
    assert config.eval.episodes == 11
    origins = {
        "env.count": "family gymnasium, recipes/families/gymnasium.yaml:3",
        "env.id": "recipe Toy-v0, recipes/Toy-v0.yaml:4",
        "algo.name": "variant slow, recipes/Toy-v0.yaml:14",
        "eval.episodes": "command line",
        "eval.deterministic": "default",
        "algo.lr": "recipe Toy-v0, recipes/Toy-v0.yaml:5",
    }
    for path, origin in origins.items():
        assert resolved.origin(tuple(path.split("."))) == origin, path


def test_maps_merge_but_a_schedule_is_one_value(toys):
    config = resolve("Toy-v0:fast").config
    assert config.env.kwargs == {"a": 1, "start": 1, "b": 2}
    assert config.algo.lr.shape == "linear"
    assert (config.algo.lr.start, config.algo.lr.end) == (0.5, 0.0)


def test_an_override_reaches_into_a_schedule(toys):
    lr = resolve("Toy-v0:fast", ["algo.lr.end=0.25", "algo.lr.shape=exponential"]).config.algo.lr
    assert (lr.shape, lr.start, lr.end) == ("exponential", 0.5, 0.25)
    assert resolve("Toy-v0:fast", ["algo.lr=0.1"]).config.algo.lr == constant(0.1)


def test_a_part_of_a_schedule_changes_the_one_below(toys):
    part = {"algo": {"lr": {"end": 0.25}}}
    assert resolve("Toy-v0:fast", part).config.algo.lr.model_dump() == {
        "shape": "linear",
        "start": 0.5,
        "end": 0.25,
    }
    with pytest.raises(UserError, match=r"algo.gamma needs `start`, such as"):
        resolve("Toy-v0:fast", {"algo": {"gamma": {"end": 0.25}}})


def test_overrides_as_text_as_pairs_and_as_maps(toys):
    as_text = resolve("Toy-v0:fast", ["env.count=2", "seed=3"]).config
    assert resolve("Toy-v0:fast", {"env.count": 2, "seed": 3}).config == as_text
    assert resolve("Toy-v0:fast", {"env": {"count": 2}, "seed": 3}).config == as_text
    assert resolve("Toy-v0:fast", ["env.count=2", {"seed": 3}]).config == as_text


def test_the_last_override_wins(toys):
    assert resolve("Toy-v0:fast", ["seed=3", "seed=4"]).config.seed == 4
    assert resolve("Toy-v0:fast", ["algo.lr=3", "algo.lr.start=1"]).config.algo.lr.start == 1


def test_description_and_promise(toys):
    fast, slow = resolve("Toy-v0:fast"), resolve("Toy-v0:slow")
    assert (fast.description, slow.description) == ("the whole", "the slow one")
    assert fast.expect.score == 10
    assert fast.expect.seeds == 5
    assert slow.expect is None


@pytest.mark.parametrize(
    ("address", "algo", "name"),
    [
        ("Toy-v0", None, "Toy-v0:fast"),
        ("Toy-v0", "reinforce", "Toy-v0:slow"),
        ("Toy-v0:slow", "reinforce", "Toy-v0:slow"),
        ("recipes/Toy-v0.yaml", None, "Toy-v0:fast"),
        ("./recipes/Toy-v0.yaml:slow", None, "Toy-v0:slow"),
        ("elsewhere/Mine.yaml:slow", None, "Mine:slow"),
        ("CartPole-v1", None, "CartPole-v1:ppo"),
        ("MountainCarContinuous-v0", None, "MountainCarContinuous-v0:ppo"),
        ("MountainCarContinuous-v0:a2c", None, "MountainCarContinuous-v0:a2c"),
        ("MountainCarContinuous-v0", "a2c", "MountainCarContinuous-v0:a2c"),
        ("gymnasium:MountainCarContinuous-v0", None, "gymnasium:MountainCarContinuous-v0:ppo"),
        ("gymnasium:MountainCarContinuous-v0:a2c", None, "gymnasium:MountainCarContinuous-v0:a2c"),
    ],
)
def test_addresses(toys, address, algo, name):
    toys("elsewhere/Mine.yaml", RECIPE)
    assert resolve(address, algo=algo).address == name


def test_a_recipe_in_a_subfolder_keeps_its_namespace(toys):
    toys("recipes/Name/Space-v0.yaml", RECIPE)
    assert resolve("Name/Space-v0:fast").address == "Name/Space-v0:fast"
    assert resolve("recipes/Name/Space-v0.yaml:fast").address == "Name/Space-v0:fast"


def test_local_recipes_come_before_packaged_ones(toys):
    toys("recipes/CartPole-v1.yml", "variants: {mine: {}}")
    assert resolve("CartPole-v1").address == "CartPole-v1:mine"
    assert resolve("CartPole-v1").config.algo.name == "ppo"


def test_the_id_of_the_file_is_the_environment(folder):
    folder("recipes/Acrobot-v1.yaml", "variants: {mine: {}}")
    env = resolve("Acrobot-v1:mine").config.env
    assert (env.id, env.family) == ("Acrobot-v1", "classic")


@pytest.mark.parametrize(
    ("address", "algo", "sentence"),
    [
        ("Toy-v0:slo", None, "Toy-v0 has no variant 'slo'; did you mean 'Toy-v0:slow'?"),
        ("Toy-v0:x", None, "Toy-v0 has no variant 'x'; it has fast and slow"),
        ("Toy-v0:x", "ppo", "Toy-v0 has no variant 'x'; it has fast and slow"),
        ("Toy-v0", "a2", "unknown algorithm 'a2'; did you mean 'a2c'?"),
        (
            "Toy-v0:slow",
            "a2c",
            "Toy-v0:slow uses reinforce, not a2c; leave out the variant or the algorithm",
        ),
        ("Toy-v1", None, "unknown recipe or environment 'Toy-v1'; did you mean 'Toy-v0'?"),
        (
            "Tyo-v0:fats",
            None,
            "unknown recipe or environment 'Tyo-v0:fats'; did you mean 'Toy-v0:f",
        ),
        (
            "MountainCarContinuos-v0",
            None,
            "unknown recipe or environment 'MountainCarContinuos-v0'; did you mean 'MountainCarCo",
        ),
        ("Reacher-v9", None, "unknown recipe or environment 'Reacher-v9'; did you mean 'Reacher-v"),
        (
            "qqqq",
            None,
            "unknown recipe or environment 'qqqq'; `spotter list` shows what there is",
        ),
        ("no_pkg:X-v0", None, "unknown recipe or environment 'no_pkg:X-v0'"),
        (
            "MountainCarContinuous-v0:pppo",
            None,
            "unknown algorithm 'pppo'; did you mean 'ppo'?",
        ),
        (
            "MountainCarContinuous-v0:a2c",
            "ppo",
            "'MountainCarContinuous-v0:a2c' names a2c, not ppo; leave out one of the two",
        ),
        ("nowhere.yaml", None, "there is no file nowhere.yaml"),
        ("", None, "unknown recipe or environment ''"),
    ],
)
def test_addresses_that_name_nothing(toys, address, algo, sentence):
    with pytest.raises(UserError) as caught:
        resolve(address, algo=algo)
    assert str(caught.value).startswith(sentence)


def test_a_package_that_fails_to_import_is_named(folder, monkeypatch):
    folder("broken_pkg.py", "1 / 0\n")
    monkeypatch.syspath_prepend(".")
    with pytest.raises(UserError, match=r"broken_pkg of .* cannot be imported: ZeroDivisionError"):
        resolve("broken_pkg:X-v0")


def test_a_broken_neighbour_does_not_spoil_the_suggestion(folder):
    folder("recipes/Broken-v0.yaml", "a: [")
    with pytest.raises(UserError, match="did you mean 'Broken-v0'"):
        resolve("Brokn-v0")


def test_a_variant_without_settings_is_refused(folder):
    folder("recipes/Empty-v0.yaml", "variants:\n  ppo:\n")
    with pytest.raises(UserError, match=r"Empty-v0.yaml:2: variant ppo should be a map of setting"):
        resolve("Empty-v0")
    folder("recipes/Empty-v0.yaml", "variants: {}\n")
    with pytest.raises(UserError, match="a recipe needs `variants`, one at least"):
        resolve("Empty-v0")
