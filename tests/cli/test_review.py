"""`spotter review`; the model itself is tested in tests/review."""

import pytest

from spotter import review
from spotter.cli import review as command
from tests.digest.making import make
from tests.review.server import no_model, serving


@pytest.fixture(autouse=True)
def off(monkeypatch):
    no_model(monkeypatch)


@pytest.fixture
def model(monkeypatch):
    with serving(monkeypatch) as there:
        yield there


def test_it_is_off_until_somebody_turns_it_on(spotter):
    make()
    ran = spotter("review", "--yes")
    assert ran.code == 2
    assert "set SPOTTER_LLM_URL" in ran.err
    assert ran.err.count("\n") == 1


def test_show_prints_everything_and_sends_nothing(spotter, model):
    run = make()
    ran = spotter("review", "--show", "--question", "Why?")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("About ")
    assert "## Question\n\nWhy?" in ran.out
    assert model.requests == []
    assert review.stored(run) == []


def test_yes_sends_and_says_where_the_answer_is(spotter, model):
    run = make()
    ran = spotter("review", run.id, "--yes")
    assert (ran.code, ran.out) == (0, "Lower `algo.lr`.\n")
    assert ran.err.strip().endswith("1.md")
    assert len(review.stored(run)) == 1


def test_nobody_to_ask_means_no(spotter, model):
    make()
    ran = spotter("review")
    assert ran.code == 2
    assert "add --yes" in ran.err
    assert model.requests == []


@pytest.mark.parametrize(("said", "sent"), [(True, 1), (False, 0)], ids=["yes", "no"])
def test_on_a_terminal_it_asks_first(spotter, model, monkeypatch, said, sent):
    make()
    questions = []
    monkeypatch.setattr(command, "is_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda text: questions.append(text) or said)
    ran = spotter("review")
    assert ran.code == (0 if said else 1)
    assert "tokens, to tiny at 127.0.0.1" in questions[0]
    assert len(model.requests) == sent
