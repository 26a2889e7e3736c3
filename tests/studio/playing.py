"""Playing in the browser, for tests: start a game, wait for what the page shows of it."""

READY_MS = 60_000  # torch has to be imported in a fresh process
PLAYERS = {"You": "You", "The agent": "Agent", "Untrained": "Untrained policy", "Race": "You,Agent"}


def start(page, mode: str) -> None:
    """Choose who plays, press Start, and wait for the game."""
    page.locator(".play-mode").get_by_text(mode, exact=True).click()
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector(".play-columns:visible", timeout=READY_MS)
    # the game before may still be on the page
    shown = "[...document.querySelectorAll('.play-who > span:first-child')].map(e => e.textContent)"
    wait_for(page, f"{shown}.join() === '{PLAYERS[mode]}'")
    wait_for(page, "+document.querySelector('[data-fact=episode]').textContent >= 1")


def plays(page, key: str, episode: int) -> None:
    """Hold a key down until that episode begins; every episode waits for a key of its own."""
    for number in range(fact(page, "episode"), episode):
        page.keyboard.down(key)
        episode_reaches(page, number + 1)
        page.keyboard.up(key)


def fact(page, name: str) -> int:
    text = page.locator(f"[data-fact={name}]").inner_text()
    return int(text) if text.isdecimal() else 0


def wait_for(page, script: str) -> None:
    page.wait_for_function(script, timeout=READY_MS)


def episode_reaches(page, number: int) -> None:
    wait_for(page, f"+document.querySelector('[data-fact=episode]').textContent >= {number}")
