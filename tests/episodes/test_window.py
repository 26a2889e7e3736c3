"""The window, on SDL's invisible display."""

import pytest

from spotter.episodes.play import Game, Session
from spotter.episodes.window import Window, play_in_window
from spotter.types import UserError


@pytest.fixture(autouse=True)
def invisible(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def window():
    made = Window("test")
    yield made
    made.close()


def press(key: str, *, up: bool = False) -> None:
    import pygame

    kind = pygame.KEYUP if up else pygame.KEYDOWN
    pygame.event.post(pygame.event.Event(kind, key=pygame.key.key_code(key)))


def test_keys_are_held_until_released(window):
    press("right")
    press("left ctrl")
    assert window.keys() == (frozenset({"right", "ctrl"}),) * 2
    press("right", up=True)
    assert window.keys() == (frozenset({"ctrl"}), frozenset())


def test_a_tap_counts_once(window):
    press("space")
    press("space", up=True)
    assert window.keys()[0] == {"space"}
    assert window.keys()[0] == frozenset()


def test_escape_ends_and_f1_pauses(window):
    press("f1")
    window.keys()
    assert window.is_paused and not window.is_closed
    press("escape")
    window.keys()
    assert window.is_closed


def test_an_episode_is_played_and_asks_for_the_next():
    game = Game(Session("CartPole-v1", "untrained", 1))
    ended = []

    def one_more() -> bool:
        ended.append(game.shots[0].episode)
        return len(ended) < 2

    play_in_window(game, one_more, "CartPole-v1", fps=240)
    game.close()
    assert ended == [1, 2]


def test_a_person_s_episode_begins_with_a_key(monkeypatch):
    import pygame

    game, titles, looks = Game(Session("CartPole-v1", "human", 1)), [], []

    def wait(self, fps):
        looks.append(game.shots[0].step)
        titles.append(pygame.display.get_caption()[0])
        if len(looks) == 20:
            press("left")

    monkeypatch.setattr(Window, "wait", wait)
    play_in_window(game, lambda: False, "CartPole-v1", fps=240)
    game.close()
    assert looks[:20] == [0] * 20 and looks[-1] > 5, "then it runs by itself"
    assert titles[0] == "press a key to begin · CartPole-v1 · Spotter"
    assert titles[-1] == "CartPole-v1 · Spotter"


def test_without_a_display_it_says_what_else_to_do(monkeypatch):
    import pygame

    monkeypatch.delenv("SDL_VIDEODRIVER")
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.raises(UserError, match="--headless"):
        Window("test")
