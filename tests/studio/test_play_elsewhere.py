"""Games that begin elsewhere than at the start of a run, mistakes on the page, the socket below."""

import json
import struct

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync import client

from spotter.episodes import format as traces
from tests.studio.playing import READY_MS, fact, start, wait_for


def test_a_person_takes_over_from_a_frame_of_the_inspector(page, studio, trained):
    from spotter.episodes.capture import capture_to_disk

    stored = capture_to_disk(str(trained.folder), seed=31, most_steps=20)
    name = stored.rsplit("/", 1)[-1]
    page.goto(f"{studio.url}inspect?run={trained.id}&episode={name}&step=4")
    page.wait_for_selector(".viewer-step")
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Take over from this frame").click()
    page.wait_for_selector(".play-columns:visible", timeout=READY_MS)
    wait_for(page, "document.querySelector('[data-fact=step]').textContent === '5'")
    assert "is at step 5" in page.locator(".play-hint").inner_text()
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
    for attempt in range(600):  # a key that comes before the page listens is nobody's
        page.keyboard.press(("ArrowDown", "ArrowUp")[attempt % 2])  # one is free at any place
        page.wait_for_timeout(100)
        if fact(page, "step") >= 1:
            break
    assert fact(page, "step") >= 1
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
            socket.recv(timeout=600)
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
