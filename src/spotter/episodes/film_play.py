"""Episodes for a film: played once as evaluation plays, then again before the camera.

The first time nothing is rendered, so that it is fast; the second time only wanted images are.
"""

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

import gymnasium as gym
import numpy as np

from spotter import seeding
from spotter.config import EnvConfig, RunConfig
from spotter.engines import acting
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder
from spotter.envs.wrapping import Start, Step
from spotter.episodes.capture import fresh
from spotter.episodes.film_plan import Stage
from spotter.policy.actor import cleared
from spotter.policy.actor_critic import Policy
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.evaluate import check_fits
from spotter.types import Array, Spaces
from spotter.video import CannotRender
from spotter.video.overlay import Image
from spotter.video.replay import name_of, picture_of, sentence

MOST_DECISIONS: Final = 5_000
"""Longer episodes are cut: a film would not show the rest anyway."""


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
    """Sees every raw step, below frame skip: rewards, and images while they are wanted."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.rewards: list[float] = []
        self.wanted: Container[int] = ()
        self.caught: list[tuple[int, Image, float]] = []
        self.has_begun = self._is_over = False
        self._shape: tuple[int, ...] = ()

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        start = self.env.reset(seed=seed, options=options)
        if self.has_begun:
            self._is_over = True  # the next episode is not needed
        else:
            self.rewards.clear()
            self.caught.clear()
            self._look()
        return start

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        if not self._is_over:
            self.rewards.append(float(reward))
            self._look()
        return obs, float(reward), terminated, truncated, info

    def begin_again(self, wanted: Container[int] = ()) -> None:
        """The next reset begins an episode of which these images are wanted."""
        self.has_begun = self._is_over = False
        self.wanted = wanted

    def _look(self) -> None:
        if len(self.rewards) in self.wanted:
            picture = picture_of(self.env)
            self._shape = self._shape or picture.shape
            if picture.shape != self._shape:
                raise CannotRender(
                    f"{name_of(self.env)} cannot be filmed: its images change their size"
                )
            self.caught.append((len(self.rewards), picture, sum(self.rewards)))


def play(config: RunConfig, policy: Policy, seed: int, deterministic: bool) -> Episode:
    """One episode as evaluation plays it, without images."""
    watchers: list[Watcher] = []

    def build() -> EnvInstance:
        instance = EnvBuilder(config.env, training=False).build()
        instance.meter.env = Watcher(instance.meter.env)
        watchers.append(instance.meter.env)
        return instance

    vector = LocalVector(build, 1)
    try:
        check_fits(policy.spaces, vector.spaces)
        actor = acting.make(policy, seeding.integer(seed, "film actions"))
        state = policy.initial_state(1)
        vector.reset([seed])
        watcher = watchers[-1]
        actions: list[Array] = []
        while len(actions) < MOST_DECISIONS:
            watcher.has_begun = True
            buffers = vector.buffers
            acted = actor.act(buffers.obs, buffers.mask, state, deterministic)
            action = acted.host_action()
            actions.append(np.array(action[0]))
            if vector.step(action):
                break
            state = cleared(acted.state, buffers.terminated, buffers.truncated, buffers.lost)
        return Episode(tuple(actions), tuple(watcher.rewards))
    finally:
        vector.close()


def replay(
    instance: EnvInstance, watcher: Watcher, seed: int, episode: Episode, wanted: Collection[int]
) -> Iterator[tuple[int, Image, float]]:
    """The wanted images of an episode: which one, what it shows, and the score so far."""
    last = max(wanted)
    watcher.begin_again(wanted)
    instance.env.reset(seed=seed)
    watcher.has_begun = True
    for action in episode.actions:
        yield from _taken(watcher)
        if len(watcher.rewards) > last:
            return
        _, _, terminated, truncated, _ = _step(instance, action)
        if terminated or truncated:
            break
    if len(watcher.rewards) < min(wanted):
        raise CannotRender(
            f"{name_of(instance.env)} cannot be filmed: played again, it ends much sooner"
        )
    yield from _taken(watcher)


def _step(instance: EnvInstance, action: Array) -> Any:
    try:
        return instance.env.step(instance.decode(action))
    except CannotRender:
        raise
    except Exception as error:  # it went well without images
        what = sentence(error)
        raise CannotRender(f"{name_of(instance.env)} cannot be filmed: {what}") from error


def _taken(watcher: Watcher) -> list[tuple[int, Image, float]]:
    caught, watcher.caught = watcher.caught, []
    return caught


def policy_of(run: Run, config: RunConfig, stage: Stage) -> Policy:
    if stage.checkpoint:
        return checkpoint.load(f"{run.folder}/step={stage.env_steps}")
    return fresh(config, _spaces(config.env))


def _spaces(env: EnvConfig) -> Spaces:
    instance = EnvBuilder(env, training=False).build()
    try:
        return instance.spaces
    finally:
        instance.close()
