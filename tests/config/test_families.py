"""Families with settings of their own: `env` is what the family says it is."""

import pytest

from spotter.config import EnvConfig, RunConfig, resolve, tree, validate
from spotter.config.dump import to_yaml
from spotter.config.format import format_text
from spotter.config.recipes import parse, plain
from spotter.types import UserError
from tests.config.fake_family import Config

FAMILY = "tests.config.fake_family"


def test_a_family_of_ones_own_needs_no_file_of_settings(folder):
    text = f"""
        family: {FAMILY}
        variants:
          a: {{env: {{id: CartPole-v1, skill: 4}}}}
    """
    found = resolve(str(folder("recipes/Mine.yaml", text)))
    assert (found.config.env.family, found.config.env.skill) == (FAMILY, 4)


ENV = {"id": "CartPole-v1", "family": FAMILY}


def config(**env) -> RunConfig:
    return validate({"env": {**ENV, **env}, "algo": {"name": "ppo"}})


def test_the_family_brings_settings():
    env = config(skill=4, size=[84, 84]).env
    assert isinstance(env, Config)
    assert (env.skill, env.view, env.size, env.count) == (4, "state", (84, 84), 8)


def test_a_family_without_settings_has_the_common_ones():
    for family in ("", "classic", "gymnasium"):
        env = {"id": "CartPole-v1", "family": family}
        assert type(validate({"env": env}).env) is EnvConfig


def test_it_reads_back_from_what_is_saved():
    before = config(skill=4, size=[84, 84], wrappers=[{"name": "frame_stack", "count": 2}])
    data = before.as_data()
    assert data["env"]["skill"] == 4
    assert data["env"]["size"] == [84, 84]
    again = validate(plain(parse(to_yaml(data), "config.yaml")))
    assert again == before
    assert again.as_data() == data


def test_a_plain_one_becomes_the_family_s():
    algo = {"name": "ppo"}
    wrappers = ({"name": "frame_stack", "count": 2},)
    run = RunConfig(env=EnvConfig(**ENV, count=2, wrappers=wrappers), algo=algo)
    assert isinstance(run.env, Config)
    assert (run.env.count, run.env.skill, run.env.wrappers[0].count) == (2, 3, 2)
    own = Config(**ENV, skill=5)
    assert RunConfig(env=own, algo=algo).env is own


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["env.skil=2"], "command line: env.skil is not a setting; did you mean env.skill?"),
        (["env.skill=9"], "command line: env.skill should be at most 5, got 9"),
        (["env.view=pixel"], "command line: env.view should be pixels or state, got 'pixel'; "
                             "did you mean pixels?"),
        (["env.size=[1]"], "command line: env.size[1] is missing"),
        (["env.family=clasic"], "command line: env.family: unknown environment family 'clasic'; "
                                "did you mean 'classic'?"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(folder, overrides, sentence):
    folder("recipes/families/mine.yaml", "base: {env: {count: 2}}\n")
    folder(
        "recipes/Mine-v0.yaml",
        f"""\
        family: mine
        base: {{env: {{id: CartPole-v1, family: {FAMILY}}}}}
        variants: {{ppo: {{}}}}
        """,
    )
    assert resolve("Mine-v0", ["env.skill=2"]).config.env.skill == 2
    with pytest.raises(UserError) as caught:
        resolve("Mine-v0", overrides)
    assert str(caught.value).startswith(sentence)


def test_a_mistake_in_a_file_is_found_on_its_line(folder):
    folder("recipes/families/mine.yaml", "base: {env: {count: 2}}\n")
    folder(
        "recipes/Mine-v0.yaml",
        f"""\
        family: mine
        base:
          env:
            family: {FAMILY}
            id: CartPole-v1
            skill: high
        variants: {{ppo: {{}}}}
        """,
    )
    with pytest.raises(UserError, match=r"Mine-v0.yaml:6: env.skill should be a whole number"):
        resolve("Mine-v0")


def test_somebody_else_s_setting_says_whose_it_is():
    with pytest.raises(UserError, match=r"env.frame_skip is a setting of .*atari"):
        resolve("CartPole-v1:ppo", ["env.frame_skip=4"])


def test_the_tree_knows_the_family_s_keys():
    data = config(skill=4).as_data()
    model = tree.model_at(RunConfig, ("env",), data)
    assert model is Config
    assert {"env.skill", "env.count"} <= set(tree.paths(RunConfig, data))


def test_the_formatter_orders_them():
    text = f"""\
family: {FAMILY}
variants:
  one:
    env:
      view: pixels
      skill: 2
      count: 3
"""
    lines = format_text(text, "recipe", "Mine-v0.yaml").splitlines()
    assert [line.strip().split(":")[0] for line in lines[-3:]] == ["count", "skill", "view"]
