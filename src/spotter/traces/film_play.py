"""Episodes for a film: played once as evaluation plays, then again before the camera.

The first time nobody looks, so that it is fast; the second time only wanted pictures are drawn.
"""

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np

from spotter import checkpoint, seeding
from spotter.config import EnvConfig, RunConfig
from spotter.envs.base import Env
from spotter.envs.make import Recipe
from spotter.envs.slices import Copy
from spotter.envs.vector import SyncVector
from spotter.evaluate import actor, check_fits
from spotter.nets.actor_critic import Policy
from spotter.rundir.run import Run
from spotter.traces.capture import fresh
from spotter.traces.film_plan import Stage
from spotter.types import Array, Spaces
from spotter.video import CannotRender
from spotter.video.overlay import Image
from spotter.video.replay import name_of, picture_of, sentence

MOST_DECISIONS: Final = 5_000
"""Longer episodes are cut: nobody would see the rest of them anyway."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One that was played: enough to play it again."""

    actions: tuple[Array, ...]
    rewards: tuple[float, ...]
    """The game's own, one per raw step."""

    @property
    def pictures(self) -> int:
        return len(self.rewards) + 1


class Watcher(gym.Wrapper[Any, Any, Any, Any]):
    """Sees every raw step, below frame skip: rewards, and pictures while somebody wants them."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.rewards: list[float] = []
        self.wanted: Container[int] = ()
        self.caught: list[tuple[int, Image, float]] = []
        self.has_begun = self._is_over = False
        self._shape: tuple[int, ...] = ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        start = self.env.reset(seed=seed, options=options)
        if self.has_begun:
            self._is_over = True  # the next episode is nobody's business
        else:
            self.rewards.clear()
            self.caught.clear()
            self._look()
        return start

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        if not self._is_over:
            self.rewards.append(float(reward))
            self._look()
        return obs, float(reward), terminated, truncated, info

    def begin_anew(self, wanted: Container[int] = ()) -> None:
        """The next reset begins an episode of which these pictures are wanted."""
        self.has_begun = self._is_over = False
        self.wanted = wanted

    def _look(self) -> None:
        if len(self.rewards) in self.wanted:
            picture = picture_of(self.env)
            self._shape = self._shape or picture.shape
            if picture.shape != self._shape:
                raise CannotRender(
                    f"{name_of(self.env)} cannot be filmed: its pictures change their size"
                )
            self.caught.append((len(self.rewards), picture, sum(self.rewards)))


def play(config: RunConfig, policy: Policy, seed: int, deterministic: bool) -> Episode:
    """One episode as evaluation plays it, without pictures."""
    watchers: list[Watcher] = []

    def build() -> Copy:
        copy = Recipe(config.env, training=False).build()
        copy.meter.env = Watcher(copy.meter.env)
        watchers.append(copy.meter.env)
        return copy

    vector = SyncVector(build, 1)
    try:
        check_fits(policy.spaces, vector.spaces)
        act = actor(policy, seeding.integer(seed, "film actions"), deterministic)
        vector.reset([seed])
        watcher = watchers[-1]
        actions: list[Array] = []
        while len(actions) < MOST_DECISIONS:
            watcher.has_begun = True
            action = act(vector.buffers)
            actions.append(np.array(action[0]))
            if vector.step(action):
                break
        return Episode(tuple(actions), tuple(watcher.rewards))
    finally:
        vector.close()


def replay(
    copy: Copy, watcher: Watcher, seed: int, episode: Episode, wanted: Collection[int]
) -> Iterator[tuple[int, Image, float]]:
    """The wanted pictures of an episode: which one, what it shows, and the score so far."""
    last = max(wanted)
    watcher.begin_anew(wanted)
    copy.env.reset(seed=seed)
    watcher.has_begun = True
    for action in episode.actions:
        yield from _taken(watcher)
        if len(watcher.rewards) > last:
            return
        _, _, terminated, truncated, _ = _step(copy, action)
        if terminated or truncated:
            break
    if len(watcher.rewards) < min(wanted):
        raise CannotRender(
            f"{name_of(copy.env)} cannot be filmed: played again, it ends much sooner"
        )
    yield from _taken(watcher)


def _step(copy: Copy, action: Array) -> Any:
    try:
        return copy.env.step(copy.decode(action))
    except CannotRender:
        raise
    except Exception as error:  # it went well without pictures
        what = sentence(error)
        raise CannotRender(f"{name_of(copy.env)} cannot be filmed: {what}") from error


def _taken(watcher: Watcher) -> list[tuple[int, Image, float]]:
    caught, watcher.caught = watcher.caught, []
    return caught


def policy_of(run: Run, config: RunConfig, stage: Stage) -> Policy:
    if stage.checkpoint:
        return checkpoint.load(f"{run.folder}/step={stage.env_steps}")
    return fresh(config, _spaces(config.env))


def _spaces(env: EnvConfig) -> Spaces:
    copy = Recipe(env, training=False).build()
    try:
        return copy.spaces
    finally:
        copy.close()
