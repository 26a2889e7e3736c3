"""`spotter list`: a table for people, tabs for pipes."""

import pytest


def test_in_a_pipe_one_line_per_recipe(spotter):
    lines = [line.split("\t") for line in spotter("list").out.splitlines()]
    assert all(len(cells) == 5 for cells in lines)
    cartpole = next(cells for cells in lines if cells[0] == "CartPole-v1:ppo")
    assert cartpole[1:4] == ["ppo", "100,000", "475"]
    assert cartpole[4]


def test_on_a_terminal_a_table(spotter, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    out = spotter("list", "cartpole").out
    assert "promises" in out
    assert "CartPole-v1:ppo" in out
    assert "\t" not in out


@pytest.mark.parametrize("words", [("cart",), ("cartpole", "ppo"), ("carpole",)])
def test_words_choose(spotter, words):
    ran = spotter("list", *words)
    assert ran.code == 0
    assert all(line.startswith("CartPole-v1") for line in ran.out.splitlines())


def test_no_match(spotter):
    ran = spotter("list", "CartPole-v9:ppo")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("spotter: no recipe matches 'CartPole-v9:ppo'; did you mean '")


def test_an_environment_without_a_recipe(spotter):
    cells = spotter("list", "Blackjack-v1").out.rstrip("\n").split("\t")
    assert cells[:2] == ["Blackjack-v1:ppo", "ppo"]
    assert cells[4] == "no recipe for Blackjack-v1: defaults for tabular states (kind `tabular`)"


def test_broken_recipes_are_shown_as_such(spotter, folder):
    folder("recipes/Broken-v0.yaml", "variants: [")
    out = spotter("list", "broken").out
    assert out.startswith("Broken-v0\t\t\t\tbroken: recipes/Broken-v0.yaml:1: not valid YAML")


KINDS = {
    "algos": "ppo",
    "envs": "CartPole-v1",
    "families": "classic",
    "wrappers": "frame_stack",
    "signals": "step_penalty",
    "encoders": "nature_cnn",
    "sinks": "tensorboard",
    "launchers": "slurm",
    "defaults": "continuous",
    "metrics": "policy/entropy",
    "settings": "algo.lr",
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_named(spotter, kind):
    ran = spotter("list", kind)
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert ran.code == 0
    assert KINDS[kind] in [cells[0] for cells in rows]
    if kind != "envs":
        assert all(cells[-1] for cells in rows), "everything is described"
    assert KINDS[kind] in spotter("list", kind, KINDS[kind][:5].upper()).out


def test_settings_are_found_by_the_names_of_others(spotter):
    out = spotter("list", "settings", "gae_lambda").out
    assert {line.split("\t")[0] for line in out.splitlines()} == {"algo.lambda"}


def test_a_kind_without_a_match_is_no_mistake(spotter):
    ran = spotter("list", "algos", "zzz")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "spotter: none of 3 algos has 'zzz' in it\n"
