"""The inspector's review tab: shown first, sent on a click, kept with the run, never run."""

import pytest

from spotter import review
from tests.review.server import serving
from tests.studio import episodes
from tests.studio.making import make_run, start_server

pytest.importorskip("playwright")
from playwright.sync_api import expect

ANSWER = (
    'Raise algo.lr.\n<img src=x onerror="window.hacked = 1"> <script>window.hacked = 1</script>'
)


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch, serving(patch) as there:
        yield there


@pytest.fixture(scope="module")
def asking(tmp_path_factory, model):
    """A Studio that was started where a model is set up."""
    home = tmp_path_factory.mktemp("reviewed") / "runs"
    server = start_server(home, SPOTTER_LLM_URL=model.url, SPOTTER_LLM_MODEL="tiny")
    yield server
    server.stop()


def opened(page, server, run):
    page.goto(f"{server.url}inspect?run={run.id}&episode={episodes.cartpole(run, 12)}")
    page.get_by_role("tab", name="Review").click()
    expect(page.get_by_text("No review of this run yet")).to_be_visible()


def test_it_is_shown_then_sent_then_kept(asking, model, page):
    run = make_run(asking.runs, updates=20)
    model.answers(ANSWER)
    opened(page, asking, run)
    send = page.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_disabled()
    page.get_by_label("Question").fill("Is the step too small?")
    page.get_by_label("Frames of this episode").fill("2")
    page.get_by_role("button", name="Show what would be sent").click()
    shown = page.get_by_role("region", name="What would be sent")
    expect(shown).to_contain_text("Is the step too small?")
    expect(shown).to_contain_text("[image: JPEG")
    expect(shown).to_contain_text("to tiny at 127.0.0.1")
    expect(send).to_be_enabled()
    page.get_by_label("Question").fill("Is the step too large?")
    expect(send).to_be_disabled()  # what was shown is not what would be sent
    assert model.requests == []
    page.get_by_role("button", name="Show what would be sent").click()
    expect(send).to_be_enabled()
    send.click()
    answer = page.locator(".inspect-answer")
    expect(answer).to_contain_text("Raise algo.lr.")
    expect(answer).to_contain_text("<script>")  # words, not a program
    assert page.evaluate("window.hacked") is None
    assert len(model.requests) == 1
    kept = review.stored(run)
    assert [one.answer for one in kept] == [ANSWER]
    assert kept[0].question == "Is the step too large?"
    assert len(kept[0].frames) == 2
    page.reload()
    page.get_by_role("tab", name="Review").click()
    expect(page.get_by_text("Review 1 by tiny")).to_be_visible()
    assert page.errors == []


def test_a_model_that_fails_is_a_sentence(asking, model, page):
    from tests.review.server import Reply

    run = make_run(asking.runs, updates=20)
    model.answers(Reply(401, {"error": {"message": "no such key"}}))
    opened(page, asking, run)
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("401")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    assert review.stored(run) == []


def test_without_a_model_it_says_which_variables(studio, studio_runs, page):
    run = make_run(studio_runs, updates=20)
    opened(page, studio, run)
    page.get_by_role("button", name="Show what would be sent").click()
    expect(page.get_by_role("region", name="What would be sent")).to_contain_text("CartPole")
    expect(page.get_by_role("alert")).to_contain_text("SPOTTER_LLM_URL")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
