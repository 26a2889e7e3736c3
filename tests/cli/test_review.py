"""`spotter review`; the model itself is tested in tests/review."""

import pytest

from spotter import review
from spotter.cli import review as command
from tests.pages.digest.making import make
from tests.review.server import Reply, completion, no_model, serving


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


def test_a_key_the_server_repeats_is_neither_printed_nor_kept(spotter, model, monkeypatch):
    monkeypatch.setenv("SPOTTER_LLM_KEY", "sk-secret-1")
    reply = completion("I was sent Bearer sk-secret-1") | {"model": "sk-secret-1"}
    model.answers(Reply(body=reply))
    run = make()
    ran = spotter("review", "--yes")
    assert (ran.code, ran.out) == (0, "I was sent Bearer (key)\n")
    kept = [*(run.folder / "reviews").iterdir(), run.events_path]
    assert len(kept) == 3
    assert all("sk-secret" not in path.read_text(encoding="utf-8") for path in kept)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://[::1", ""),
        ("http://localhost/vé1", ""),
        ("http://localhost:abc/v1", ""),
        ("http://localhost/v1", "sk-1…"),
        ("http://localhost/v1", "sk-1\n2"),
    ],
    ids=["bracket", "accent", "port", "ellipsis", "line break"],
)
def test_a_wrong_setting_is_one_sentence(spotter, monkeypatch, url, key):
    for name, value in (("URL", url), ("MODEL", "tiny"), ("KEY", key)):
        monkeypatch.setenv(f"SPOTTER_LLM_{name}", value)
    make()
    asked = spotter("review", "--yes")
    assert asked.code == 2
    assert asked.err.count("\n") == 1
    shown = spotter("review", "--show")
    assert shown.code == 0
    assert "to no model: " in shown.out.splitlines()[0]
    assert "sk-1" not in asked.out + asked.err + shown.out + shown.err


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
