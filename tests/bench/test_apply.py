"""Settings written into recipes: comments kept, packaged recipes untouched, nothing by halves."""

import os
import stat
from pathlib import Path

import pytest

from spotter.bench.apply import destination, plan, set_value
from spotter.config import recipes, resolve
from spotter.types import UserError

RECIPE = """\
# my CartPole
family: classic
variants:
  ppo:  # the usual one
    env:
      # sixteen, because of the cache
      count: 16  # copies
    # a comment about the algorithm
    algo:
      name: ppo
      lr: 1e-3
      minibatch:   128
    budget: {env_steps: 100_000}
  other: {algo: {name: ppo}, seed: 3}
"""


def test_a_value_that_is_there_is_replaced_in_place():
    text = set_value(RECIPE, ("variants", "ppo", "env", "count"), 32)
    assert text == RECIPE.replace("count: 16  # copies", "count: 32  # copies")
    text = set_value(RECIPE, ("variants", "ppo", "algo", "minibatch"), 0.5)
    assert text == RECIPE.replace("minibatch:   128", "minibatch:   0.5")


def test_a_new_key_leaves_comments_above_what_they_explain():
    text = set_value(RECIPE, ("variants", "ppo", "env", "backend"), "batch")
    untouched = RECIPE.splitlines()
    lines = text.splitlines()
    added = [line for line in lines if line not in untouched]
    assert added == ["      backend: batch"]
    at = lines.index("      # sixteen, because of the cache")
    assert lines[at + 1] == "      count: 16  # copies"


def test_a_new_section():
    text = set_value(RECIPE, ("variants", "ppo", "reward", "scale"), 0.1)
    assert "    reward: {scale: 0.1}\n" in text
    assert text.count("#") == RECIPE.count("#")


def test_maps_in_braces():
    text = set_value(RECIPE, ("variants", "other", "threads"), 2)
    assert "  other: {algo: {name: ppo}, seed: 3, threads: 2}\n" in text
    text = set_value(RECIPE, ("variants", "other", "algo", "steps"), 64)
    assert "  other: {algo: {name: ppo, steps: 64}, seed: 3}\n" in text
    assert set_value("a: {}\n", ("a", "b", "c"), None) == "a: {b: {c: null}}\n"


def test_line_ends_stay():
    text = set_value(RECIPE.replace("\n", "\r\n"), ("variants", "ppo", "threads"), 1)
    assert text.count("\r\n") == text.count("\n") == RECIPE.count("\n") + 1


def test_a_tidy_file_stays_tidy():
    tidy = "family: classic\nvariants:\n  ppo:\n    description: one\n    algo: {name: ppo}\n"
    text = set_value(tidy, ("variants", "ppo", "env", "backend"), "sync")
    assert text.splitlines()[3:5] == ["    description: one", "    env: {backend: sync}"]


def test_an_alias_is_not_followed_to_where_others_read_it():
    shared = "base:\n  env: &e {count: 8}\nvariants:\n  a:\n    env: *e\n"
    with pytest.raises(UserError, match=r"cannot be edited safely; add variants\.a\.env\.count: 4"):
        set_value(shared, ("variants", "a", "env", "count"), 4)


def test_the_users_recipe_is_edited(folder):
    path = folder("recipes/CartPole-v1.yaml", RECIPE)
    resolved = resolve("CartPole-v1:ppo")
    destination(resolved)
    assert path.read_text() == RECIPE, "looking is not writing"
    written = plan(resolved, {"env.backend": "process", "env.workers": 2}).write()
    assert (written.path, written.note) == (path, "")
    config = resolve(written.address).config
    assert (config.env.backend, config.env.workers, config.env.count) == ("process", 2, 16)
    assert "# sixteen, because of the cache" in path.read_text()
    assert list(Path("recipes").iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_who_may_read_it_stays(folder):
    path = folder("recipes/CartPole-v1.yaml", RECIPE)
    path.chmod(0o600)
    plan(resolve("CartPole-v1:ppo"), {"threads": 1}).write()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_packaged_recipe_is_copied(folder):
    packaged = recipes.PACKAGED / "CartPole-v1.yaml"
    before = packaged.read_text()
    written = plan(resolve("CartPole-v1:ppo"), {"threads": 1, "env.count": 16}).write()
    assert packaged.read_text() == before
    assert written.path == Path("recipes/CartPole-v1.yaml")
    assert "a copy of the recipe that came with Spotter" in written.note
    config = resolve("CartPole-v1:ppo").config
    assert (config.threads, config.env.count) == (1, 16)
    assert resolve("CartPole-v1:a2c").config.threads is None, "other variants stay"


def test_an_environment_without_a_recipe_gets_one(folder):
    resolved = resolve("MountainCarContinuous-v0:a2c")
    written = plan(resolved, {"env.count": 32}).write()
    assert (written.address, written.note) == ("MountainCarContinuous-v0:a2c", "a new recipe")
    again = resolve(written.address)
    assert again.config.env.count == 32
    assert again.config.model_copy(update={"env": resolved.config.env}) == resolved.config


def test_a_recipe_of_that_name_is_not_hidden(folder):
    with pytest.raises(UserError, match="there is a recipe CartPole-v1 already"):
        destination(resolve("gymnasium:CartPole-v1:ppo"))


def test_a_packaged_file_by_its_path_does_not_replace_a_local_one(folder):
    folder("recipes/CartPole-v1.yaml", RECIPE)
    with pytest.raises(UserError, match=r"CartPole-v1\.yaml is there already"):
        destination(resolve(f"{recipes.PACKAGED / 'CartPole-v1.yaml'}:ppo"))


def test_what_fits_only_with_overrides_is_refused(folder):
    path = folder("recipes/CartPole-v1.yaml", RECIPE)
    resolved = resolve("CartPole-v1:ppo", ["algo.steps=384"])
    with pytest.raises(UserError, match="not written, since it does not fit the recipe itself"):
        plan(resolved, {"algo.minibatch": 96})
    assert path.read_text() == RECIPE


def test_p42_a_failed_write_leaves_the_old_file(folder, monkeypatch):
    path = folder("recipes/CartPole-v1.yaml", RECIPE)
    prepared = plan(resolve("CartPole-v1:ppo"), {"threads": 1})

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spotter.rundir.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        prepared.write()
    assert path.read_text() == RECIPE
    assert list(Path("recipes").iterdir()) == [path]
