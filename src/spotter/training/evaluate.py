"""Scoring a policy: fixed episodes on held-out seeds, raw score, statistics frozen.

The pipeline is the training pipeline minus train-only wrappers, signals and reward scaling. Every
episode has a seed of its own, fixed in advance: short episodes are not over-represented, and any
one of them can be played again by its seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final, NamedTuple, Self

import numpy as np

from spotter import seeding
from spotter.config import RunConfig, changed, validate
from spotter.config.diff import difference
from spotter.config.overrides import Override, merge
from spotter.engines import acting
from spotter.engines.network import choose_engine
from spotter.envs.backends.vector import VectorEnv
from spotter.envs.base import threshold
from spotter.envs.fingerprint import facts, fingerprint, protocol_name, unlike_actions
from spotter.envs.make import make_vector
from spotter.policy.actor import Actor, cleared
from spotter.policy.actor_critic import Policy
from spotter.rundir.compare import unlike_terms
from spotter.training import checkpoint, estimate
from spotter.types import (
    CERTIFICATE_FORMAT,
    Array,
    Episode,
    Evaluation,
    SeedSet,
    Spaces,
    UserError,
)
from spotter.versions import versions

_MOST_ENVS: Final = 32


class Stopped(Exception):  # noqa: N818  # not an error: requested
    """An evaluation was abandoned."""


class Evaluator:
    """Has its own parallel envs; each run resets them to the same seeds."""

    def __init__(self, config: RunConfig, stop: Callable[[], bool] = lambda: False) -> None:
        estimate.check_episodes(config.eval.most_episodes)
        self._config = config
        self._stop = stop
        self._vector: VectorEnv | None = None
        self.threshold = threshold(config.env)

    def run(
        self,
        policy: Policy,
        env_steps: int,
        seeds: SeedSet = "eval",
        part: int = 0,
        episodes: int | None = None,
    ) -> Evaluation:
        """Score these weights; the same weights and seeds give the same scores.

        Each `part` has its own seeds of the set, after `part * episodes` others. Raises `Stopped`
        when asked to stop meanwhile.
        """
        began = perf_counter()
        config = self._config.eval
        episodes = episodes or config.most_episodes
        vector = self._envs(episodes)
        first, last = part * episodes, (part + 1) * episodes
        env_seeds = seeding.integers(self._config.seed, f"{seeds} envs", last)[first:]
        stream = f"{seeds} actions {part}" if part else f"{seeds} actions"
        played, actions = self._play(vector, policy, env_seeds, stream)
        return Evaluation(
            env_steps=env_steps,
            scores=tuple(one.episode.score for one in played),
            lengths=tuple(one.episode.length for one in played),
            truncated=tuple(not one.episode.terminated for one in played),
            stalled=tuple(one.stalled for one in played),
            env_seeds=tuple(one.seed for one in played),
            threshold=self.threshold,
            seeds=seeds,
            deterministic=config.deterministic,
            fingerprint=fingerprint(self._config.env, self._config.reward),
            protocol=protocol_name(self._config.env, self._config.reward),
            versions={**versions(), "engine": choose_engine(policy).name},
            first_actions=actions,
            seconds=perf_counter() - began,
            faults=tuple(vector.take_faults()),
        )

    @property
    def spaces(self) -> Spaces:
        return self._envs(self._config.eval.most_episodes).spaces

    def _envs(self, episodes: int) -> VectorEnv:
        """As many as the first round needs; how sampled actions are drawn depends on it."""
        count = rounds_of(episodes)[0]
        if self._vector is not None and self._vector.count != count:
            self.close()
        if self._vector is None:  # only now: training starts sooner
            self._vector = make_vector(self._config.env, count=count)
        return self._vector

    def _play(
        self, vector: VectorEnv, policy: Policy, env_seeds: Sequence[int], stream: str
    ) -> tuple[list["_Played"], tuple[Array, ...]]:
        """One episode per seed, in the order of the seeds; rounds of at most `_MOST_ENVS`."""
        actor = acting.make(policy, seeding.integer(self._config.seed, stream))
        first = _FirstEpisodes(vector.count)
        played: list[_Played] = []
        for size in rounds_of(len(env_seeds)):
            seeds = env_seeds[len(played) : len(played) + size]
            played += self._play_round(vector, actor, seeds, first)
        return played, first.actions()

    def _play_round(
        self,
        vector: VectorEnv,
        actor: Actor,
        seeds: Sequence[int],
        first: "_FirstEpisodes",
    ) -> list["_Played"]:
        # envs that have nothing to play in the last round are reset, but never stepped
        vector.reset([*seeds, *[seeds[0]] * (vector.count - len(seeds))])
        waiting = np.arange(vector.count) < len(seeds)
        failed = np.zeros(vector.count, dtype=bool)
        finished: dict[int, Episode] = {}
        steps, last_paid = 0, np.zeros(vector.count, dtype=np.int64)
        stalled = np.zeros(vector.count, dtype=bool)
        deterministic = self._config.eval.deterministic
        state = actor.policy.initial_state(vector.count)
        while waiting.any():
            if self._stop():
                raise Stopped
            buffers = vector.buffers
            acted = actor.act(buffers.obs, buffers.mask, state, deterministic)
            action = acted.host_action()
            episodes = vector.step(action, waiting)
            state = cleared(acted.state, buffers.terminated, buffers.truncated, buffers.lost)
            failed |= buffers.lost
            steps += 1
            last_paid[buffers.reward != 0] = steps
            first.note(action, episodes, buffers.lost)
            for episode in episodes:
                finished[episode.env] = episode
                waiting[episode.env] = False
                stalled[episode.env] = not episode.terminated and 2 * last_paid[episode.env] < steps
        return [
            _Played(None if failed[env] else seed, finished[env], bool(stalled[env]))
            for env, seed in enumerate(seeds)
        ]

    def close(self) -> None:
        if self._vector is not None:
            self._vector.close()
            self._vector = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _FirstEpisodes:
    """The actions of each env's first episode; none for an env that failed in it."""

    def __init__(self, count: int) -> None:
        self._steps: list[Array] = []
        self._lengths: list[int | None] = [None] * count
        self._open = count

    def note(self, action: Array, episodes: Sequence[Episode], lost: Array) -> None:
        if not self._open:
            return
        self._steps.append(action)
        for env in np.flatnonzero(lost).tolist():
            self._close(env, 0)
        for episode in episodes:
            self._close(episode.env, len(self._steps))

    def _close(self, env: int, length: int) -> None:
        if self._lengths[env] is None:
            self._lengths[env] = length
            self._open -= 1

    def actions(self) -> tuple[Array, ...]:
        steps = np.array(self._steps)
        return tuple(steps[:length, env] for env, length in enumerate(self._lengths))


class _Played(NamedTuple):
    """One episode of an evaluation."""

    seed: int | None
    episode: Episode
    stalled: bool


def rounds_of(episodes: int) -> list[int]:
    """How many episodes are played side by side, round by round, as equal as possible."""
    count = -(-episodes // _MOST_ENVS)
    return [episodes // count + (i < episodes % count) for i in range(count)]


def joined(parts: Sequence[Evaluation]) -> Evaluation:
    """The episodes of several evaluations of the same weights as one."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        scores=tuple(score for one in parts for score in one.scores),
        lengths=tuple(length for one in parts for length in one.lengths),
        truncated=tuple(cut for one in parts for cut in one.truncated),
        stalled=tuple(stalled for one in parts for stalled in one.stalled),
        env_seeds=tuple(seed for one in parts for seed in one.env_seeds),
        seconds=sum(one.seconds for one in parts),
        faults=tuple(fault for one in parts for fault in one.faults),
        parts=sum(one.parts for one in parts),
    )


_PLAYED_BY: Final = ("env", "eval", "seed", "threads")
"""Where the settings are that decide how a saved policy plays."""


class Played(NamedTuple):
    """A saved policy that was evaluated again."""

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
    """Evaluate a saved policy again.

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
        return [Played(_evaluate_once(config, how, policy), None, terms)]
    found = []
    for written in checkpoint.read_scores(step).values():
        # as it was scored: a resumed run may have other settings now
        parts = written.get("parts", 1)
        how = {
            "episodes": written["episodes"] // parts,
            "deterministic": written["deterministic"],
        }
        again = _evaluate_once(config, how, policy, written["seeds"], parts)
        differs = _differs(again, written)
        as_written = None if _is_incomparable(written) else not differs
        found.append(Played(again, as_written, differs=differs))
    return found or [Played(_evaluate_once(config, {}, policy), None)]


def _is_incomparable(written: Mapping[str, Any]) -> bool:
    """Format 1 gave seeds to the first episode of each env only; later ones cannot be repeated."""
    return _is_unpaired(written) and len(written["scores"]) > _MOST_ENVS


def _is_unpaired(written: Mapping[str, Any]) -> bool:
    return bool(written.get("format", 1) < CERTIFICATE_FORMAT)


def _other_game(config: RunConfig, overrides: Sequence[Override]) -> RunConfig:
    """With the changes; refused where none of them has to do with playing."""
    other = changed(config, overrides)
    elsewhere = ["launch"] if config.launch != other.launch else []
    for name in (*elsewhere, *difference(config.as_data(), other.as_data())):
        if name.partition(".")[0] not in _PLAYED_BY:
            raise UserError(
                f"{name} changes nothing about how a saved policy plays; settings of "
                f"{', '.join(_PLAYED_BY)} do"
            )
    return other


def _differs(again: Evaluation, written: Mapping[str, Any]) -> str:
    """Empty if every episode scores what was written down."""
    before, now = list(written["scores"]), list(again.scores)
    if _is_unpaired(written):  # in the order in which episodes ended: only the whole compares
        before, now = sorted(before), sorted(now)
    if before == now:
        return ""
    clauses = [f"{written['score']:g} over {len(before)} episodes was written down"]
    pairs = [place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if pairs and not _is_unpaired(written):
        place = pairs[0]
        seed = dict(enumerate(written.get("env_seeds") or ())).get(place, "unknown")
        clauses.append(f"{len(pairs)} of them differ, the first is number {place + 1} (seed {seed})"
                       f" with {before[place]:g} then and {now[place]:g} now")  # fmt: skip
    then = written.get("versions") or {}
    for name, version in again.versions.items():
        if then.get(name, version) != version:
            clauses.append(f"{name} was {then[name]} and is {version}")
    return "; ".join(clauses)


def _evaluate_once(
    config: RunConfig,
    how: Mapping[str, object],
    policy: Policy,
    seeds: SeedSet = "test",
    parts: int = 1,
) -> Evaluation:
    with Evaluator(validate(merge(config.as_data(), {"eval": how}))) as evaluator:
        check_fits(policy.spaces, evaluator.spaces)
        return joined([evaluator.run(policy, 0, seeds, part) for part in range(parts)])


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
