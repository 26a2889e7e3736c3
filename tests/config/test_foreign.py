"""Settings from a stranger lead to nothing but Spotter's own names."""

import sys

import pytest

from spotter.config.foreign import check_id, check_names, is_recipe, outside
from spotter.types import UserError

OWN = {
    "env": {"id": "ALE/Pong-v5", "family": "atari", "wrappers": [{"name": "frame_skip"}]},
    "algo": {"name": "ppo"},
    "policy": {"encoder": "auto"},
    "reward": {"signals": [{"name": "novelty", "source": "state_count"}]},
}


def test_our_own_names_pass():
    check_names(OWN)
    check_names({})


@pytest.mark.parametrize(
    ("section", "value", "where"),
    [
        ("env", {"family": "foreign_names.module"}, "env.family"),
        ("env", {"id": "foreign_names:Env-v0"}, "env.id"),
        ("env", {"id": "../Env-v0"}, "env.id"),
        ("env", {"wrappers": [{"name": "foreign_names.module"}]}, "env.wrappers[0].name"),
        ("algo", {"name": "foreign_names.module"}, "algo.name"),
        ("algo", {"name": "foreign_names"}, "algo.name"),
        ("policy", {"encoder": "foreign_names.module"}, "policy.encoder"),
        ("policy", {"encoder": {"name": "foreign_names.module"}}, "policy.encoder.name"),
        ("sinks", ["foreign_names.module"], "sinks[0]"),
        ("launch", "foreign_names.module", "launch"),
        ("sinks", [{"name": "foreign_names.module"}], "sinks[0].name"),
        ("reward", {"signals": [{"source": "foreign_names.module"}]}, "reward.signals[0].source"),
    ],
)
def test_a_name_that_is_not_ours_is_refused_and_never_imported(section, value, where):
    with pytest.raises(UserError) as error:
        check_names({section: value}, "start the server with --trust")
    assert str(error.value).startswith(f"{where}: ")
    assert "foreign_names" not in sys.modules


@pytest.mark.parametrize("data", [{"env": 3}, {"env": {"wrappers": "x"}}, {"algo": {"name": 5}}])
def test_what_is_no_text_is_left_to_the_config(data):
    check_names(data)


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("CartPole-v1", True),
        ("CartPole-v1:ppo_centre", True),
        ("CartPole-v1:reinforce", True),
        ("CartPole-v1:foreign_names.algorithm", False),
        ("CartPole-v1:", True),
        ("foreign_names:Env-v0", False),
        ("/tmp/recipe.yaml", False),
        ("", False),
    ],
)
def test_which_addresses_are_recipes(address, is_one):
    assert is_recipe(address) is is_one


def test_plain_ids():
    check_id("env", "MinAtar/Breakout")
    with pytest.raises(UserError, match="is not the plain id"):
        check_id("env", "a:b")


def test_what_the_family_python_would_call_is_outside():
    env = {"id": "spotter.testing.families:check_family", "family": "python"}
    assert outside({"env": env}) == {"env.id": env["id"]}
    assert outside({"env": {**env, "family": "gymnasium"}}) == {}
