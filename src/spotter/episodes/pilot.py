"""Who plays in a session: the policy of a checkpoint or a fresh one, and what it thinks each step.

Also what a session is played from: `@last`, a run, a checkpoint, the address of a recipe, or a step
of a stored episode.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spotter import seeding
from spotter.config import RunConfig, changed, resolve
from spotter.config.overrides import parse, written
from spotter.engines import acting
from spotter.envs.fingerprint import unlike_actions
from spotter.episodes import format as traces
from spotter.episodes.capture import beliefs
from spotter.episodes.capture import fresh as fresh_policy
from spotter.policy.actor import PolicyState
from spotter.policy.actor_critic import Policy
from spotter.rundir.run import Run, select
from spotter.training import checkpoint
from spotter.types import Array, Obs, Spaces, UserError


@dataclass(frozen=True, slots=True)
class Source:
    """What is played: a config, and the run and the checkpoint it comes from."""

    config: RunConfig
    run: Run | None = None
    step: Path | None = None
    changes: tuple[str, ...] = ()
    """Settings that are not as the run has them; `config` holds them already."""

    @property
    def why_no_agent(self) -> str:
        if self.run is None:
            return "a recipe has no policy; play a run of it"
        return f"run {self.run.id} has no checkpoint yet"


def source_of(text: str) -> Source:
    """A run selector (`@last`, `RUN/step=N`) or else the address of a recipe."""
    run_part, which = checkpoint.split(text)
    try:
        run = select(run_part)
    except UserError:
        if text.startswith("@") or which:
            raise
        return Source(resolve(text).config)
    try:
        step = checkpoint.find_in(run, which)
    except UserError:
        if which:
            raise
        # a young run: a person can play all the same
        return Source(run.config(), run)
    return Source(run.config(), run, step)


@dataclass(frozen=True, slots=True)
class Opening:
    """How a stored episode began: what was done, and what was to be seen before and after each."""

    name: str
    source: Source
    seed: int
    actions: Array
    """[steps, …]"""
    seen: Obs
    """[steps + 1, …] for every leaf."""

    @property
    def note(self) -> str:
        return f"{traces.TAKEN_OVER}{self.name} at step {len(self.actions)}"

    @property
    def led_elsewhere(self) -> UserError:
        return UserError(
            f"{self.source.config.env.id} cannot be brought back to step {len(self.actions)}: "
            "the same seed and actions led elsewhere"
        )

    def check(self, step: int, seen: Obs) -> None:
        """Refuse what does not look as it did at a step; `seen` has one row per leaf."""
        for path, before in self.seen.items():
            if path not in seen or not np.array_equal(seen[path][0], before[step]):
                raise self.led_elsewhere


def opening_of(folder: str, step: int) -> Opening:
    """The episode in `folder` up to a step, in the settings it was played with."""
    trace = traces.load(Path(folder))
    trace.check_step(step)
    meta, run = trace.meta, traces.run_of(Path(folder))
    found = checkpoint.find_in(run, f"step={meta.step}") if meta.checkpoint else None
    config = run.config()
    if meta.changes:
        run.check_trust(written(parse(meta.changes)))
        config = changed(config, meta.changes)
    return Opening(
        name=Path(folder).name,
        source=Source(config, run, found, meta.changes),
        seed=meta.seed,
        actions=trace.columns["action"][:step],
        seen={path: leaf[: step + 1] for path, leaf in trace.observations.items()},
    )


@dataclass(frozen=True, slots=True)
class Thought:
    """What a policy makes of one observation."""

    action: Array
    probabilities: tuple[float, ...]
    value: float | None
    """None without a critic."""
    state: PolicyState


class Pilot:
    """A policy that plays, or that looks on while a person does."""

    def __init__(self, policy: Policy, seed: int, greedy: bool, has_critic: bool) -> None:
        self._actor = acting.make(policy, seed)
        self._greedy, self._has_critic = greedy, has_critic
        self.initial_state = policy.initial_state(1)

    def think(self, obs: Obs, mask: Array | None, state: PolicyState) -> Thought:
        valid = None if mask is None else mask[None]
        explained = acting.explain(self._actor, obs, valid, state, self._greedy)
        chances = beliefs(explained.distribution).get("probability")
        return Thought(
            action=explained.action[0].numpy(),
            probabilities=() if chances is None else tuple(chances.tolist()),
            value=float(explained.value[0]) if self._has_critic else None,
            state=explained.state,
        )


def find_pilot(source: Source, seed: int, greedy: bool, fresh: Spaces | None) -> Pilot | None:
    """The policy of the checkpoint there is, if any; untrained weights, sampled, for `fresh`."""
    config, stream = source.config, seeding.integer(seed, "play actions")
    has_critic = config.algo.baseline_used == "value"
    if fresh is not None:
        return Pilot(fresh_policy(config, fresh), stream, False, has_critic)
    if source.step is None:
        return None
    saved = checkpoint.read(source.step)
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(f"{source.step.name} cannot be played: {unlike}")
    with checkpoint.reading(source.step):
        return Pilot(saved.policy(config.policy), stream, greedy, has_critic)
