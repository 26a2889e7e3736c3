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
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("spotter: no recipe matches 'CartPole-v9:ppo'; did you mean '")


def test_broken_recipes_are_shown_as_such(spotter, folder):
    folder("recipes/Broken-v0.yaml", "variants: [")
    out = spotter("list", "broken").out
    assert out.startswith("Broken-v0\t\t\t\tbroken: recipes/Broken-v0.yaml:1: not valid YAML")
