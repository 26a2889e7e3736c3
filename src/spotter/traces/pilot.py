"""Who plays in a session: the policy of a checkpoint or a fresh one, and what it thinks each step.

Also what a session is played from: `@last`, a run, a checkpoint, or the address of a recipe.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from spotter import checkpoint, seeding
from spotter.config import RunConfig, resolve
from spotter.envs.fingerprint import unlike_actions
from spotter.nets.actor_critic import Policy
from spotter.nets.heads import Bernoulli, Categorical, Distribution, MultiCategorical
from spotter.rundir.run import Run, select
from spotter.types import Array, Obs, Spaces, UserError


@dataclass(frozen=True, slots=True)
class Source:
    """What is played: a config, and the run and the checkpoint it comes from."""

    config: RunConfig
    run: Run | None = None
    step: Path | None = None

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
        return Source(checkpoint.read_config(run.folder / "checkpoints" / "none"), run)
    return Source(checkpoint.read_config(step), run, step)


@dataclass(frozen=True, slots=True)
class Thought:
    """What a policy makes of one observation."""

    best: Array
    drawn: Array
    probabilities: tuple[float, ...]
    value: float


class Pilot:
    """A policy and its random stream."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = policy
        self._generator = torch.Generator().manual_seed(seed)

    @torch.inference_mode()
    def think(self, obs: Obs, mask: Array | None) -> Thought:
        batch = {path: torch.from_numpy(leaf) for path, leaf in obs.items()}
        valid = None if mask is None else torch.from_numpy(mask)[None]
        distribution, value = self._policy(batch, valid)
        return Thought(
            best=distribution.mode()[0].numpy(),
            drawn=distribution.sample(self._generator)[0].numpy(),
            probabilities=tuple(_probabilities(distribution)),
            value=float(value[0]),
        )


def _probabilities(distribution: Distribution) -> list[float]:
    """Of every choice, parts joined; of every button to be pressed; none for axes."""
    logs: Tensor | None = None
    if isinstance(distribution, Categorical):
        logs = distribution.log_probs
    elif isinstance(distribution, MultiCategorical):
        logs = torch.cat([part.log_probs for part in distribution.parts], -1)
    elif isinstance(distribution, Bernoulli):
        logs = distribution.on
    found: list[float] = [] if logs is None else logs[0].exp().tolist()
    return found


def find_pilot(source: Source, seed: int, fresh: Spaces | None) -> Pilot | None:
    """The policy of the checkpoint there is, if any; untrained weights for `fresh` spaces."""
    config, stream = source.config, seeding.integer(seed, "play actions")
    if fresh is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeding.integer(seed, "play weights"))
            return Pilot(Policy(fresh, config.policy), stream)
    if source.step is None:
        return None
    saved = checkpoint.read(source.step)
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(f"{source.step.name} cannot be played: {unlike}")
    with checkpoint.reading(source.step):
        policy = Policy(saved.spaces, config.policy)
        policy.load_state_dict(dict(saved.weights))
    return Pilot(policy, stream)
