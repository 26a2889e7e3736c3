"""Playing in a real browser: one page, one game after the other."""

import pytest

from spotter.episodes import format as traces
from tests.studio.playing import READY_MS, fact, plays, start, wait_for

pytest.importorskip("playwright")
from playwright.sync_api import expect


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
    plays(page, "ArrowRight", 3)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".play-action").first).to_have_text("you did push right")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".play-action").first).to_have_text("you did push left")
    assert page.locator(".play-past > span").count() >= 6, "two episodes are listed"


def test_the_agent_shows_what_it_thinks(seat):
    page = seat
    start(page, "The agent")
    # read at once: between two episodes there are no bars
    names, shares, chosen = page.wait_for_function("""() => {
        const texts = (sort) => [...document.querySelectorAll(sort)].map((e) => e.textContent);
        const names = texts(".play-choice .play-name");
        return names.length && [names, texts(".play-percent"), texts(".play-chosen")];
    }""").json_value()
    assert names == ["push left", "push right"]
    assert 99 <= sum(int(text.split()[0]) for text in shares) <= 101
    assert len(chosen) == 1


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
    page.get_by_role("button", name="Continue").wait_for()
    page.wait_for_timeout(200)
    stood = fact(page, "step")
    page.wait_for_timeout(300)
    assert fact(page, "step") == stood
    page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, f"+document.querySelector('[data-fact=step]').textContent != {stood}")


def test_play_05_human_and_agent_race_side_by_side(seat):
    page = seat
    start(page, "Race")
    assert page.locator(".play-canvas").count() == 2
    who = page.locator(".play-who > span:first-child").all_inner_texts()
    assert who == ["You", "Agent"]
    plays(page, "ArrowRight", 2)
    assert ":" in page.locator(".play-past .studio-number").first.inner_text()


def test_the_box_of_a_picture_is_no_larger_than_the_picture(seat):
    """So that the ring around it says where keys go."""
    page = seat
    start(page, "Race")
    for width, height in ((820, 1180), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        shape = "c => [c.width / c.height, c.clientWidth / c.clientHeight, c.clientHeight]"
        for canvas in page.locator(".play-canvas").all():
            drawn, box, tall = canvas.evaluate(shape)
            assert box == pytest.approx(drawn, rel=0.02) and tall > 200


def test_a_person_is_waited_for(seat):
    page = seat
    start(page, "You")
    expect(page.locator(".play-over")).to_have_text("Press a key to begin")
    page.wait_for_timeout(400)
    assert (fact(page, "episode"), fact(page, "step")) == (1, 0)
    page.locator("h1, [role=heading]").first.click()  # elsewhere
    page.evaluate("document.activeElement.blur()")
    expect(page.locator(".play-over")).to_have_text("Click here and press a key to begin")
    page.locator(".play-canvas").click()
    plays(page, "ArrowLeft", 2)
    expect(page.locator(".play-over")).to_have_text("Press a key to begin")


def test_start_after_start_always_shows_the_new_game(seat):
    """The game's own socket may be quicker than the page's, or slower: both ways it is shown."""
    for mode in ("You", "The agent", "Untrained", "Race") * 3:
        start(seat, mode)
