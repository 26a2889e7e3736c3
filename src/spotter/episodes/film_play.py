"""Episodes for a film: played once as evaluation plays, then again before the camera.

The first time nothing is rendered, so that it is fast; the second time only wanted images are.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from spotter import seeding
from spotter.config import EnvConfig, RunConfig
from spotter.engines import acting
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.make import EnvBuilder
from spotter.episodes.capture import fresh
from spotter.episodes.film_plan import Stage
from spotter.policy.actor import cleared
from spotter.policy.actor_critic import Policy
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.evaluate import check_fits
from spotter.types import Array, Spaces
from spotter.video.picture import NoPicture
from spotter.video.replay import Frame, Watcher, watched
from spotter.video.replay import replay as play_again

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


def play(config: RunConfig, policy: Policy, seed: int, deterministic: bool) -> Episode:
    """One episode as evaluation plays it, without images."""
    watchers: list[Watcher] = []

    def build() -> EnvInstance:
        instance = EnvBuilder(config.env, training=False).build()
        watchers.append(watched(instance))
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
) -> Iterator[Frame]:
    """The wanted images of an episode."""
    last = max(wanted)
    watcher.begin_again(wanted)
    frames = play_again(
        instance, watcher, seed, episode.actions, lambda: len(watcher.rewards) > last
    )
    yield from frames
    if len(watcher.rewards) < min(wanted):
        raise NoPicture("played again, it ends much sooner")


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
