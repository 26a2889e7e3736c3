"""Play in a window of one's own, by pygame, which every install has for drawing anyway.

Esc or closing the window ends, F1 pauses; every other key belongs to the game, and a person's
episode begins with the first of them. No torch here.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spotter.episodes.keys import key_name
from spotter.types import UserError
from spotter.video.overlay import Canvas, Caption, Image

if TYPE_CHECKING:
    from spotter.episodes.play import Game, Session, Shot

_NOWHERE: Final = ("dummy", "offscreen")
_NO_DISPLAY: Final = (
    "there is no display to open a window on; add --headless, or play in `spotter studio`"
)
_HOLD_S: Final = 0.8  # the last image stays, so that one can see how it ended


class Window:
    """Images out, keys in."""

    def __init__(self, title: str) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        self._pygame: Any = pygame
        try:
            pygame.display.init()
        except pygame.error as error:
            raise UserError(_NO_DISPLAY) from error
        if pygame.display.get_driver() in _NOWHERE and "SDL_VIDEODRIVER" not in os.environ:
            raise UserError(_NO_DISPLAY)
        self._title = f"{title} · Spotter"
        self.name()
        self._clock = pygame.time.Clock()
        self._screen: Any = None
        self._held: set[str] = set()
        self.is_closed = self.is_paused = False

    def name(self, hint: str = "") -> None:
        """What stands above the image."""
        self._pygame.display.set_caption(f"{hint} · {self._title}" if hint else self._title)

    def keys(self) -> tuple[frozenset[str], frozenset[str]]:
        """Those that are held or were touched since the last call, and the newly pressed ones."""
        pygame, new = self._pygame, set[str]()
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.is_closed = True
            elif event.type in (pygame.KEYDOWN, pygame.KEYUP):
                name = key_name(pygame.key.name(event.key))
                if event.type == pygame.KEYUP:
                    self._held.discard(name)
                elif name == "escape":
                    self.is_closed = True
                elif name == "f1":
                    self.is_paused = not self.is_paused
                else:
                    new.add(name)
                    self._held.add(name)
        return frozenset(self._held | new), frozenset(new)

    def show(self, picture: Image) -> None:
        pygame, (height, width) = self._pygame, picture.shape[:2]
        if self._screen is None or self._screen.get_size() != (width, height):
            self._screen = pygame.display.set_mode((width, height))
        surface = pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB")
        self._screen.blit(surface, (0, 0))
        pygame.display.flip()

    def wait(self, fps: float) -> None:
        self._clock.tick(fps)

    def close(self) -> None:
        self._pygame.display.quit()


def play_in_window(
    game: "Game",
    ended: Callable[[], bool],
    title: str,
    fps: float | None = None,
    step_by_step: bool = False,
) -> None:
    """Play until the window is closed or `ended`, asked after each episode, says no."""
    window = Window(title)
    pace = fps or game.sessions[0].fps
    easels = [_Easel(session, title) for session in game.sessions]
    try:
        while not window.is_closed:
            game.reset()
            _show(window, easels)
            _play(game, window, easels, pace, step_by_step)
            if window.is_closed or not ended():
                return
            for _ in range(round(_HOLD_S * pace)):
                window.keys()
                window.wait(pace)
    finally:
        window.close()


def _play(
    game: "Game", window: Window, easels: "list[_Easel]", pace: float, step_by_step: bool
) -> None:
    waits = any(session.mode == "human" for session in game.sessions)
    window.name("press a key to begin" if waits else "")
    while not game.over and not window.is_closed:
        held, new = window.keys()
        if waits and not new:
            window.wait(pace)
            continue
        if waits:
            waits = False
            window.name()
        by_key = step_by_step or game.waits
        if not window.is_paused and (new or not by_key):
            game.step(held)
            _show(window, easels)
        window.wait(max(pace, 30.0) if by_key else pace)


class _Easel:
    """One player's image, enlarged, with a strip of numbers below."""

    def __init__(self, session: "Session", title: str) -> None:
        self._session = session
        self._title = f"{title}, {session.mode}"
        self._canvas: Canvas | None = None

    def draw(self) -> Image:
        shot = self._session.shot
        assert shot is not None
        picture = _blank() if shot.frame is None else shot.frame
        if self._canvas is None or not self._canvas.fits(picture):
            self._canvas = Canvas(picture, self._title)
        return self._canvas.draw(picture, _caption(shot))


def _caption(shot: "Shot") -> Caption:
    step, action = shot.step, f"{shot.action_name}   episode {shot.episode}"
    return Caption(step, action, shot.reward, shot.score, bool(shot.over))


def _blank() -> Image:
    """For games that cannot be drawn: the strip below is still shown."""
    return np.full((200, 480, 3), 40, dtype=np.uint8)


def _show(window: Window, easels: list[_Easel]) -> None:
    window.show(np.ascontiguousarray(np.hstack([easel.draw() for easel in easels])))
