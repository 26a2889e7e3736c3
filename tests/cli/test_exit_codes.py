"""Exit codes are a promise to scripts; docs/reference/command-line.md lists them."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/command-line.md"
SHORT = ("--quiet", "--no-save", "budget.env_steps=256", "eval.episodes=1", "eval.every_steps=null")


def test_done_is_0_also_if_not_solved(spotter):
    ran = spotter("train", "CartPole-v1:ppo", *SHORT)
    assert "not solved" in ran.out
    assert ran.code == 0


def test_not_solved_is_1_where_that_was_asked_for(spotter):
    ran = spotter("train", "CartPole-v1:ppo", *SHORT, "--require-solved")
    assert "not solved" in ran.out
    assert ran.code == 1


def test_solved_is_0(spotter):
    ran = spotter("train", "CartPole-v1:ppo", *SHORT, "env.threshold=1", "--require-solved")
    assert " solved: " in ran.out
    assert ran.code == 0


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ["Blackjack-v1", "--require-solved"],
            "--require-solved needs a score that counts as solved, and Blackjack-v1 has none: "
            "add env.threshold=SCORE",
        ),
        (
            ["CartPole-v1", "--require-solved", "--verify"],
            "--require-solved does not go with --verify, which trains nothing",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_2_and_nothing_is_trained(spotter, args, sentence):
    ran = spotter("train", *args)
    assert (ran.code, ran.out, ran.err) == (2, "", f"spotter: {sentence}\n")


@pytest.mark.parametrize(
    "args",
    [
        ["runs"],
        ["runs", "env=Pong"],
        ["list", "no-such-recipe-anywhere"],
        ["list", "algos", "zzz"],
    ],
)
def test_no_match_is_no_mistake(spotter, args, monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    ran = spotter(*args)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("spotter: ")


@pytest.mark.parametrize(
    "args", [["runs", "scoer=3"], ["show", "@last"], ["trian"], ["runs", "-x"]]
)
def test_usage_is_2(spotter, args, monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    assert spotter(*args).code == 2


def test_the_page_has_every_code():
    from spotter.cli import main, pipe
    from spotter.system.interrupts import EXIT_CODES

    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    known = {0, main.ENV_ERROR, main.USER_ERROR, pipe.READER_GONE, *EXIT_CODES.values()}
    assert {int(code) for code in listed} == known
