"""Finding recipes and checking files."""

from pathlib import Path

import pytest

from spotter.config.catalogue import check, check_files, entries, find
from spotter.types import UserError

GOOD = "base: {env: {id: CartPole-v1}}\nvariants: {one: {}, two: {seed: 3}}\n"


def test_every_packaged_file_is_fine(folder):
    checked = check()
    assert checked.problems == []
    assert checked.variants == len(entries())


def test_each_file_reports_its_problems(folder):
    folder("recipes/Good-v0.yaml", GOOD)
    folder("recipes/Typo-v0.yaml", GOOD.replace("seed: 3", "sed: 3"))
    folder("recipes/Promise-v0.yaml", GOOD.replace("seed: 3", "expect: {score: high}"))
    folder("recipes/Syntax-v0.yaml", "variants: [")
    folder("recipes/families/classic.yaml", "base: {env: {count: none}}\n")
    folder("recipes/families/other.yaml", "matches: Other-*\n")
    problems = check_files([Path("recipes")])
    assert [problem.split(": ")[0] for problem in problems] == [
        "recipes/Promise-v0.yaml:2",
        "recipes/Promise-v0.yaml:2",
        "recipes/Syntax-v0.yaml:1",
        "recipes/Typo-v0.yaml:2",
        "recipes/families/classic.yaml:1",
        "recipes/families/other.yaml:1",
    ]
    assert "expect.score should be a number, got 'high'" in problems[0]
    assert "expect.env_steps is missing" in problems[1]
    assert "did you mean seed?" in problems[3]
    assert "env.count should be a whole number, got 'none'" in problems[4]
    assert "matches should be a list of patterns such as [CartPole-v*]" in problems[5]


def test_a_broken_family_is_reported_through_the_recipe_as_well(folder):
    folder("recipes/Good-v0.yaml", "family: mine\n" + GOOD)
    folder("recipes/families/mine.yaml", "base: {sed: 1}\n")
    problems = check_files([Path("recipes/Good-v0.yaml")])
    assert problems == [
        "recipes/Good-v0.yaml: recipes/families/mine.yaml:1: sed is not a setting; "
        "did you mean seed?"
    ]


def test_with_no_paths_everything_local_and_packaged(folder):
    packaged = check().files
    folder("recipes/Good-v0.yaml", GOOD)
    assert check().files == packaged + 1


def test_only_yaml_files_can_be_checked(folder):
    with pytest.raises(UserError, match=r"notes.txt is not a recipe file"):
        check([Path("notes.txt")])
    assert check_files([Path("none.yaml")]) == ["there is no file none.yaml"]


def test_entries_tell_what_a_list_shows():
    entry = next(entry for entry in entries() if entry.address == "CartPole-v1:ppo")
    assert (entry.algo, entry.score, entry.problem) == ("ppo", 475, "")
    assert entry.env_steps == 100_000
    assert entry.description


@pytest.mark.parametrize(
    "text", ["CartPole", "cartpole", "pole", "cart ppo", "ppo CART", "carpole", "cratpole ppo"]
)
def test_find(text):
    found = find(text)
    assert {entry.address.split(":")[0] for entry in found} == {"CartPole-v1"}


def test_find_nothing_lists_all_and_a_stranger_gets_a_hint():
    assert find() == entries()
    with pytest.raises(UserError, match=r"^no recipe matches 'CartPole-v7:ppo'; did you mean"):
        find("CartPole-v7:ppo")
    with pytest.raises(UserError, match=r"^no recipe matches 'zzzz'; `spotter list` shows all"):
        find("zzzz")


def test_broken_variants_are_listed_with_their_problem(folder):
    folder("recipes/Typo-v0.yaml", GOOD.replace("seed: 3", "sed: 3"))
    folder("recipes/Syntax-v0.yaml", "variants: [")
    problems = {entry.address: entry.problem for entry in entries() if entry.problem}
    assert problems.keys() == {"Typo-v0", "Syntax-v0"}
    folder("recipes/Typo-v0.yaml", GOOD.replace("seed: 3", "seed: x"))
    problems = {entry.address: entry.problem for entry in entries() if entry.problem}
    assert problems.keys() == {"Typo-v0:two", "Syntax-v0"}


@pytest.mark.parametrize(
    ("short", "problem"),
    [
        ("3", "short should be a map with `below`, a number of env steps, and `base`, got 3"),
        ("{below: 5}", "short should be a map with `below`"),
        ("{below: many, base: {}}", "below should be a number of env steps, got 'many'"),
        ("{below: 9, base: {algoo: {}}}", "algoo is not a setting"),
        (
            "{below: 9, base: {algo: {name: ppo, epochs: 0}}}",
            "algo.epochs should stay at 1 or above, got 0",
        ),
    ],
)
def test_a_kind_s_settings_for_short_budgets_are_checked(folder, short, problem):
    file = folder("defaults/arcade.yaml", f"base: {{algo: {{name: ppo}}}}\nshort: {short}\n")
    [found] = check_files([file])
    assert f"{file}:2: {problem}" in found
