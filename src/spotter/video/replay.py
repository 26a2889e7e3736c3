"""One episode as mp4: replayed with the same seed and actions, encoded image by image.

The evaluator plays without rendering; a film builds one more env that renders, and repeats what
was played. No more than an image is held in memory, and the file appears when it is complete.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import Any, Final

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder
from spotter.envs.naming import action_names, chord
from spotter.envs.wrapping import Start, Step
from spotter.rundir.files import StorageError
from spotter.types import UserError
from spotter.video.encoder import Encoder
from spotter.video.overlay import Canvas, Caption, Image

HOLD_S: Final = 0.5
"""The last image stays for so long, so that one can see how it ended."""
_USUAL_FPS: Final = 30.0
_FASTEST_FPS: Final = 120.0
Array = npt.NDArray[Any]


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
    until = monotonic() + within_s
    with no_window():
        instance = rendering_copy(env)
        try:
            fps = fps_of(instance.env.metadata.get("render_fps"))
            with Encoder(path, fps) as encoder:
                is_box = instance.spaces.action.kind == "box"
                axes = _axes(_names_of(env, instance)) if is_box else None
                camera = Camera(instance.meter.env, encoder, title or env.id, stop, axes)
                instance.meter.env = camera  # below frame skip: every raw step is seen
                most = math.inf if max_s is None else max(1, round(fps * Fraction(max_s)))

                def is_full() -> bool:
                    return camera.frames >= most or monotonic() >= until

                is_cut = not _play(instance, camera, seed, actions, _names(env, instance), is_full)
                camera.shoot(ended=not is_cut)
                encoder.hold(round(fps * HOLD_S) - 1)
        except (CannotRender, FilmStopped, StorageError):
            raise  # neither a full disk nor a signal is a fault of the environment
        except Exception as error:
            raise CannotRender(f"{env.id} cannot be filmed: {sentence(error)}") from error
        finally:
            with suppress(Exception):  # the film is made, or the reason why not is on its way
                instance.close()
    seconds, score = float(encoder.frames / fps), instance.meter.score
    return Film(path, encoder.frames, score, seconds, float(fps), is_cut)


class Camera(gym.Wrapper[Any, Any, Any, Any]):
    """Takes an image after every raw step, and keeps the caption up to date."""

    def __init__(
        self,
        env: Env,
        encoder: "Encoder",
        title: str,
        stop: Callable[[], bool] = lambda: False,
        axes: Callable[[object], str] | None = None,
    ) -> None:
        """`axes` words what the game received, where actions are numbers."""
        super().__init__(env)
        self._axes = axes
        self._encoder = encoder
        self._title = title
        self._stop = stop
        self._canvas: Canvas | None = None
        self.caption = Caption(0, "", 0.0, 0.0)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        start = self.env.reset(seed=seed, options=options)
        self.caption = Caption(0, "", 0.0, 0.0)
        self.shoot()
        return start

    def decide(self, action: str) -> None:
        """What the policy chose; the rewards of the raw steps that follow belong to it."""
        before = self.caption
        self.caption = Caption(before.step + 1, action, 0.0, before.score)

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        now, paid = self.caption, float(reward)
        said = self._axes(action) if self._axes else now.action
        self.caption = Caption(now.step, said, now.reward + paid, now.score + paid)
        self.shoot()
        return obs, paid, terminated, truncated, info

    @property
    def frames(self) -> int:
        return self._encoder.frames

    def shoot(self, ended: bool = False) -> None:
        if self._stop():
            raise FilmStopped
        picture = picture_of(self.env)
        if self._canvas is None:
            self._canvas = Canvas(picture, self._title)
        if not self._canvas.fits(picture):
            raise CannotRender(
                f"{name_of(self.env)} cannot be filmed: its images change their size"
            )
        now = self.caption
        caption = Caption(now.step, now.action, now.reward, now.score, ended)
        self._encoder.add(self._canvas.draw(picture, caption))


def _play(
    instance: EnvInstance,
    camera: Camera,
    seed: int,
    actions: Sequence[Array],
    name: Callable[[Array], str],
    is_full: Callable[[], bool],
) -> bool:
    """Whether all of it was played before the film was full."""
    instance.env.reset(seed=seed)
    for action in actions:
        if is_full():
            return False
        camera.decide(name(action))
        _, _, terminated, truncated, _ = instance.env.step(instance.decode(action))
        if terminated or truncated:
            break
    return True


def rendering_copy(env: EnvConfig) -> EnvInstance:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the render mode: we say it in our own words
            instance = EnvBuilder(env, training=False, render=True).build()
    except UserError as error:
        reason = "it knows no render_mode" if "render_mode" in str(error) else str(error)
        raise CannotRender(f"{env.id} cannot be filmed: {reason}") from error
    if instance.env.render_mode != "rgb_array":
        instance.close()
        raise CannotRender(f"{env.id} cannot be filmed: it does not render to rgb_array")
    return instance


def picture_of(env: Env) -> Image:
    """[height, width, 3] of bytes, whatever shade of image the environment gives."""
    try:
        rendered: object = env.render()
    except Exception as error:  # third-party rendering code may fail in any way
        raise CannotRender(f"{name_of(env)} cannot be filmed: {sentence(error)}") from error
    if rendered is None:
        raise CannotRender(f"{name_of(env)} cannot be filmed: render() gives nothing")
    picture = np.asarray(rendered)
    if picture.ndim == 2:
        picture = picture[:, :, None].repeat(3, axis=2)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] not in (3, 4):
        raise CannotRender(
            f"{name_of(env)} cannot be filmed: render() gives {picture.dtype} of shape "
            f"{picture.shape}, not uint8 [height, width, 3]"
        )
    return picture[:, :, :3]


def name_of(env: Env) -> str:
    return env.spec.id if env.spec else type(env.unwrapped).__name__


def fps_of(wanted: object) -> Fraction:
    """What the environment's metadata says; many frames more than a screen shows are no use."""
    if not isinstance(wanted, int | float | np.number) or not 0 < wanted < np.inf:
        wanted = _USUAL_FPS
    return Fraction(min(float(wanted), _FASTEST_FPS)).limit_denominator(1000)


def sentence(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def no_window() -> Iterator[None]:
    """pygame draws without a display; what the user has set stays."""
    drivers = [key for key in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER") if key not in os.environ]
    os.environ.update(dict.fromkeys(drivers, "dummy"))
    try:
        yield
    finally:
        for key in drivers:
            os.environ.pop(key, None)


# --- names of actions ----------------------------------------------------------------------------


def _names(env: EnvConfig, instance: EnvInstance) -> Callable[[Array], str]:
    """A row of the action buffer in words."""
    spec, names = instance.spaces.action, _names_of(env, instance)
    if spec.kind == "box":
        return lambda action: _axes(names)(instance.decode(action))

    def name(action: Array) -> str:
        if spec.kind == "discrete":
            chosen = int(action)
            return names[chosen] if len(names) == spec.nvec[0] else str(instance.decode(action))
        return chord([int(value) for value in np.ravel(instance.decode(action))], names)

    return name


def _names_of(env: EnvConfig, instance: EnvInstance) -> tuple[str, ...]:
    bare = instance.meter.action_space
    return action_names(env, int(bare.start) if isinstance(bare, Discrete) else 0)


def _axes(names: Sequence[str]) -> Callable[[object], str]:
    """Numbers an environment takes, each with the name of its axis if it has one."""

    def name(action: Any) -> str:
        values = np.ravel(action)
        labels = [f"{n} " for n in names] if len(names) == len(values) else [""] * len(values)
        return "  ".join(f"{lab}{v:+.2f}" for lab, v in zip(labels, values, strict=True))

    return name
