"""Playing in a real browser, and the socket under it."""

import json
import struct

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync import client

from spotter.traces import format as traces

READY_MS = 60_000  # torch has to be imported in a fresh process
PLAYERS = {"You": "You", "The agent": "Agent", "Untrained": "Untrained policy", "Race": "You,Agent"}


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


def start(page, mode: str) -> None:
    """Choose who plays, press Start, and wait for the game."""
    page.locator(".play-mode").get_by_text(mode, exact=True).click()
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector(".play-columns:visible", timeout=READY_MS)
    # the game before may still be on the page
    shown = "[...document.querySelectorAll('.play-who > span:first-child')].map(e => e.textContent)"
    wait_for(page, f"{shown}.join() === '{PLAYERS[mode]}'")
    wait_for(page, "+document.querySelector('[data-fact=episode]').textContent >= 1")


def fact(page, name: str) -> int:
    text = page.locator(f"[data-fact={name}]").inner_text()
    return int(text) if text.isdecimal() else 0


def wait_for(page, script: str) -> None:
    page.wait_for_function(script, timeout=READY_MS)


def episode_reaches(page, number: int) -> None:
    wait_for(page, f"+document.querySelector('[data-fact=episode]').textContent >= {number}")


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


def test_a_person_takes_over_from_a_frame_of_the_inspector(page, studio, trained):
    from spotter.traces.capture import capture_to_disk

    stored = capture_to_disk(str(trained.folder), seed=31, most_steps=20)
    name = stored.rsplit("/", 1)[-1]
    page.goto(f"{studio.url}inspect?run={trained.id}&episode={name}&step=4")
    page.wait_for_selector(".viewer-step")
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Take over from this frame").click()
    page.wait_for_selector(".play-columns:visible", timeout=READY_MS)
    wait_for(page, "document.querySelector('[data-fact=step]').textContent === '5'")
    assert "stands at step 5" in page.locator(".play-hint").inner_text()
    page.wait_for_timeout(300)
    assert fact(page, "step") == 5, "nothing moves before a key"
    page.get_by_role("button", name="Record").click()
    page.keyboard.down("ArrowLeft")
    page.wait_for_selector(".play-kept", timeout=READY_MS)
    page.keyboard.up("ArrowLeft")
    kept = traces.load(traces.find(trained, page.locator(".play-kept a").first.inner_text()))
    before = traces.load(traces.find(trained, name)).columns["action"][:5].tolist()
    assert kept.columns["action"][:5].tolist() == before
    assert set(kept.columns["action"][5:].tolist()) == {0}
    assert (kept.meta.mode, kept.meta.seed) == ("human", 31)
    page.goto(f"{studio.url}play?run={trained.id}&episode={name}&step=99")
    page.get_by_text("step 99 is not in this episode").wait_for(timeout=READY_MS)
    assert page.errors == []


def test_turn_games_wait_and_masked_choices_are_marked(page, studio):
    page.goto(f"{studio.url}play?recipe=Taxi-v4")
    start(page, "Untrained")
    page.wait_for_selector(".play-masked")
    assert page.locator(".play-masked .play-percent").first.inner_text() == "masked"
    start(page, "You")
    assert "waits for you" in page.locator(".play-hint").inner_text()
    assert fact(page, "step") == 0
    for key in ("ArrowDown", "ArrowUp"):  # one of them is free at any place
        page.keyboard.press(key)
    wait_for(page, "+document.querySelector('[data-fact=step]').textContent >= 1")
    assert page.get_by_role("button", name="Record").is_disabled(), "a recipe keeps nothing"


def test_mistakes_are_one_sentence_on_the_page(page, studio, studio_runs):
    page.goto(f"{studio.url}play?run=../../etc")
    assert "is not the id of a run" in page.get_by_role("alert").inner_text()
    page.goto(f"{studio.url}play?recipe=CartPol-v1")
    assert "there is no recipe 'CartPol-v1'" in page.get_by_role("alert").inner_text()
    page.goto(f"{studio.url}play")
    page.get_by_label("Seed").fill("minus one")
    page.get_by_role("button", name="Start").click()
    assert "a seed is a whole number" in page.get_by_role("alert").inner_text()


# --- the socket ----------------------------------------------------------------------------------


def refused(url: str, origin: str | None = None) -> bool:
    try:
        with client.connect(url, origin=origin) as socket:
            socket.recv(timeout=10)
    except (InvalidStatus, ConnectionClosed):
        return True
    return False


def test_no_other_page_and_no_guess_reaches_a_game(studio):
    url = f"ws://127.0.0.1:{studio.port}/ws/play/"
    assert refused(f"{url}guessed")
    assert refused(f"{url}guessed", "http://evil.example")


def test_messages_are_a_header_and_pictures():
    from spotter.studio.arena import packed

    message = packed({"kind": "frame"}, b"\xff\xd8a", b"\xff\xd8b")
    size = struct.unpack("<I", message[:4])[0]
    assert json.loads(message[4 : 4 + size]) == {"kind": "frame"}
    assert message[4 + size :] == b"\xff\xd8a\xff\xd8b"


def test_start_after_start_always_shows_the_new_game(seat):
    """The game's own socket may be quicker than the page's, or slower: both ways it is shown."""
    for mode in ("You", "The agent", "Untrained", "Race") * 3:
        start(seat, mode)
