"""One episode of a policy, with everything that can be said about each of its steps.

It is played in an env as evaluation builds them, by the code evaluation uses, so that a greedy
episode is the one a certificate speaks of. Signals are read as well, to know what the algorithm
would have been rewarded with; train-only wrappers are left out.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from gymnasium.spaces import Box

from spotter import seeding
from spotter.collect.rewards import RewardMixer
from spotter.config import RunConfig, changed
from spotter.config.overrides import Override, parse
from spotter.engines import acting
from spotter.engines.network import choose_engine
from spotter.envs.fingerprint import fingerprint, unlike_actions
from spotter.episodes.format import Array, Frames, Meta, Trace, place, save
from spotter.episodes.stage import Stage, fps, names, stacks
from spotter.policy.actor import Actor, cleared
from spotter.policy.actor_critic import Policy
from spotter.policy.heads import Bernoulli, Categorical, Distribution, MultiCategorical, Normal
from spotter.rundir.files import read_json
from spotter.rundir.run import Run, select
from spotter.training import checkpoint
from spotter.training.evaluate import check_fits
from spotter.types import ActionSpec, Obs, Progress, Spaces, UserError
from spotter.versions import versions
from spotter.video.picture import no_window

MOST_STEPS: Final = 10_000
_LARGEST_SEED: Final = 2**31 - 1
_MODES: Final = ("greedy", "sampled")


@dataclass(frozen=True)
class Player:
    """Who plays, under which settings, and what is known about both."""

    run: Run
    checkpoint: str
    config: RunConfig
    policy: Policy | None
    """None where fresh weights shall be made for whatever the environment shows."""
    progress: Progress
    card: Mapping[str, object]
    mixer: Any
    """State of the reward mixer when the checkpoint was written; None if unknown."""
    changes: tuple[str, ...]
    mean_return: float | None = None
    """Of the update that made these weights, where that is what advantages were measured by."""


def capture(
    selector: str,
    *,
    seed: int | None = None,
    mode: str = "greedy",
    overrides: Sequence[Override] = (),
    most_steps: int = MOST_STEPS,
    untrained: bool = False,
    on_step: Callable[[int], bool] | None = None,
    first_actions: Sequence[object] = (),
    pictures: bool = True,
) -> Trace:
    """Play one episode and keep all of it.

    `seed` resets the environment; by default it is the first of the run's evaluation. `untrained`
    plays fresh weights, sampled. `on_step` hears the steps so far and ends the episode by False.
    `first_actions` are done first, whatever the policy thinks of them.
    """
    if mode not in _MODES:
        raise UserError(f"unknown mode '{mode}'; write {' or '.join(_MODES)}")
    if most_steps < 1:
        raise UserError(f"an episode has at least one step, not {most_steps}")
    player = _untrained(selector, overrides) if untrained else _trained(selector, overrides)
    seed = seeding.integer(player.config.seed, "eval envs") if seed is None else seed
    if not 0 <= seed <= _LARGEST_SEED:
        raise UserError(f"a seed is a whole number from 0 to {_LARGEST_SEED}, not {seed}")
    with no_window(), acting.one_thread(), Stage(player.config, pictures) as stage:
        policy = player.policy or fresh(player.config, stage.vector.spaces)
        check_fits(policy.spaces, stage.vector.spaces)
        greedy = mode == "greedy" and not untrained
        copied = acting.inference_copy(policy)
        policy = copied.policy if copied else policy
        actor = acting.make(policy, seeding.integer(seed, "inspect actions"))
        episode = _Episode(stage, actor, greedy, player)
        end = episode.play(seed, most_steps, on_step, first_actions)
        meta = _meta(player, stage, episode, seed, "untrained" if untrained else mode, end)
        shown = all(episode.pictures)
        frames = Frames(episode.pictures[:-1], episode.pictures[-1]) if shown else Frames()
        return Trace(meta, episode.columns(), frames)


def capture_to_disk(selector: str, **how: Any) -> str:
    """`capture`, saved into the run; returns the folder, as text that can cross processes."""
    trace = capture(selector, **how)
    return str(save(trace, place(run_of(selector), trace.meta)))


def run_of(selector: str) -> Run:
    """The run of `RUN`, `RUN/@best`, `RUN/@latest` or `RUN/step=N`."""
    return select(checkpoint.split(selector)[0])


def eval_seeds(run: Run, count: int) -> list[int]:
    """The seeds the run's evaluation used."""
    return seeding.integers(int(run.info()["seed"]), "eval envs", count)


# --- who plays -----------------------------------------------------------------------------------


def _trained(selector: str, overrides: Sequence[Override]) -> Player:
    step = checkpoint.find(selector)
    saved, config = checkpoint.read(step), checkpoint.read_config(step)
    policy = _loaded(saved, config)
    for path, _ in parse(overrides):
        if path[0] == "policy":
            name = ".".join(path)
            raise UserError(f"{name} cannot be changed: {step.name} has weights for its own policy")
    if overrides:
        config = changed(config, overrides)
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(f"{step.name} of run {saved.run.id} cannot be played: {unlike}")
    mixer = None
    if saved.trainer is not None:  # checkpoints of format 1 hold policies only
        with checkpoint.reading(step):
            mixer = saved.trainer["training"]["collector"]["mixer"]
    progress = Progress(saved.env_steps, config.budget.env_steps)
    # returns under other rewards or another gamma have another mean
    is_own = not any(path[0] in ("algo", "reward") for path, _ in parse(overrides))
    changes, mean = _changes(overrides), _mean_return(step, config) if is_own else None
    return Player(saved.run, step.name, config, policy, progress, saved.game, mixer, changes, mean)


def _mean_return(step: Path, config: RunConfig) -> float | None:
    if config.algo.baseline_used != "mean":
        return None
    with checkpoint.reading(step):
        mean = read_json(step / "metrics.json").get("return/mean")
        return None if mean is None else float(mean)


def _loaded(saved: checkpoint.Saved, config: RunConfig) -> Policy:
    with checkpoint.reading(saved.folder):
        return saved.policy(config.policy)


def _untrained(selector: str, overrides: Sequence[Override]) -> Player:
    run = run_of(selector)
    config = changed(run.config(), overrides)
    progress = Progress(0, config.budget.env_steps)
    return Player(run, "", config, None, progress, {}, None, _changes(overrides))


def _changes(overrides: Sequence[Override]) -> tuple[str, ...]:
    """Such that they can be given again: JSON is YAML."""
    return tuple(f"{'.'.join(path)}={json.dumps(value)}" for path, value in parse(overrides))


def fresh(config: RunConfig, spaces: Spaces) -> Policy:
    """The weights a training with this config begins with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeding.integer(config.seed, "weights"))
        return Policy(spaces, config.policy)


# --- what the policy says about a step -----------------------------------------------------------


def beliefs(distribution: Distribution) -> dict[str, Array]:
    """Probabilities of every choice or button; centre and spread of continuous actions."""
    if isinstance(distribution, Categorical):
        return {"probability": distribution.log_probs.exp().numpy()[0]}
    if isinstance(distribution, MultiCategorical):
        joined = torch.cat([part.log_probs.exp() for part in distribution.parts], -1)
        return {"probability": joined.numpy()[0]}
    if isinstance(distribution, Bernoulli):
        return {"probability": distribution.on.exp().numpy()[0]}
    assert isinstance(distribution, Normal)
    std = distribution.log_std.exp().expand_as(distribution.mean)
    return {"mean": distribution.mode().numpy()[0], "std": std.detach().numpy()[0]}


# --- the episode ---------------------------------------------------------------------------------


class _Episode:
    """Plays, and writes down."""

    def __init__(self, stage: Stage, actor: Actor, greedy: bool, player: Player) -> None:
        self.stage, self.actor, self._greedy = stage, actor, greedy
        self.mixer = RewardMixer(player.config.reward, stage.vector.signal_kinds, 1)
        self._state = actor.policy.initial_state(1)
        self.gamma = player.config.algo.gamma.at(player.progress)
        self._player = player
        self._has_critic = player.config.algo.baseline_used == "value"
        self._rows: list[dict[str, Array]] = []
        self._info: list[Mapping[str, float]] = []
        self.pictures: list[bytes] = []
        """One before each step, and one after the last."""
        self.score = self.final_value = 0.0

    def play(
        self,
        seed: int,
        most_steps: int,
        on_step: Callable[[int], bool] | None,
        first_actions: Sequence[object],
    ) -> str:
        """Returns how it ended."""
        stage = self.stage
        self.pictures.append(stage.reset(seed))
        self.mixer.reset(stage.buffers)
        if self._player.mixer is not None:
            self.mixer.restore(self._player.mixer, [0])
        while True:
            step = len(self._rows)
            done = self._described(first_actions[step]) if step < len(first_actions) else None
            end = self._step(done, bool(len(first_actions)))
            if end:
                return end
            if on_step is not None and not on_step(step + 1):
                break
            if step + 1 >= most_steps:
                break
        self.final_value = self._value(stage.buffers.obs)
        return "cut" if len(self._rows) >= most_steps else "stopped"

    def _described(self, action: object) -> Array:
        spec, mask = self.stage.vector.spaces.action, self.stage.buffers.mask
        reported = np.asarray(action, spec.dtype)
        offered = f"{spec.kind} {list(spec.nvec or spec.shape)}"
        if reported.shape != spec.shape or (spec.kind != "box" and not _in_range(reported, spec)):
            raise UserError(f"{reported.tolist()} is not an action here; valid: {offered}")
        if spec.kind == "discrete" and mask is not None and not mask[0, int(reported)]:
            raise UserError(f"action {int(reported)} is masked at step {len(self._rows)}")
        return reported

    def _step(self, done: Array | None, directed: bool) -> str:
        stage, buffers = self.stage, self.stage.buffers
        row = {f"obs/{path}": leaf[0].copy() for path, leaf in buffers.obs.items()}
        if buffers.mask is not None:
            row["mask"] = buffers.mask[0].copy()
        row |= self._decide(done)
        if directed:
            row["told"] = np.array(done is not None)
        happened = stage.step(row["action"])
        paid, parts = self.mixer.mix(buffers, self.gamma, self._player.progress)
        row["reward"] = np.array(happened.paid)
        row["training_reward"] = paid[0].copy()
        row["received"] = happened.received
        row["part"] = parts[0].copy()
        self._rows.append(row)
        self._info.append(happened.info)
        self.pictures.append(happened.picture)
        self.score += happened.paid
        if happened.episode is None:
            self._state = cleared(self._state, buffers.terminated, buffers.truncated, buffers.lost)
            return ""
        self.score = happened.episode.score
        if happened.episode.terminated:
            return "terminated"
        self.final_value = self._value(buffers.final_obs)
        return "truncated"

    def _decide(self, done: Array | None) -> dict[str, Array]:
        """What is done and what the policy says about it; with `done`, that is done."""
        buffers, told = self.stage.buffers, None if done is None else done[None]
        explained = acting.explain(
            self.actor, buffers.obs, buffers.mask, self._state, self._greedy, told
        )
        self._state = explained.state
        action = explained.action.numpy()
        is_mode = np.array_equal(action, explained.distribution.mode().numpy())
        said = {
            "action": action[0].copy(),
            "greedy": np.array((self._greedy and done is None) or is_mode),
            "log_prob": explained.log_prob.numpy()[0],
        }
        if self._has_critic:
            said["value"] = explained.value.numpy()[0]
        if self._state:  # the actor's, as its head sees it
            said["state"] = self._state[0].numpy()[0].astype(np.float16).ravel()
        return said | beliefs(explained.distribution)

    def _value(self, obs: Obs) -> float:
        """Of what lies behind the end; without a critic nothing is expected of it."""
        tensors = {path: torch.from_numpy(leaf) for path, leaf in obs.items()}
        return float(self.actor.policy.value(tensors, self._state)[0]) if self._has_critic else 0.0

    @property
    def length(self) -> int:
        return len(self._rows)

    @property
    def info_names(self) -> tuple[str, ...]:
        return tuple(sorted({key for info in self._info for key in info}))

    def columns(self) -> dict[str, Array]:
        names = [name for name in self._rows[0] if _stacks([row[name] for row in self._rows])]
        columns = {name: np.stack([row[name] for row in self._rows]) for name in names}
        keys = self.info_names
        numbers = [[info.get(name, np.nan) for name in keys] for info in self._info]
        return columns | {"info": np.array(numbers, np.float64).reshape(self.length, len(keys))}


def _stacks(values: Sequence[Array]) -> bool:
    """Whether they are numbers of one shape; a game may receive anything."""
    return values[0].dtype.kind in "biuf" and len({value.shape for value in values}) == 1


def _in_range(action: Array, spec: ActionSpec) -> bool:
    tops = np.array(spec.nvec or [2] * spec.shape[0]).reshape(spec.shape)
    return bool(((action >= 0) & (action < tops)).all())


def _meta(player: Player, stage: Stage, episode: _Episode, seed: int, mode: str, end: str) -> Meta:
    config, spaces = player.config, stage.vector.spaces
    lam = config.algo.own("lambda_")
    warnings = (f"{config.env.id} gives no images: {stage.problem}",) if stage.problem else ()
    return Meta(
        run=player.run.id,
        checkpoint=player.checkpoint,
        env_id=config.env.id,
        mode=mode,
        seed=seed,
        gamma=episode.gamma,
        lam=1.0 if lam is None else lam.at(player.progress),
        action_names=names(stage, player.card),
        parts=episode.mixer.names,
        info=episode.info_names,
        score=episode.score,
        length=episode.length,
        end=end,
        final_value=episode.final_value,
        fps=fps(stage.instance.env),
        fingerprint=fingerprint(config.env, config.reward),
        settings=config.as_data(),
        versions={**versions(), "engine": choose_engine(episode.actor.policy).name},
        action_kind=spaces.action.kind,
        nvec=spaces.action.nvec,
        stacks=stacks(config.env, spaces.observation),
        changes=player.changes,
        warnings=warnings,
        baseline=config.algo.baseline_used,
        baseline_mean=player.mean_return,
        credit=config.algo.credit,
        **_bounds(stage),
    )


def _bounds(stage: Stage) -> dict[str, tuple[float, ...]]:
    space = stage.instance.env.action_space
    if not isinstance(space, Box):
        return {}
    low, high = space.low.ravel().tolist(), space.high.ravel().tolist()
    return {"action_low": tuple(low), "action_high": tuple(high)}
