"""The process of one game in the browser: steps it at its pace, receives keys, sends frames.

Torch and the environment live here and nowhere else in Studio. Commands come as JSON objects with
a word under `do`; anything else is passed over. What is sent begins with one letter that is the
server what to do with it.
"""

import io
import json
import math
import os
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from spotter.episodes.keys import key_name
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.episodes.play import Game, Session
    from spotter.video.overlay import Image

FRAME: Final = b"F"
EVENT: Final = b"E"
NOTE: Final = b"N"
"""An image, an event for the browser, an episode the server shall keep."""
ORDER: Final = b"O"
COMMAND: Final = b"C"
"""From the server itself: what to play next. From the browser: keys and buttons."""
FASTEST: Final = 120.0
SLOWEST: Final = 0.5
_PAUSE_AT_END_S: Final = 0.7  # so that one can see how it ended
_IDLE_S: Final = 3600.0
_EARLY: Final = 0.6  # of a step; so much sooner comes one that answers a key
_SMALL: Final = 300  # pixels
_SMOOTH: Final = 60.0  # frames per second; more than a screen shows are no use


def play(pipe: Connection) -> None:
    """One game after the other, until the server is gone or says stop."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import spotter.episodes.play  # noqa: F401  # takes seconds, so not later

    with suppress(EOFError, OSError):
        order = _first_order(pipe)
        while True:
            order = _play_game(pipe, order) or _first_order(pipe)


def _first_order(pipe: Connection) -> dict[str, object]:
    """The next game to play."""
    while True:
        message = pipe.recv_bytes()
        if message[:1] == ORDER:
            return _read_order(message)


def _read_order(message: bytes) -> dict[str, object]:
    """What to play; `null` is the end of everything."""
    order: dict[str, object] | None = json.loads(message[1:])
    if order is None:
        raise EOFError
    return order


def _play_game(pipe: Connection, order: Mapping[str, object]) -> dict[str, object] | None:
    """One game; returns the order that ended it, if one did."""
    game: Game | None = None
    try:
        game = _game(order)
        return _Table(pipe, game, order).run()
    except (EOFError, BrokenPipeError, ConnectionError):
        raise
    except UserError as error:
        _fail(pipe, str(error), order)
    except Exception as error:  # an environment may fail in any way; the page says which
        _fail(pipe, " ".join(f"{type(error).__name__}: {error}".split()), order)
    finally:
        if game is not None:
            game.close()
    return None


def _game(order: Mapping[str, Any]) -> "Game":
    import torch

    from spotter.episodes.play import Game, Session, race, take_over

    torch.set_num_threads(1)  # small networks; the other cores belong to games and trainings
    if "episode" in order:
        return take_over(str(order["episode"]), int(order["step"]), smooth=True)
    source, seed = str(order["source"]), order.get("seed")
    if order["mode"] == "race":
        return race(source, seed, smooth=True)
    return Game(Session(source, order["mode"], seed, smooth=True))


def _fail(pipe: Connection, text: str, order: Mapping[str, object]) -> None:
    header = {"kind": "failed", "text": text, "start": order.get("start")}
    pipe.send_bytes(EVENT + packed(header))


def packed(header: Mapping[str, object], *pictures: bytes) -> bytes:
    """One message for the browser."""
    text = json.dumps(header).encode()
    return b"".join((struct.pack("<I", len(text)), text, *pictures))


class _Table:
    """The loop, and the state set by the browser."""

    def __init__(self, pipe: Connection, game: "Game", order: Mapping[str, object]) -> None:
        self._pipe = pipe
        self._game, self._start = game, order.get("start")
        self._fps = _pace(order.get("fps"), game.sessions[0].fps)
        self._held: set[str] = set()
        self._touched: set[str] = set()
        self._has_new_keys = False
        self._heard = 0
        """Number of the newest key the next step takes into account."""
        self._is_paused = self._by_step = self._records = False
        self._stands = False
        """A person is about to play or to take over; the first key begins."""
        self._ordered = False
        """A single step was asked for."""
        self._due = 0.0
        self._film: deque[tuple[float, bytes]] = deque()
        """Frames of the present step still to be shown, and when."""
        self._number = 0

    def run(self) -> dict[str, object]:
        """Until the next order, which is returned; without one the game stands still."""
        self._begin()
        while True:
            # commands first: the newest keys count
            if self._pipe.poll(self._patience()):
                message = self._pipe.recv_bytes()
                if message[:1] == ORDER:
                    return _read_order(message)
                self._handle_command(message[1:])
            elif self._film and monotonic() >= self._film[0][0]:
                self._pipe.send_bytes(self._film.popleft()[1])
            elif not self._is_time():
                continue
            elif self._game.over:
                self._begin()
            else:
                self._step()

    def _patience(self) -> float:
        """How long to wait for commands only."""
        if self._is_time():
            return 0.0
        is_resting = not self._game.over and (self._is_paused or self._is_by_key)
        until = self._film[0][0] if self._film else _IDLE_S + monotonic()
        return max(0.0, (until if is_resting else min(until, self._next)) - monotonic())

    @property
    def _next(self) -> float:
        """When the next step is due. A key brings it forward, and the one after it stays where it
        was: games of few steps a second answer at once, and the pace holds."""
        return self._due - (_EARLY / self._fps if self._has_new_keys and not self._game.over else 0)

    def _is_time(self) -> bool:
        """Whether something shall happen now."""
        is_due = monotonic() >= self._next
        if self._game.over or self._ordered:
            return is_due or self._ordered
        if self._is_paused:
            return False
        return bool(self._touched) if self._is_by_key else is_due

    @property
    def _is_by_key(self) -> bool:
        return self._by_step or self._stands or self._game.waits

    @property
    def _is_human(self) -> bool:
        return any(session.mode == "human" for session in self._game.sessions)

    def _handle_command(self, raw: bytes) -> None:
        try:
            command = json.loads(raw)
            word, value = command["do"], command.get("value")
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        if word in ("down", "up") and isinstance(value, str):
            self._key(word, key_name(value[:20]))
            number = command.get("number")
            self._heard = number if isinstance(number, int) else self._heard
        elif word == "release":
            self._held.clear()
        elif word == "pause":
            self._is_paused = bool(value)
            self._show()
        elif word == "by step":
            self._by_step = bool(value)
        elif word == "step":
            self._ordered = True
        elif word == "fps":
            self._fps = _pace(value, self._fps)
        elif word == "again":
            self._begin()
        elif word == "record":
            self._record(bool(value))

    def _key(self, word: str, key: str) -> None:
        if word == "down":
            self._has_new_keys = self._is_human
            self._held.add(key)
            self._touched.add(key)  # a tap shorter than a step counts, too
        else:
            self._held.discard(key)

    # --- steps -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._game.reset()
        if not self._number:
            self._introduce()
        self._stands = self._is_human and not self._game.waits
        self._ordered = False
        self._touched.clear()
        self._due = monotonic() + 1 / self._fps
        self._show()

    def _step(self) -> None:
        pressed = frozenset(self._held | self._touched)
        self._touched.clear()
        self._ordered = self._has_new_keys = self._stands = False
        # from when it was due, so that the pace holds; but late steps are not made up for
        self._due = max(self._due + 1 / self._fps, monotonic())
        self._game.step(pressed)
        self._show()
        if self._game.over:
            self._end()
            self._due = monotonic() + max(_PAUSE_AT_END_S, 1 / self._fps)

    def _end(self) -> None:
        shots = self._game.shots
        self._tell(
            {
                "kind": "ended",
                "episode": shots[0].episode,
                "scores": [shot.score for shot in shots],
                "steps": [shot.step for shot in shots],
                "modes": [session.mode for session in self._game.sessions],
            }
        )
        if self._records:
            self._keep()

    def _record(self, wanted: bool) -> None:
        """Every finished episode is kept; stopping in the middle of one keeps what there is."""
        has_moved = self._game.shots[0].action is not None
        if self._records and not wanted and not self._game.over and has_moved:
            self._keep()
        self._records = wanted

    def _keep(self) -> None:
        try:
            # in a race, the person's: the agent can be captured at any time
            recording = self._game.sessions[0].recording()
        except UserError as error:
            self._tell({"kind": "said", "text": str(error), "bad": True})
        else:
            self._pipe.send_bytes(NOTE + json.dumps(recording).encode())

    # --- images --------------------------------------------------------------------------------

    def _introduce(self) -> None:
        sessions = self._game.sessions
        self._tell(
            {
                "kind": "ready",
                "start": self._start,
                "fps": self._fps,
                "waits": any(session.waits for session in sessions),
                "can_record": sessions[0].source.run is not None,
                "env": sessions[0].source.config.env.id,
                "legend": sessions[0].keyboard.legend() if self._is_human else [],
                "players": [
                    {
                        "mode": session.mode,
                        "choices": list(session.choices),
                        "seed": session.seed,
                        "cannot_draw": session.cannot_draw,
                    }
                    for session in sessions
                ],
            }
        )

    def _tell(self, header: Mapping[str, object]) -> None:
        self._pipe.send_bytes(EVENT + packed(header))

    def _show(self) -> None:
        """The present frame at once; after a step, first the frames that led to it."""
        for _, message in self._film:
            self._pipe.send_bytes(message)
        self._film.clear()
        shots = self._game.shots
        most = max(len(shot.between) for shot in shots) + 1
        count = max(1, min(most, round(_SMOOTH / self._fps)))
        now = monotonic()
        for part in range(1, count + 1):
            frames = [_at((*shot.between, shot.frame), part / count) for shot in shots]
            message = self._picture([b"" if frame is None else jpeg(frame) for frame in frames])
            if part == 1:
                self._pipe.send_bytes(message)
            else:
                self._film.append((now + (part - 1) / count / self._fps, message))

    def _picture(self, pictures: Sequence[bytes]) -> bytes:
        self._number += 1
        header = {
            "kind": "frame",
            "number": self._number,
            "heard": self._heard,
            "paused": self._is_paused,
            "stands": self._stands,
            "players": [
                _described(session, len(picture))
                for session, picture in zip(self._game.sessions, pictures, strict=True)
            ],
        }
        return FRAME + packed(header, *pictures)


def _at(frames: Sequence[object], share: float) -> Any:
    """The frame that far into a step; the last one at 1."""
    return frames[max(0, math.ceil(share * len(frames)) - 1)]


def _described(session: "Session", size: int) -> dict[str, object]:
    """What the page says about a player, beside the image."""
    shot = session.shot
    assert shot is not None
    chosen: list[int] = []
    if shot.action is not None and shot.probabilities:
        chosen = _chosen(session)
    return {
        "picture": size,
        "episode": shot.episode,
        "step": shot.step,
        "score": shot.score,
        "reward": shot.reward,
        "action": shot.action_name,
        "chosen": chosen,
        "probabilities": [round(p, 4) for p in shot.probabilities],
        "mask": [int(valid) for valid in shot.mask],
        "value": shot.value,
        "over": shot.over,
        "seed": session.episode_seed,
    }


def _chosen(session: "Session") -> list[int]:
    """Which of the choices were taken, by their place among the probabilities."""
    assert session.shot is not None and session.shot.action is not None
    action, spec = session.shot.action, session.spec
    if spec.kind == "discrete":
        return [int(action)]
    if spec.kind == "binary":
        return [index for index, held in enumerate(action.tolist()) if held]
    places, start = [], 0
    for size, choice in zip(spec.nvec, action.tolist(), strict=True):
        places.append(start + int(choice))
        start += size
    return places


def _pace(wanted: object, otherwise: float) -> float:
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or wanted != wanted:
        return otherwise
    return min(max(float(wanted), SLOWEST), FASTEST)


def jpeg(image: "Image") -> bytes:
    """By pygame, which is three times quicker than PyAV here; these images are not kept.

    JPEG keeps colours at half the resolution only, so small images are doubled first.
    """
    import pygame

    if image.shape[1] < _SMALL:
        image = image.repeat(2, axis=0).repeat(2, axis=1)
    size = (image.shape[1], image.shape[0])
    surface = pygame.image.frombuffer(image.tobytes(), size, "RGB")
    out = io.BytesIO()
    pygame.image.save(surface, out, "picture.jpg")
    return out.getvalue()
