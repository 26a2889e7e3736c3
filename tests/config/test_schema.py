"""The editor's schema: up to date, true of every packaged recipe, and strict."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from spotter.config import recipes
from spotter.config.schema import recipe_schema

WRITTEN = Path(__file__).parents[2] / "docs/reference/recipe.schema.json"
SCHEMA = recipe_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
GOOD = {
    "family": "classic",
    "base": {"algo": {"gamma": 0.9, "clip": 0.1}},
    "variants": {
        "a": {
            "description": "words",
            "env": {
                "count": 2,
                "wrappers": [{"name": "frame_stack", "count": 2}],
                "kwargs": {"x": 1},
            },
            "reward": {"clip": None, "signals": [{"source": "info", "key": "x", "weight": 2}]},
            "algo": {"name": "ppo", "lambda": 0.9, "lr": {"start": 1, "end": 0, "from": 0.5}},
            "budget": {"env_steps": 5e4},
            "expect": {"score": 1, "env_steps": 10},
        }
    },
}


def test_the_written_schema_is_up_to_date():
    assert json.loads(WRITTEN.read_text(encoding="utf-8")) == SCHEMA, (
        "spotter config schema > docs/reference/recipe.schema.json"
    )


def test_it_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(recipes.files()))
def test_packaged_recipes_are_valid(name):
    data = recipes.plain(recipes.read(recipes.files()[name]).data)
    assert [error.message for error in VALIDATOR.iter_errors(data)] == []


def test_a_good_recipe():
    assert list(VALIDATOR.iter_errors(GOOD)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("famly", "classic"),
        ("variants", {}),
        ("base.algo.clop", 0.1),
        ("base.algos", {}),
        ("variants.a.desc", "x"),
        ("variants.a.env.cout", 2),
        ("variants.a.env.count", "2"),
        ("variants.a.env.count", 2.5),
        ("variants.a.env.count", 0),
        ("variants.a.env.workers", 0),
        ("variants.a.env.wrappers", [{"name": "frame_stak"}]),
        ("variants.a.env.wrappers", [{"name": "frame_stack", "skip": 3}]),
        ("variants.a.env.wrappers", [{"count": 3}]),
        ("variants.a.reward.signals", [{"source": "info"}]),
        ("variants.a.algo.name", "pp0"),
        ("variants.a.algo.returns", "to_go"),
        ("variants.a.algo.lambda_", 0.9),
        ("variants.a.algo.lr", "fast"),
        ("variants.a.algo.lr.stop", 0),
        ("variants.a.algo.lr.shape", "wavy"),
        ("variants.a.expect", {"score": 1}),
    ],
)
def test_mistakes_show_in_the_editor(path, value):
    data = deepcopy(GOOD)
    *parents, key = path.split(".")
    node = data
    for part in parents:
        node = node[part]
    node[key] = value
    assert list(VALIDATOR.iter_errors(data)) != []


def test_schedules_say_what_they_are():
    schedule = SCHEMA["$defs"]["Schedule"]
    assert "number" in schedule["description"]
    assert [option["type"] for option in schedule["anyOf"]] == ["number", "object"]


def test_somebody_elses_algorithm_is_taken_on_trust():
    data = {"variants": {"a": {"algo": {"name": "their.algo", "size": 3}}}}
    assert list(VALIDATOR.iter_errors(data)) == []


def game(family: str | None, **env) -> dict:
    named = {"family": family} if family else {}
    return {**named, "base": {"env": env}, "variants": {"a": {"env": env}}}


@pytest.mark.parametrize("family", ["atari", None])
def test_settings_of_a_family(family):
    assert list(VALIDATOR.iter_errors(game(family, sticky=0.25, size=[84, 84], count=2))) == []
    assert list(VALIDATOR.iter_errors(game(family, sticky=2))) != []
    assert list(VALIDATOR.iter_errors(game(family, stiky=0.25))) != []
    assert list(VALIDATOR.iter_errors(game(family, wrappers=[{"name": "frame_stak"}]))) != []


def test_a_recipe_that_names_its_family_has_no_settings_of_another():
    assert list(VALIDATOR.iter_errors(game("minatar", difficulty_ramping=False))) == []
    assert list(VALIDATOR.iter_errors(game("atari", difficulty_ramping=False))) != []
    assert list(VALIDATOR.iter_errors(game("classic", sticky=0.25))) != []


def test_editors_show_what_a_setting_of_a_family_is_for():
    assert "action" in SCHEMA["$defs"]["envs.atari"]["properties"]["sticky"]["description"]
