"""Playing in a real browser: one page, one game after the other."""

import pytest

from spotter.traces import format as traces
from tests.studio.playing import READY_MS, episode_reaches, fact, start, wait_for


@pytest.fixture(scope="module")
def seat(chromium, studio, trained):
    """One page for most tests: every Start after the first one uses the process that is there."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(f"{studio.url}play?run={trained.id}")
    yield page
    assert page.errors == []
    context.close()


def test_play_01_a_person_plays_with_arrow_keys_and_play_04_the_counter_advances(seat):
    page = seat
    start(page, "You")
    page.keyboard.down("ArrowRight")
    episode_reaches(page, 3)
    assert page.locator(".play-action").first.inner_text() == "you did push right"
    page.keyboard.up("ArrowRight")
    page.keyboard.press("ArrowLeft")
    wait_for(page, "document.querySelector('.play-action').textContent.includes('push left')")
    assert page.locator(".play-past > span").count() >= 6, "two episodes are listed"


def test_the_agent_shows_what_it_thinks(seat):
    page = seat
    start(page, "The agent")
    page.wait_for_selector(".play-choice")
    names = page.locator(".play-choice .play-name").all_inner_texts()
    assert names == ["push left", "push right"]
    shares = [int(text.split()[0]) for text in page.locator(".play-percent").all_inner_texts()]
    assert 99 <= sum(shares) <= 101
    assert page.locator(".play-chosen").count() == 1


def test_a_recording_lands_in_the_episodes_of_the_run(seat, trained):
    page = seat
    before = set(traces.listing(trained))
    start(page, "You")
    page.get_by_role("button", name="Record").click()
    page.keyboard.down("ArrowLeft")
    page.wait_for_selector(".play-kept", timeout=READY_MS)
    page.keyboard.up("ArrowLeft")
    new = [path for path in traces.listing(trained) if path not in before]
    assert new and all("human" in path.name for path in new)
    trace = traces.load(new[-1])
    assert trace.meta.mode == "human"
    assert trace.meta.score == trace.meta.length
    assert len(trace.frames) == trace.meta.length


def test_pause_and_single_steps(seat):
    page = seat
    start(page, "The agent")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Go on").wait_for()
    page.wait_for_timeout(200)
    stood = fact(page, "step")
    page.wait_for_timeout(300)
    assert fact(page, "step") == stood
    page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, f"+document.querySelector('[data-fact=step]').textContent != {stood}")


def test_play_05_human_and_agent_race_side_by_side(seat):
    page = seat
    start(page, "Race")
    page.keyboard.down("ArrowRight")
    assert page.locator(".play-canvas").count() == 2
    who = page.locator(".play-who > span:first-child").all_inner_texts()
    assert who == ["You", "Agent"]
    episode_reaches(page, 2)
    page.keyboard.up("ArrowRight")
    assert ":" in page.locator(".play-past .studio-number").first.inner_text()


def test_start_after_start_always_shows_the_new_game(seat):
    """The game's own socket may be quicker than the page's, or slower: both ways it is shown."""
    for mode in ("You", "The agent", "Untrained", "Race") * 3:
        start(seat, mode)
