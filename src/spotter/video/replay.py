"""One episode as mp4: replayed with the same seed and actions, encoded image by image.

The evaluator plays without rendering; a film builds one more env that renders, and repeats what
was played. No more than the images of one decision are held in memory, and the file appears when
it is complete.
"""

import math
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import Any, Final

import gymnasium as gym

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import Env
from spotter.rundir.files import StorageError
from spotter.types import Array
from spotter.video.actions import axes, label, names_of
from spotter.video.encoder import Encoder
from spotter.video.overlay import Canvas, Caption, Image
from spotter.video.picture import NoPicture, fps_of, image_of, reason, rendered

HOLD_S: Final = 0.5
"""The last image stays for so long, so that one can see how it ended."""
EVERY: Final = range(sys.maxsize)
"""All images are wanted."""


class CannotRender(RuntimeError):  # noqa: N818 - it is an answer, not a fault
    """The environment gives no images; the message is one sentence that names it and says why."""


class FilmStopped(Exception):  # noqa: N818 - it is an answer, not a fault
    """The film was cancelled; nothing of it is kept."""


@dataclass(frozen=True, slots=True)
class Film:
    """A finished film. `score` is what the replay reached: the raw return of what it shows."""

    path: Path
    frames: int
    score: float
    seconds: float
    fps: float
    is_cut: bool = False
    """Whether the episode is longer than the film."""


# --- playing again -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """One image: what is to be seen after the reset or after a raw step."""

    picture: Image
    index: int
    """Raw steps before it."""
    decision: int
    """The decision it belongs to, counted from 1; 0 after the reset."""
    received: Any
    """What the game was given; None after the reset."""
    reward: float
    """Of this decision so far."""
    score: float


class Watcher(gym.Wrapper[Any, Any, Any, Any]):
    """Sees every raw step, below frame skip: rewards, and frames while they are wanted."""

    def __init__(self, env: Env, wanted: Container[int] = ()) -> None:
        super().__init__(env)
        self.rewards: list[float] = []
        self.has_begun = False
        self._shape: tuple[int, ...] = ()
        self.begin_again(wanted)

    def begin_again(self, wanted: Container[int] = ()) -> None:
        """The next reset begins an episode of which these images are wanted."""
        self.has_begun = self._is_over = False
        self._wanted = wanted
        self._clear()

    def _clear(self) -> None:
        self.rewards.clear()
        self._caught: list[Frame] = []
        self._decision, self._reward, self._score = 0, 0.0, 0.0

    def decide(self) -> None:
        """The raw steps that follow belong to the next decision."""
        self._decision += 1
        self._reward = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        start = self.env.reset(seed=seed, options=options)
        if self.has_begun:
            self._is_over = True  # the next episode is not needed
        else:
            self._clear()
            self._look(None)
        return start

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        paid = float(reward)
        if not self._is_over:
            self.rewards.append(paid)
            self._reward += paid
            self._score += paid
            self._look(action)
        return obs, paid, terminated, truncated, info

    def _look(self, received: Any) -> None:
        index = len(self.rewards)
        if index not in self._wanted:
            return
        picture = image_of(self.env)
        self._shape = self._shape or picture.shape
        if picture.shape != self._shape:
            raise NoPicture("its images change their size")
        self._caught.append(
            Frame(picture, index, self._decision, received, self._reward, self._score)
        )

    def taken(self) -> list[Frame]:
        """Those since the last call."""
        caught, self._caught = self._caught, []
        return caught


def watched(instance: EnvInstance, wanted: Container[int] = ()) -> Watcher:
    """Puts a watcher where it sees every raw step."""
    watcher = instance.meter.env = Watcher(instance.meter.env, wanted)
    return watcher


def replay(
    instance: EnvInstance,
    watcher: Watcher,
    seed: int,
    actions: Sequence[Array],
    is_enough: Callable[[], bool],
) -> Iterator[Frame]:
    """The wanted frames; `is_enough`, asked before each decision, ends it."""
    instance.env.reset(seed=seed)
    watcher.has_begun = True
    for action in actions:
        yield from watcher.taken()
        if is_enough():
            return
        watcher.decide()
        try:
            _, _, terminated, truncated, _ = instance.env.step(instance.decode(action))
        except Exception as error:  # it went well without images
            raise NoPicture(reason(error)) from error
        if terminated or truncated:
            break
    yield from watcher.taken()


# --- filming -------------------------------------------------------------------------------------


def film(
    env: EnvConfig,
    seed: int,
    actions: Sequence[Array],
    path: Path,
    *,
    title: str = "",
    max_s: float | None = None,
    within_s: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Film:
    """Play an episode again in an evaluation env and film it; `actions` as in the buffers.

    One image after the reset and one per raw step (frame skip included), the last one held. An
    episode of more than `max_s` seconds is cut, and one that takes more than `within_s` seconds to
    film. Raises `FilmStopped` soon after `stop()` is true.
    """
    until, is_cut = monotonic() + within_s, False

    def is_full() -> bool:
        nonlocal is_cut
        is_cut = encoder.frames >= most or monotonic() >= until
        return is_cut

    try:
        with rendered(env) as instance:
            fps = fps_of(instance.env)
            most = math.inf if max_s is None else max(1, round(fps * Fraction(max_s)))
            caption_of = _captions(env, instance, actions)
            watcher = watched(instance, EVERY)
            with Encoder(path, fps) as encoder:
                canvas: Canvas | None = None
                for frame in replay(instance, watcher, seed, actions, is_full):
                    if stop():
                        raise FilmStopped
                    canvas = canvas or Canvas(frame.picture, title or env.id)
                    encoder.add(canvas.draw(frame.picture, caption_of(frame)))
                assert canvas is not None, "a replay gives images or raises"
                last = replace(caption_of(frame), ended=not is_cut)
                encoder.add(canvas.draw(frame.picture, last))
                encoder.hold(round(fps * HOLD_S) - 1)
    except (FilmStopped, StorageError):
        raise  # neither a full disk nor a signal is a fault of the environment
    except Exception as error:
        raise CannotRender(f"{env.id} cannot be filmed: {reason(error)}") from error
    seconds, score = float(encoder.frames / fps), instance.meter.score
    return Film(path, encoder.frames, score, seconds, float(fps), is_cut)


def _captions(
    env: EnvConfig, instance: EnvInstance, actions: Sequence[Array]
) -> Callable[[Frame], Caption]:
    """What the strip says about a frame; of numbers, what the game itself was given."""
    names, is_box = names_of(env, instance), instance.spaces.action.kind == "box"

    def words(frame: Frame) -> str:
        if not frame.decision:
            return ""
        if is_box:
            return axes(names, frame.received)
        return label(instance, names, actions[frame.decision - 1])

    return lambda frame: Caption(frame.decision, words(frame), frame.reward, frame.score)
