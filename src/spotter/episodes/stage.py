"""One instance of a run's environment, as evaluation builds it, with everything recorded.

Beside the policy's observations, a stage keeps the game's own reward of each step, the numbers it
reported, and the image on its screen. No torch here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np

from spotter.config import EnvConfig, RunConfig
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.slices import Buffers, EnvInstance
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder
from spotter.envs.meter import GAME_GOES_ON
from spotter.episodes.pictures import Screen
from spotter.types import Array, Episode, Leaf
from spotter.video.actions import names_of
from spotter.video.picture import fps_of, perhaps_rendering

_NUMBERS: Final = (int, float, np.integer, np.floating, np.bool_)


@dataclass(frozen=True)
class Happened:
    """What one step did; `picture` is the screen after it, empty where there is none."""

    paid: float
    info: Mapping[str, float]
    episode: Episode | None
    picture: bytes
    received: Array
    """What the game itself was given, after every wrapper: scaled, mapped, made noisy."""


class Stage:
    """Plays one episode at a time; `buffers` hold what the policy sees. Use with `with`."""

    def __init__(self, config: RunConfig, pictures: bool = True) -> None:
        self.config = config
        self.wants_pictures = pictures
        self.vector = LocalVector(self._build, 1)

    @property
    def buffers(self) -> Buffers:
        return self.vector.buffers

    def reset(self, seed: int) -> bytes:
        """Begin an episode; returns the first image."""
        self.vector.reset([seed])
        return self._witness.first_picture

    def step(self, action: Array) -> Happened:
        self._ledger.paid = 0.0
        episodes = self.vector.step(action[None])
        seen = self._witness
        episode = episodes[0] if episodes else None
        received = np.array(self._ledger.received)
        return Happened(self._ledger.paid, seen.info, episode, seen.picture, received)

    @property
    def problem(self) -> str:
        """Why there are no images though they were wanted; empty where there are."""
        return self._witness.screen.problem if self.wants_pictures else ""

    def _build(self) -> EnvInstance:
        env, signals, dark = self.config.env, self.config.reward.signals, "none are wanted"
        if self.wants_pictures:
            instance, dark = perhaps_rendering(env, signals)
        else:
            instance = EnvBuilder(env, signals, training=False).build()
        self._ledger = _Ledger(instance.meter.env)
        instance.meter.env = self._ledger  # below frame skip: every raw step is counted
        self._witness = _Witness(instance.env, Screen(instance.env, dark))
        instance.env = self._witness
        self.instance = instance
        return instance

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.vector.close()


class _Ledger(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up the game's rewards between two decisions, and keeps what it was given."""

    paid = 0.0
    received: object = None

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.received = action
        step = self.env.step(action)
        self.paid += float(step[1])
        return step


class _Witness(gym.Wrapper[Any, Any, Any, Any]):
    """The outermost layer: sees the last state of an episode before the env resets."""

    def __init__(self, env: Env, screen: Screen) -> None:
        super().__init__(env)
        self.screen = screen
        self.first_picture = self.picture = b""
        self.info: dict[str, float] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        start = self.env.reset(seed=seed, options=options)
        if seed is not None:  # the episode after it is not used
            self.first_picture = self.screen.picture()
        return start

    def step(self, action: object) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        step = self.env.step(action)
        self.info = _numbers(step[4])
        self.picture = self.screen.picture()
        return step


def _numbers(info: Mapping[Any, Any]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in info.items()
        if isinstance(key, str)
        and key[:1] != "_"
        and key != GAME_GOES_ON
        and isinstance(value, _NUMBERS)
    }


# --- what things are called ----------------------------------------------------------------------


def names(stage: Stage, known: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Of the choices, buttons or axes; indices where there are no names.

    `known` is the card of a checkpoint, which knows the names a family cannot give just now.
    """
    spec, instance = stage.vector.spaces.action, stage.instance
    count = spec.nvec[0] if spec.kind == "discrete" else int(np.prod(spec.shape))
    try:
        found = names_of(stage.config.env, instance)
    except Exception:  # a family may need what is not installed; names are a courtesy
        found = tuple(map(str, (known or {}).get("actions") or ()))
    if len(found) == count:
        return tuple(map(str, found))
    if spec.kind == "discrete":
        return tuple(str(instance.decode(np.int64(i))) for i in range(count))
    return tuple(str(i) for i in range(count))


def stacks(env: EnvConfig, leaves: Mapping[str, Leaf]) -> dict[str, int]:
    """Leaves that are frame stacks, and of how many frames."""
    depth = getattr(env, "depth", None) or getattr(env, "stack", None) or 1
    for wrapper in env.wrappers:
        if wrapper.name == "frame_stack" and not wrapper.train_only:
            depth *= vars(wrapper)["count"]
    shown = {
        path: leaf.shape[0]
        for path, leaf in leaves.items()
        if leaf.kind == "image" or (leaf.kind == "vector" and len(leaves) == 1)
    }
    return {path: depth for path, size in shown.items() if depth > 1 and size % depth == 0}


def fps(env: Env) -> int:
    """Decisions per second of a game at its own pace."""
    return max(1, round(fps_of(env)))
