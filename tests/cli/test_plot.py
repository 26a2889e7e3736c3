"""`spotter plot` and `spotter.plot()`."""

import json

import pytest

import spotter as package
from tests.rundir.making import maker


@pytest.fixture
def group(make_config, folder):
    make = maker(make_config)
    for seed in (1, 2):
        run = make(config={"seed": seed}, group="both")
        rows = [{"update": at, "env_steps": at, "eval/score": at * seed} for at in (1, 2)]
        run.metrics_path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "both"


def test_a_group_is_plotted(spotter, group, tmp_path):
    ran = spotter("plot", group, "-o", "fig.svg")
    assert (ran.code, ran.out) == (0, "fig.svg\n")
    assert "CartPole-v1:ppo (2 seeds)" in (tmp_path / "fig.svg").read_text(encoding="utf-8")
    assert "Not enough seeds for an interval" in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing",), "there is no run 'nothing'"),
        (("both", "-o", "fig.jpg"), "a plot is a .png, .svg or .pdf file"),
        (("both", "--metric", "eval/scoer"), "no metric 'eval/scoer'; did you mean 'eval/score'?"),
    ],
)
def test_mistakes_are_one_sentence(spotter, group, words, sentence):
    ran = spotter("plot", *words)
    assert ran.code == 2
    assert sentence in ran.err and len(ran.err.strip().splitlines()) == 1


def test_from_python(group, tmp_path):
    one = package.run("@last")
    drawn = package.plot(group, one, out=tmp_path / "fig.png")
    labels = [line.get_label() for line in drawn.axes[0].lines]
    assert labels == ["CartPole-v1:ppo (2 seeds)", "solved"], "each run once"
    assert (tmp_path / "fig.png").is_file()
