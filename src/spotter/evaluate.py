"""Scoring a policy: fixed episodes on held-out seeds, raw score, statistics frozen.

The pipeline is the training pipeline minus train-only wrappers, signals and reward scaling. How
many episodes each copy plays is fixed in advance, so short episodes are not over-represented.
"""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
import torch

from spotter import checkpoint, seeding
from spotter.config import RunConfig, changed, validate
from spotter.config.diff import difference
from spotter.config.overrides import Override, merge
from spotter.envs.base import threshold
from spotter.envs.fingerprint import facts, fingerprint, protocol_name, unlike_actions
from spotter.envs.make import make_vector
from spotter.envs.slices import Buffers
from spotter.envs.vector import VectorEnv
from spotter.fast.network import choose_engine, twin
from spotter.nets.actor_critic import Policy
from spotter.rundir.compare import unlike_terms
from spotter.types import Array, Episode, Evaluation, Spaces, UserError
from spotter.versions import versions

_MOST_COPIES = 32

Seeds = Literal["eval", "test"]


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked
    """An evaluation was abandoned."""


class Evaluator:
    """Keeps its own copies of the environment; each run starts them from the same seeds."""

    def __init__(self, config: RunConfig, stop: Callable[[], bool] = lambda: False) -> None:
        self._config = config
        self._stop = stop
        self._count = min(config.eval.episodes, _MOST_COPIES)
        self._vector: VectorEnv | None = None
        self.threshold = threshold(config.env)

    def run(self, policy: Policy, env_steps: int, seeds: Seeds = "eval") -> Evaluation:
        """Score these weights; the same weights and seeds give the same scores.

        Raises `Stopped` when asked to stop meanwhile.
        """
        began = perf_counter()
        config = self._config.eval
        vector = self._copies()
        env_seeds = seeding.integers(self._config.seed, f"{seeds} envs", self._count)
        finished, actions = self._play(vector, policy, env_seeds, f"{seeds} actions")
        return Evaluation(
            env_steps=env_steps,
            scores=tuple(episode.score for episode in finished),
            lengths=tuple(episode.length for episode in finished),
            threshold=self.threshold,
            seeds=seeds,
            deterministic=config.deterministic,
            fingerprint=fingerprint(self._config.env, self._config.reward),
            protocol=protocol_name(self._config.env, self._config.reward),
            versions={**versions(), "engine": choose_engine(policy).name},
            first_seeds=tuple(env_seeds),
            first_actions=actions,
            seconds=perf_counter() - began,
            faults=tuple(vector.take_faults()),
        )

    @property
    def spaces(self) -> Spaces:
        return self._copies().spaces

    def _copies(self) -> VectorEnv:
        if self._vector is None:  # only now: training starts sooner
            self._vector = make_vector(self._config.env, count=self._count)
        return self._vector

    def _play(
        self, vector: VectorEnv, policy: Policy, env_seeds: Sequence[int], stream: str
    ) -> tuple[list[Episode], tuple[Array, ...]]:
        config = self._config.eval
        act = actor(policy, seeding.integer(self._config.seed, stream), config.deterministic)
        vector.reset(env_seeds)
        left = np.array(episodes_per_copy(config.episodes, self._count))
        first = _FirstEpisodes(self._count)
        finished: list[Episode] = []
        while left.any():
            if self._stop():
                raise Stopped
            buffers = vector.buffers
            action = act(buffers)
            episodes = vector.step(action, left > 0)
            first.note(action, episodes, buffers.lost)
            for episode in episodes:
                left[episode.env] -= 1
            finished += episodes
        return finished, first.actions()

    def close(self) -> None:
        if self._vector is not None:
            self._vector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def actor(policy: Policy, seed: int, deterministic: bool) -> Callable[[Buffers], Array]:
    """From what copies show to what they shall do, by the policy's own engine."""
    device = next(policy.parameters()).device
    generator = torch.Generator(device=device).manual_seed(seed)
    network = twin(policy)

    def act(buffers: Buffers) -> Array:
        if network is not None:
            x = network.inputs(buffers.obs)
            noise = None if deterministic else network.draw(1, len(x), generator)[0]
            return network.choose(x, buffers.mask, noise)
        obs = {path: torch.from_numpy(leaf).to(device) for path, leaf in buffers.obs.items()}
        mask = None if buffers.mask is None else torch.from_numpy(buffers.mask).to(device)
        action: Array = policy.act(obs, mask, generator, deterministic).action.cpu().numpy()
        return action

    return act


class _FirstEpisodes:
    """The actions of each copy's first episode; none for a copy that failed in it."""

    def __init__(self, count: int) -> None:
        self._steps: list[Array] = []
        self._lengths: list[int | None] = [None] * count
        self._open = count

    def note(self, action: Array, episodes: Sequence[Episode], lost: Array) -> None:
        if not self._open:
            return
        self._steps.append(action)
        for copy in np.flatnonzero(lost).tolist():
            self._close(copy, 0)
        for episode in episodes:
            self._close(episode.env, len(self._steps))

    def _close(self, copy: int, length: int) -> None:
        if self._lengths[copy] is None:
            self._lengths[copy] = length
            self._open -= 1

    def actions(self) -> tuple[Array, ...]:
        steps = np.array(self._steps)
        return tuple(steps[:length, copy] for copy, length in enumerate(self._lengths))


def episodes_per_copy(episodes: int, count: int) -> Sequence[int]:
    """Shares as equal as possible."""
    return [episodes // count + (i < episodes % count) for i in range(count)]


_PLAYED_BY: Final = ("env", "eval", "seed", "threads")
"""Where the settings are that decide how a saved policy plays."""


class Played(NamedTuple):
    """A saved policy that was scored anew."""

    evaluation: Evaluation
    as_written: bool | None
    """Whether every episode equals what was written down; None if there is nothing to compare."""
    unlike: str = ""
    """How the game differs from the one the policy was trained on; empty if it does not."""
    differs: str = ""
    """How the scores differ from those written down, and what else has changed since."""


def play_again(
    selector: str, episodes: int | None = None, overrides: Sequence[Override] = ()
) -> list[Played]:
    """Score a saved policy anew.

    Every certificate beside the weights is checked. There is nothing to compare if they were never
    scored, or with `episodes` or `overrides` of one's own, which are played on test seeds.
    """
    step = checkpoint.find(selector)
    saved, config, policy = (
        checkpoint.read(step), checkpoint.read_config(step), checkpoint.load(selector)
    )  # fmt: skip
    if overrides:
        config = _other_game(config, overrides)
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(f"{step.name} of run {saved.run.id} cannot be played: {unlike}")
    if episodes or overrides:
        how = {"episodes": episodes} if episodes else {}
        terms = unlike_terms([saved.game.get("facts"), facts(config.env, config.reward)])
        return [Played(_once(config, how, policy), None, terms)]
    found = []
    for seeds, written in checkpoint.read_scores(step).items():
        # as it was scored: a resumed run may have gone on with other settings
        how = {key: written[key] for key in ("episodes", "deterministic")}
        again = _once(config, how, policy, "eval" if seeds == "eval" else "test")
        differs = _differs(again, written)
        found.append(Played(again, not differs, differs=differs))
    return found or [Played(_once(config, {}, policy), None)]


def _other_game(config: RunConfig, overrides: Sequence[Override]) -> RunConfig:
    """With the changes; refused where none of them has to do with playing."""
    other = changed(config, overrides)
    for name in difference(config.as_data(), other.as_data()):
        if name.partition(".")[0] not in _PLAYED_BY:
            raise UserError(
                f"{name} changes nothing about how a saved policy plays; settings of "
                f"{', '.join(_PLAYED_BY)} do"
            )
    return other


def _differs(again: Evaluation, written: Mapping[str, Any]) -> str:
    """Empty if every episode scores what was written down."""
    before, now = written["scores"], list(again.scores)
    if before == now:
        return ""
    clauses = [f"{written['score']:g} over {len(before)} episodes was written down"]
    pairs = [place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if pairs:
        place = pairs[0]
        seed = dict(enumerate(written.get("env_seeds") or ())).get(place, "unknown")
        clauses.append(f"{len(pairs)} of them differ, the first is number {place + 1} (seed {seed})"
                       f" with {before[place]:g} then and {now[place]:g} now")  # fmt: skip
    then = written.get("versions") or {}
    for name, version in again.versions.items():
        if then.get(name, version) != version:
            clauses.append(f"{name} was {then[name]} and is {version}")
    return "; ".join(clauses)


def _once(
    config: RunConfig, how: Mapping[str, Any], policy: Policy, seeds: Seeds = "test"
) -> Evaluation:
    with Evaluator(validate(merge(config.as_data(), {"eval": how}))) as evaluator:
        check_fits(policy.spaces, evaluator.spaces)
        return evaluator.run(policy, 0, seeds)


def check_fits(own: Spaces, there: Spaces) -> None:
    """Whether a policy can see and act there at all."""
    sees, shown = (
        {path: (leaf.kind, leaf.shape, leaf.nvec) for path, leaf in spaces.observation.items()}
        for spaces in (own, there)
    )
    if sees != shown:
        raise UserError(f"the policy sees {_listed(own)}, but this game shows {_listed(there)}")
    if own.action != there.action:
        wanted, offered = (list(s.action.nvec or s.action.shape) for s in (own, there))
        raise UserError(
            f"the policy has {own.action.kind} {wanted} actions, but this game takes "
            f"{there.action.kind} {offered}"
        )


def _listed(spaces: Spaces) -> str:
    return ", ".join(f"{leaf.kind} {list(leaf.shape)}" for leaf in spaces.observation.values())
