"""Every mistake gets one good sentence: what, where, and the nearest valid thing."""

import pytest

from spotter.config import resolve
from spotter.types import UserError

ADDRESS = "CartPole-v1:ppo"
SENTENCES = {
    # unknown keys
    "algo.clp=0.1": "algo.clp is not a setting; did you mean algo.clip?",
    "algo.lambda_=0.5": "algo.lambda_ is not a setting; did you mean algo.lambda?",
    "lr=3e-4": "lr is not a setting; did you mean algo.lr?",
    "algo.count=3": "algo.count is not a setting; did you mean env.count?",
    "bugdet.env_steps=3": "bugdet is not a setting; did you mean budget?",
    "algo.lr={start: 1, flor: 0}": "algo.lr.flor is not a setting; did you mean algo.lr.floor?",
    "algo.returns=to_go": "algo.returns is a setting of reinforce, not of ppo",
    "eval.xyzzy=1": (
        "eval.xyzzy is not a setting; eval has every_steps, after_steps, after_score, episodes, "
        "env_steps, share, deterministic, stop_when_solved and mode"
    ),
    "env.wrappers=[{name: frame_stack, cont: 3}]": (
        "env.wrappers[0].cont is not a setting; did you mean env.wrappers[0].count?"
    ),
    # wrong types
    "env.count=ten": "env.count should be a whole number, got 'ten'",
    "env.count='8'": "env.count should be a whole number, got '8'",
    "env.count=true": "env.count should be a whole number, got true",
    "env.count=2.5": "env.count should be a whole number, got 2.5",
    "env.count=null": "env.count should be a whole number, got null",
    "reward.scale='2'": "reward.scale should be a number, got '2'",
    "reward.scale=.nan": "reward.scale should be a finite number, got nan",
    "reward.normalize=yes": "reward.normalize should be true or false, got 'yes'",
    "reward.normalize=1": "reward.normalize should be true or false, got 1",
    "env.id=3": "env.id should be text, got 3",
    "policy.hidden=64": "policy.hidden should be a list, got 64",
    "policy.hidden=[64, x]": "policy.hidden[1] should be a whole number, got 'x'",
    "env.kwargs=3": "env.kwargs should be a map, got 3",
    "eval=null": "eval should be a map of settings, got null",
    "algo.epochs=ten": (
        "algo.epochs should be a number or a schedule such as "
        "{shape: linear, start: 1, end: 0}, got 'ten'"
    ),
    "algo.epochs=true": (
        "algo.epochs should be a number or a schedule such as "
        "{shape: linear, start: 1, end: 0}, got true"
    ),
    "algo.lr.start='1'": "algo.lr.start should be a number, got '1'",
    "policy.activation=tahn": (
        "policy.activation should be tanh, relu, elu, gelu or silu, got 'tahn'; did you mean tanh?"
    ),
    "env.wrappers=[{name: frame_skip, skip: x}]": (
        "env.wrappers[0].skip should be a whole number or a list, got 'x'"
    ),
    "env.wrappers=[{name: randomize, attributes: {}}]": (
        "env.wrappers[0].attributes should be a map with at least 1 item, got {}"
    ),
    "env.wrappers=[{name: action_mask, valid: []}]": (
        "env.wrappers[0].valid should be a list with at least 1 item, got []"
    ),
    "reward.signals=[{source: info, key: ''}]": (
        "reward.signals[0].key: string should have at least 1 character, got ''"
    ),
    # out of range
    "env.count=0": "env.count should be at least 1, got 0",
    "seed=-1": "seed should be at least 0, got -1",
    "seed=2147483648": "seed should be below 2147483648, got 2147483648",
    "reward.clip=0": "reward.clip should be above 0, got 0",
    "algo.gamma=1.5": "algo.gamma should stay between 0 and 1, got 1.5",
    "algo.lr=-1": "algo.lr should stay at 0 or above, got -1",
    "algo.gamma={start: 1.5}": "algo.gamma should stay between 0 and 1, got {start: 1.5}",
    "algo.max_grad_norm={start: 1, end: 0}": (
        "algo.max_grad_norm should stay above 0, got {start: 1, end: 0}"
    ),
    "policy.hidden=[64, 0]": "policy needs every width in `hidden` to be at least 1",
    # missing
    "env.wrappers=[{name: time_limit}]": "env.wrappers[0].steps is missing",
    "env.wrappers=[{nam: frame_stack}]": (
        "env.wrappers[0] needs `name`; `nam` looks like a misspelling of it"
    ),
    "reward.signals=[{souce: info}]": (
        "reward.signals[0] needs `source`; `souce` looks like a misspelling of it"
    ),
    # plug-ins
    "algo.name=pp0": "algo.name: unknown algorithm 'pp0'; did you mean 'ppo'?",
    "algo=pp0": "algo.name: unknown algorithm 'pp0'; did you mean 'ppo'?",
    "algo=[ppo]": "algo should be a map with `name`, got ['ppo']",
    "algo=null": "algo should be a map with `name`, got null",
    "algo.name=3": "algo needs text as `name`, got 3; known: a2c, ppo, reinforce",
    "algo.name=json.tool": "algo names json.tool, which has no Config made from AlgoConfig",
    "env.wrappers=[{name: frame_stak}]": (
        "env.wrappers[0].name: unknown wrapper 'frame_stak'; did you mean 'frame_stack'?"
    ),
    "env.wrappers=[frame_skip]": (
        "env.wrappers[0] should be a map such as {name: frame_skip}, got 'frame_skip'"
    ),
    "env.family=clasic": "env.family: unknown environment family 'clasic'; did you mean 'classic'?",
    "policy.encoder=nature": (
        "policy.encoder: unknown encoder 'nature'; did you mean 'nature_cnn'?"
    ),
    # secrets: the key is named, the value never
    "env.kwargs={api_key: hunter2}": (
        "env.kwargs should not hold 'api_key', which looks like a secret: configs are saved and "
        "shared, so pass secrets in environment variables"
    ),
    # sections at odds
    "budget.env_steps=null": (
        "algo.lr is scheduled in fractions of the budget, but budget.env_steps is null"
    ),
    # overrides that are none
    "algo.lr": "'algo.lr' is not an override; write key=value, e.g. algo.lr=3e-4",
    "=3": "'=3' is not an override; write section.key=value, e.g. algo.lr=3e-4",
    "algo..lr=3": "'algo..lr=3' is not an override; write section.key=value, e.g. algo.lr=3e-4",
    "algo.lr=": "'algo.lr=' has no value; write algo.lr=null to switch it off",
    "algo.lr={a: 1": "algo.lr: not valid YAML: expected ',' or '}', but got '<stream end>'",
    "env.id=2024-01-01": ("env.id: 2024-01-01 is no text, number, list or map; put it in quotes"),
    "env.id=!env x": "env.id: the YAML tag !env means nothing here",
}


@pytest.mark.parametrize("override", SENTENCES)
def test_sentence(override):
    with pytest.raises(UserError) as caught:
        resolve(ADDRESS, [override])
    assert str(caught.value) == f"command line: {SENTENCES[override]}"


def test_other_problems_are_counted():
    with pytest.raises(UserError, match=r"env.id should be text, got 3 \(and 2 more problems\)$"):
        resolve(ADDRESS, ["env.id=3", "seed=x", "reward.clip=-1"])


def test_a_misspelt_key_comes_before_what_it_leaves_missing():
    with pytest.raises(UserError, match=r"wrappers\[0\].step is not a setting; did you mean"):
        resolve(ADDRESS, ["env.wrappers=[{name: time_limit, step: 3}]"])


@pytest.mark.parametrize("key", ["password", "hf_token", "apiKey", "AWS_SECRET", "db-credentials"])
def test_secrets_are_found_at_any_depth_and_never_shown(key):
    with pytest.raises(UserError, match="looks like a secret") as caught:
        resolve(ADDRESS, {"env.kwargs": {"a": [{key: "hunter2"}]}})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["max_tokens", "tokenizer", "keys", "secretary"])
def test_words_that_only_look_alike_are_no_secrets(key):
    assert resolve(ADDRESS, {"env.kwargs": {key: 1}}).config.env.kwargs == {key: 1}


RECIPE = """\
family: classic
base:
  env:
    count: 8
variants:
  ppo:
    description: fine
    algo:
      name: ppo
      epochs: 4
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("epochs: 4", "epoch: 4", 10, "algo.epoch is not a setting; did you mean algo.epochs?"),
        ("count: 8", "count: many", 4, "env.count should be a whole number, got 'many'"),
        ("name: ppo", "name: popo", 9, "algo.name: unknown algorithm 'popo'; did you mean 'ppo'?"),
        ("family: classic", "family: clasic", 1, "unknown environment family 'clasic'; did you"),
        ("family: classic", "family: 3", 1, "family should be text, got 3"),
        ("family: classic", "famly: classic", 1, "famly is not a key of this file; did you mean"),
        ("description", "descripton", 7, "descripton is not a setting; did you mean description?"),
        ("description: fine", "description: [a]", 7, "description should be text, got ['a']"),
        ("description: fine", "expect: {}", 7, "expect.score is missing (and 1 more problem)"),
        ("description: fine", "expect: 475", 7, "expect should be a map of settings, got 475"),
        (
            "description: fine",
            "expect: {score: 1, env_stps: 3}",
            7,
            "expect.env_stps is not a setting; did you mean expect.env_steps?",
        ),
        ("description: fine", "algos: {}", 7, "algos is not a setting; did you mean algo?"),
        ("base:\n  env:\n    count: 8", "base: 3", 2, "base should be a map of settings"),
        ("count: 8", "count: 8: 9", 4, "not valid YAML: mapping values are not allowed here"),
        ("count: 8", "count: 8\n    count: 9", 5, "not valid YAML: found duplicate key"),
    ],
)
def test_mistakes_in_a_file_name_the_line(folder, old, new, line, sentence):
    folder("recipes/CartPole-v1.yaml", RECIPE.replace(old, new))
    with pytest.raises(UserError) as caught:
        resolve(ADDRESS)
    assert str(caught.value).startswith(f"recipes/CartPole-v1.yaml:{line}: {sentence}")


def test_an_unknown_key_in_a_family_names_the_family_file(folder):
    folder("recipes/families/classic.yaml", "base:\n  env:\n    cout: 8\n")
    with pytest.raises(UserError, match=r"^recipes/families/classic.yaml:3: env.cout is not a se"):
        resolve(ADDRESS)


def test_two_settings_at_odds_blame_the_one_typed_last():
    with pytest.raises(UserError, match=r"^command line: algo.minibatch=256 must divide"):
        resolve(ADDRESS, ["env.count=3"])
