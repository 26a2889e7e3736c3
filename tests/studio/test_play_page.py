"""Playing in a real browser, and the socket under it."""

import json
import struct

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync import client

from spotter.traces import format as traces

READY_MS = 60_000  # torch has to be imported in a fresh process


def start(page, studio, query: str = "") -> None:
    """Open the page, press Start, and wait for the game."""
    page.goto(f"{studio.url}play{query}")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector(".play-columns:visible", timeout=READY_MS)


def fact(page, name: str) -> int:
    text = page.locator(f"[data-fact={name}]").inner_text()
    return int(text) if text.isdecimal() else 0


def wait_for(page, script: str) -> None:
    page.wait_for_function(script, timeout=READY_MS)


def episode_reaches(page, number: int) -> None:
    wait_for(page, f"+document.querySelector('[data-fact=episode]').textContent >= {number}")


def test_play_01_a_person_plays_with_arrow_keys_and_play_04_the_counter_advances(
    page, studio, trained
):
    start(page, studio, f"?run={trained.id}")
    page.keyboard.down("ArrowRight")
    episode_reaches(page, 3)
    assert page.locator(".play-action").first.inner_text() == "you did push right"
    page.keyboard.up("ArrowRight")
    page.keyboard.press("ArrowLeft")
    wait_for(page, "document.querySelector('.play-action').textContent.includes('push left')")
    assert page.locator(".play-past > span").count() >= 6, "two episodes are listed"
    assert page.errors == []


def test_the_agent_shows_what_it_thinks(page, studio, trained):
    start(page, studio, f"?run={trained.id}&mode=agent")
    page.wait_for_selector(".play-choice")
    names = page.locator(".play-choice .play-name").all_inner_texts()
    assert names == ["push left", "push right"]
    shares = [int(text.split()[0]) for text in page.locator(".play-percent").all_inner_texts()]
    assert 99 <= sum(shares) <= 101
    assert page.locator(".play-chosen").count() == 1
    assert page.errors == []


def test_a_recording_lands_in_the_episodes_of_the_run(page, studio, trained):
    before = set(traces.listing(trained))
    start(page, studio, f"?run={trained.id}")
    page.get_by_role("button", name="Record").click()
    page.keyboard.down("ArrowLeft")
    page.wait_for_selector(".play-kept", timeout=READY_MS)
    new = [path for path in traces.listing(trained) if path not in before]
    assert new and all("human" in path.name for path in new)
    trace = traces.load(new[-1])
    assert trace.meta.mode == "human"
    assert trace.meta.score == trace.meta.length
    assert len(trace.frames) == trace.meta.length
    assert page.errors == []


def test_pause_step_and_step_by_step(page, studio, trained):
    start(page, studio, f"?run={trained.id}&mode=agent")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Go on").wait_for()
    page.wait_for_timeout(200)
    stood = fact(page, "step")
    page.wait_for_timeout(300)
    assert fact(page, "step") == stood
    page.get_by_role("button", name="Step", exact=True).click()
    wait_for(page, f"+document.querySelector('[data-fact=step]').textContent != {stood}")


def test_play_05_human_and_agent_race_side_by_side(page, studio, trained):
    start(page, studio, f"?run={trained.id}&mode=race")
    page.keyboard.down("ArrowRight")
    assert page.locator(".play-canvas").count() == 2
    who = page.locator(".play-who > span:first-child").all_inner_texts()
    assert who == ["You", "Agent"]
    episode_reaches(page, 2)
    assert ":" in page.locator(".play-past .studio-number").first.inner_text()


def test_turn_games_wait_and_masked_choices_are_marked(page, studio):
    start(page, studio, "?recipe=Taxi-v4&mode=untrained")
    page.wait_for_selector(".play-choice")
    assert page.locator(".play-masked .play-percent").first.inner_text() == "masked"
    start(page, studio, "?recipe=FrozenLake-v1")
    assert "waits for you" in page.locator(".play-hint").inner_text()
    assert fact(page, "step") == 0
    page.keyboard.press("ArrowDown")
    wait_for(page, "+document.querySelector('[data-fact=step]').textContent == 1")
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
