"""Protocols: game settings under one name, between family and recipe, whoever names them."""

from pathlib import Path

import pytest

from spotter.config import changed, recipes, resolve
from spotter.config.catalogue import check, entries
from spotter.config.format import format_text
from spotter.types import UserError

FAMILY = "tests.config.fake_family"
HARD = f"""\
description: as hard as it gets
family: {FAMILY}
base:
  env: {{skill: 5, sticky: 0.25}}
  reward: {{clip: 1}}
"""
RECIPE = f"""\
family: {FAMILY}
base: {{env: {{id: CartPole-v1, sticky: 0.5}}}}
variants:
  plain: {{}}
  hard: {{env: {{protocol: hard}}}}
  custom: {{env: {{protocol: hard, skill: 2}}}}
"""


@pytest.fixture
def games(folder):
    folder(f"recipes/families/{FAMILY}.yaml", "base: {env: {count: 2, skill: 1, view: pixels}}\n")
    folder("recipes/protocols/hard.yaml", HARD)
    folder("recipes/protocols/soft.yaml", HARD.replace("skill: 5", "skill: 1"))
    folder("recipes/Game-v0.yaml", RECIPE)
    return folder


def test_it_lies_between_family_and_recipe(games):
    resolved = resolve("Game-v0:hard")
    env = resolved.config.env
    assert (env.skill, env.sticky, env.view, env.count) == (5, 0.5, "pixels", 2)
    assert resolved.config.reward.clip == 1
    for path, origin in {
        "env.count": f"family {FAMILY}",
        "env.skill": "protocol hard",
        "reward.clip": "protocol hard",
        "env.sticky": "recipe Game-v0",
        "env.protocol": "variant hard",
        "env.size": "default",
    }.items():
        assert resolved.origin(tuple(path.split("."))).split(", ")[0] == origin, path


def test_whoever_names_it(games):
    assert resolve("Game-v0:custom").config.env.skill == 2
    assert resolve("Game-v0:plain").config.env.skill == 1
    typed = resolve("Game-v0:plain", ["env.protocol=hard"])
    assert (typed.config.env.skill, typed.config.env.sticky) == (5, 0.5)
    assert typed.origin(("env", "skill")) == "protocol hard, recipes/protocols/hard.yaml:4"
    assert typed.origin(("env", "protocol")) == "command line"
    assert resolve("Game-v0:hard", ["env.protocol=soft"]).config.env.skill == 1
    both = resolve("Game-v0:plain", ["env.protocol=hard", "env.sticky=0.75"]).config.env
    assert (both.skill, both.sticky) == (5, 0.75)
    games(
        f"recipes/families/{FAMILY}.yaml", "base: {env: {protocol: hard, skill: 1}}\n"
    )  # a family's default
    assert resolve("Game-v0:plain").config.env.skill == 5


def test_null_leaves_it(games):
    left = resolve("Game-v0:hard", ["env.protocol=null"]).config
    assert (left.env.skill, left.reward.clip, left.env.protocol) == (1, None, None)


def test_a_whole_config_takes_a_protocol_s_settings(games):
    config = resolve("Game-v0:plain", ["env.count=3"]).config
    env = changed(config, ["env.protocol=hard", "env.skill=4"]).env
    assert (env.skill, env.sticky, env.count) == (4, 0.25, 3)
    mine = changed(config, ["env.protocol=hard"])
    again = changed(changed(mine, ["env.skill=2"]), ["env.count=4"]).env
    assert (again.skill, again.protocol) == (2, "hard"), "it is not laid on twice"


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ["env.protocol=harf"],
            "command line: env.protocol: there is no protocol 'harf'; did you mean 'hard'?",
        ),
        (
            ["env.protocol=deepmind2015"],
            "command line: env.protocol: deepmind2015 is for the family atari, "
            f"not {FAMILY}; {FAMILY} has hard and soft",
        ),
        (["env.protocol=3"], "command line: env.protocol should be text, got 3"),
    ],
)
def test_mistakes_are_one_sentence(games, overrides, sentence):
    with pytest.raises(UserError) as caught:
        resolve("Game-v0:plain", overrides)
    assert str(caught.value) == sentence


def test_a_family_without_any_says_so():
    with pytest.raises(UserError, match=r"for the family atari, not classic; classic has none$"):
        resolve("CartPole-v1:ppo", ["env.protocol=machado2018"])


def test_a_mistake_in_a_recipe_is_found_on_its_line(games):
    games("recipes/Game-v0.yaml", RECIPE.replace("{protocol: hard}", "{protocol: haard}"))
    with pytest.raises(UserError, match=r"Game-v0.yaml:5: env.protocol: there is no .*'hard'\?$"):
        resolve("Game-v0:hard")
    games("recipes/Game-v0.yaml", RECIPE)
    games("recipes/protocols/hard.yaml", HARD.replace("skill: 5", "skill: 9"))
    with pytest.raises(UserError, match=r"hard.yaml:4: env.skill should be at most 5, got 9"):
        resolve("Game-v0:hard")


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("skill: 5", "skil: 5", "4: env.skil is not a setting; did you mean env.skill?"),
        ("skill: 5", "count: 5", "4: env.count is no part of a protocol; it goes into recipes"),
        ("reward: {clip: 1}", "algo: {lr: 1}", "5: a protocol sets env and reward only"),
        ("reward: {clip: 1}", "rewards: {clip: 1}", "5: rewards is not a setting; did you mean"),
        (f"family: {FAMILY}", "", "1: a protocol needs `family`"),
        (f"family: {FAMILY}", "family: atarri", "2: unknown family 'atarri'; did you mean 'atari'"),
        ("description:", "descriptn:", "1: descriptn is not a key of this file; did you mean"),
    ],
)
def test_the_files_are_checked(games, before, after, sentence):
    path = games("recipes/protocols/hard.yaml", HARD.replace(before, after))
    (problem,) = check([path]).problems
    assert problem.startswith(f"{path}:{sentence}")


def test_they_are_no_recipes(games):
    assert set(recipes.protocol_files()) >= {"hard", "soft", "deepmind2015", "machado2018"}
    assert not any("protocols" in name for name in recipes.files())
    assert not any("protocols" in entry.address for entry in entries())
    assert recipes.kind_of(Path("recipes/protocols/x.yaml")) == "protocol"
    checked = check([Path("recipes")])
    assert (checked.files, checked.variants, checked.problems) == (4, 3, [])


def test_the_formatter_knows_their_order():
    text = f"base:\n  env:\n    sticky: 0\n    skill: 1\nfamily: {FAMILY}\ndescription: x\n"
    keys = [line.strip().split(":")[0] for line in format_text(text, "protocol").splitlines()]
    assert keys == ["description", "family", "base", "env", "skill", "sticky"]


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        (
            "deepmind2015",
            {"frame_skip": 4, "pool": True, "sticky": 0.0, "noops": 30, "fire": True}
            | {"life_loss": True, "frame_cap": 108_000, "grey": True, "size": (84, 84)}
            | {"stack": 4, "full_actions": False},
        ),
        (
            "machado2018",
            {"frame_skip": 4, "sticky": 0.25, "noops": 0, "life_loss": False}
            | {"frame_cap": 108_000, "full_actions": True},
        ),
    ],
)
def test_the_atari_ones_say_what_the_papers_say(name, facts):
    config = resolve("ale_py:ALE/Freeway-v5", [f"env.protocol={name}"]).config
    assert {key: getattr(config.env, key) for key in facts} == facts
    assert config.reward.clip == 1.0


def test_every_packaged_protocol_is_on_its_page():
    page = (Path(__file__).parents[2] / "docs/howto/protocols.md").read_text(encoding="utf-8")
    assert [name for name in recipes.protocol_files() if f"| `{name}` |" not in page] == []
