"""Rollouts: the [T, N] block one update learns from, and the collector that fills it.

The collector is the only code that knows how episodes end. It writes `next_value`: the critic's
value of the true last observation where an episode was truncated, 0 where it terminated, and the
next row's value otherwise. Names: `x[t]` belongs to the decision at vector step t.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spotter import seeding
from spotter.config import RewardConfig
from spotter.envs.slices import Bools, Buffers, EnvError
from spotter.envs.vector import VectorEnv
from spotter.nets.actor_critic import Policy
from spotter.rewards import RewardMixer
from spotter.schedules import Schedule
from spotter.types import Episode, Progress, Spaces, Tape, UserError

_DIAGNOSTIC_SAMPLES = 1024
_LONGEST_EPISODE = 1_000_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Flattened samples, [B, …]."""

    obs: Mapping[str, Tensor]
    action: Tensor
    log_prob: Tensor
    value: Tensor
    advantage: Tensor
    target: Tensor
    mask: Tensor | None

    def __len__(self) -> int:
        return self.action.shape[0]

    def select(self, indices: Tensor) -> "Batch":
        return Batch(
            obs={path: leaf[indices] for path, leaf in self.obs.items()},
            action=self.action[indices],
            log_prob=self.log_prob[indices],
            value=self.value[indices],
            advantage=self.advantage[indices],
            target=self.target[indices],
            mask=None if self.mask is None else self.mask[indices],
        )

    def sample_obs(self) -> Mapping[str, Tensor]:
        """Enough observations for a diagnosis, spread evenly."""
        stride = max(1, len(self) // _DIAGNOSTIC_SAMPLES)
        return {path: leaf[::stride] for path, leaf in self.obs.items()}


class Rollout:
    """Preallocated [T, N] tensors; reused from update to update."""

    def __init__(
        self, spaces: Spaces, steps: int, count: int, has_mask: bool, device: torch.device
    ) -> None:
        def block(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((steps, count, *shape), dtype=dtype, device=device)

        action = spaces.action
        self.steps, self.count = steps, count
        self.whole = True
        """Whether every sample is valid, so that nobody need look."""
        self.lost: list[tuple[int, int, int]] = []
        """What failing copies took with them: from step, to step, copy."""
        self.obs = {
            path: block(*leaf.shape, dtype=getattr(torch, leaf.dtype))
            for path, leaf in spaces.observation.items()
        }
        self.action = block(*action.shape, dtype=getattr(torch, action.dtype))
        self.log_prob, self.value = block(), block()
        self.reward, self.next_value = block(), block()
        self.episode_end = block(dtype=torch.bool)
        self.terminated = block(dtype=torch.bool)
        self.valid = block(dtype=torch.bool)
        """False where a copy had already played its share (whole-episode collecting only)."""
        self.mask = block(action.mask_size, dtype=torch.bool) if has_mask else None

    def first(self, steps: int) -> "Rollout":
        """A view of the first rows."""
        view = object.__new__(Rollout)
        view.steps, view.count = steps, self.count
        view.whole, view.lost = self.whole, self.lost
        view.obs = {path: leaf[:steps] for path, leaf in self.obs.items()}
        for name in ("action", "log_prob", "value", "reward", "next_value"):
            setattr(view, name, getattr(self, name)[:steps])
        for name in ("episode_end", "terminated", "valid"):
            setattr(view, name, getattr(self, name)[:steps])
        view.mask = None if self.mask is None else self.mask[:steps]
        return view

    def flatten(self, advantage: Tensor, target: Tensor) -> Batch:
        """Valid samples as [B, …]."""
        keep = None if self.whole else self.valid.flatten().nonzero().squeeze(-1)

        def flat(x: Tensor) -> Tensor:
            x = x.flatten(0, 1)
            return x if keep is None else x[keep]

        return Batch(
            obs={path: flat(leaf) for path, leaf in self.obs.items()},
            action=flat(self.action),
            log_prob=flat(self.log_prob),
            value=flat(self.value),
            advantage=flat(advantage),
            target=flat(target),
            mask=None if self.mask is None else flat(self.mask),
        )


class Collector:
    """Acts in all copies and writes down what happened."""

    def __init__(
        self,
        vector: VectorEnv,
        policy: Policy,
        mixer: RewardMixer,
        gamma: Schedule,
        seeds: Sequence[int],
        policy_seed: int,
        device: torch.device,
    ) -> None:
        self.vector, self.policy, self.mixer = vector, policy, mixer
        self._gamma = gamma
        self._device = device
        self._generator = torch.Generator(device=device).manual_seed(policy_seed)
        self._seeds = list(seeds)
        self._parts = np.zeros((vector.count, len(mixer.names)))
        self._rollout: Rollout | None = None
        self.last: Rollout | None = None
        """What the latest update learnt from; its memory is written over by the next."""
        self.position = (0, 0)
        """Vector steps collected and due in the present rollout (due: 0 where nobody knows)."""
        self._whole_episodes = False
        self._truncations: list[tuple[int, int, dict[str, Any]]] = []
        self.episodes: list[Episode] = []
        self.env_steps = 0
        self.vector_steps = 0
        self.seconds = {"env": 0.0, "policy": 0.0, "transfer": 0.0}
        self.mixer.reset(vector.reset(seeds))

    def collect(self, steps: int, progress: Progress) -> Rollout:
        """Exactly `steps` vector steps; episodes run on from one rollout into the next."""
        rollout = self._storage(steps)
        rollout.whole, rollout.lost = True, []
        self._start()
        for t in range(steps):
            self.position = (t, steps)
            self._step(rollout, t, progress, None)
        self._close(rollout)
        return rollout

    def collect_episodes(self, episodes: int, progress: Progress) -> Rollout:
        """Exactly `episodes` complete episodes in each copy; copies that are done stand still.

        Episodes must be at their start, so one collector is used in one way only.
        """
        self._start()
        self._whole_episodes = True
        left = np.full(self.vector.count, episodes)
        rollout = self._storage(256)
        rollout.whole, rollout.lost = True, []
        t = 0
        while left.any():
            if t == rollout.steps:
                rollout = self._grown(rollout)
            active = left > 0
            self.position = (t, 0)
            self._step(rollout, t, progress, active)
            left -= (self.vector.buffers.terminated | self.vector.buffers.truncated) & active
            t += 1
            if t > _LONGEST_EPISODE:
                raise UserError(
                    f"an episode did not end within {_LONGEST_EPISODE} steps; "
                    "this algorithm needs whole episodes: set env.time_limit"
                )
        used = rollout.first(t)
        self._close(used)
        return used

    def retune(self, gamma: Schedule, reward: RewardConfig) -> None:
        """Go on with other values of the same settings."""
        self._gamma = gamma
        self.mixer.retune(reward)

    def take(self) -> tuple[tuple[Episode, ...], dict[str, float]]:
        """Episodes and seconds since the last call."""
        episodes, seconds = tuple(self.episodes), dict(self.seconds)
        self.episodes = []
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        return episodes, seconds

    def _storage(self, steps: int) -> Rollout:
        if self._rollout is None or self._rollout.steps < steps:
            has_mask = self.vector.buffers.mask is not None
            self._rollout = Rollout(
                self.vector.spaces, steps, self.vector.count, has_mask, self._device
            )
        return self._rollout

    def _grown(self, rollout: Rollout) -> Rollout:
        """Twice the room, with what is already written."""
        self._rollout = None
        larger = self._storage(2 * rollout.steps)
        larger.whole, larger.lost = rollout.whole, rollout.lost
        written = larger.first(rollout.steps)
        for name, old in vars(rollout).items():
            if isinstance(old, Tensor):
                getattr(written, name).copy_(old)
        for path, leaf in rollout.obs.items():
            written.obs[path].copy_(leaf)
        return larger

    def _start(self) -> None:
        self._truncations = []

    def _step(self, rollout: Rollout, t: int, progress: Progress, active: Bools | None) -> None:
        began = perf_counter()
        buffers = self.vector.buffers
        for path, leaf in buffers.obs.items():
            rollout.obs[path][t] = torch.from_numpy(leaf)
        mask = None
        if rollout.mask is not None and buffers.mask is not None:
            rollout.mask[t] = torch.from_numpy(buffers.mask)
            mask = rollout.mask[t]
        obs = {path: leaf[t] for path, leaf in rollout.obs.items()}
        copied = perf_counter()
        acted = self.policy.act(obs, mask, self._generator)
        rollout.action[t] = acted.action
        rollout.log_prob[t] = acted.log_prob
        rollout.value[t] = acted.value
        action = acted.action.cpu().numpy()
        acting_done = perf_counter()

        episodes = self.vector.step(action, active)
        stepped = perf_counter()
        self._write_outcome(rollout, t, buffers, progress, active)
        self._note_episodes(episodes)
        self.vector_steps += 1
        self.env_steps += self.vector.count if active is None else int(active.sum())
        self.seconds["policy"] += acting_done - copied
        self.seconds["env"] += stepped - acting_done
        self.seconds["transfer"] += copied - began + perf_counter() - stepped

    def _write_outcome(
        self,
        rollout: Rollout,
        t: int,
        buffers: Buffers,
        progress: Progress,
        active: Bools | None,
    ) -> None:
        lost = None
        if buffers.lost.any():
            lost = buffers.lost if active is None else buffers.lost & active
            active = ~buffers.lost if active is None else active & ~buffers.lost
        reward, parts = self.mixer.mix(buffers, self._gamma.at(progress), progress, active)
        self._parts += parts
        rollout.reward[t] = torch.from_numpy(reward.astype(np.float32))
        rollout.terminated[t] = torch.from_numpy(buffers.terminated)
        rollout.episode_end[t] = torch.from_numpy(buffers.terminated | buffers.truncated)
        if active is None:
            rollout.valid[t] = True
        else:
            rollout.valid[t] = torch.from_numpy(active)
            rollout.whole = rollout.whole and bool(active.all())
        for row in np.flatnonzero(buffers.truncated):
            final = {path: leaf[row].copy() for path, leaf in buffers.final_obs.items()}
            self._truncations.append((t, int(row), final))
        if lost is not None:
            self._drop(rollout, t, np.flatnonzero(lost))

    def _drop(self, rollout: Rollout, t: int, rows: Iterable[int]) -> None:
        """Keep what a failed copy did not finish out of learning.

        Steps before the failure are bootstrapped from the last observation it gave. Where whole
        episodes are collected there is nothing to bootstrap, so the unfinished one goes.
        """
        for row in rows:
            self._parts[row] = 0.0
            start = t
            rollout.episode_end[t, row] = rollout.terminated[t, row] = True
            if self._whole_episodes:
                ends = rollout.episode_end[:t, row].nonzero()
                start = int(ends[-1]) + 1 if len(ends) else 0
                rollout.valid[start : t + 1, row] = False
            elif t:
                rollout.episode_end[t - 1, row] = True
            rollout.lost.append((start, t + 1, int(row)))

    def _note_episodes(self, episodes: list[Episode]) -> None:
        for episode in episodes:
            sums = self._parts[episode.env]
            parts = dict(zip(self.mixer.names, sums.tolist(), strict=True))
            self.episodes.append(replace(episode, reward=float(sums.sum()), parts=parts))
            sums[:] = 0.0

    def _close(self, rollout: Rollout) -> None:
        """Fill in `next_value`; time limits are valued at the true last observation."""
        began = perf_counter()
        if not rollout.whole and not rollout.valid.any():
            raise EnvError("every environment copy failed in every step of a rollout")
        latest = {
            path: torch.from_numpy(leaf).to(self._device)
            for path, leaf in self.vector.buffers.obs.items()
        }
        rollout.next_value[:-1] = rollout.value[1:]
        rollout.next_value[-1] = self.policy.value(latest)
        rollout.next_value[rollout.terminated] = 0.0
        if self._truncations:
            rows_t, rows_n, finals = zip(*self._truncations, strict=True)
            stacked = {
                path: torch.from_numpy(np.stack([final[path] for final in finals])).to(self._device)
                for path in finals[0]
            }
            rollout.next_value[list(rows_t), list(rows_n)] = self.policy.value(stacked)
        self.last = rollout
        self.seconds["policy"] += perf_counter() - began

    def state(self) -> dict[str, Any]:
        """Counters, random stream, rewards under way, and the way to every copy's present point."""
        return {
            "env_steps": self.env_steps,
            "vector_steps": self.vector_steps,
            "device": self._device.type,
            "actions": self._generator.get_state(),
            "parts": self._parts.copy(),
            "mixer": self.mixer.state(),
            "tapes": [_tape_data(tape) for tape in self.vector.tapes()],
            "obs": {path: leaf.copy() for path, leaf in self.vector.buffers.obs.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        """Go on from `state()`; returns the copies that had to begin a new episode instead."""
        self.env_steps, self.vector_steps = state["env_steps"], state["vector_steps"]
        if state["device"] == self._device.type:
            self._generator.set_state(torch.as_tensor(state["actions"]))
        else:  # its stream cannot be continued here: another one, the same every time
            self._generator.manual_seed(seeding.integer(self.env_steps, "on another device"))
        begun = self._replay(state)
        going_on = [row for row in range(self.vector.count) if row not in set(begun)]
        if going_on and state["parts"].shape == self._parts.shape:
            self._parts[going_on] = state["parts"][going_on]
        self.mixer.reset(self.vector.buffers)
        self.mixer.restore(state["mixer"], begun)
        return begun

    def _replay(self, state: Mapping[str, Any]) -> list[int]:
        """Play every copy to where it was; one that arrives elsewhere begins a new episode."""
        everyone = list(range(self.vector.count))
        tapes = [Tape(**{**tape, "actions": tuple(tape["actions"])}) for tape in state["tapes"]]
        if len(tapes) != self.vector.count:
            return everyone
        # what the copies show now, freshly seeded, is where those go that cannot be brought back
        fresh = [Tape({}, seed, ()) for seed in self._seeds]
        arrived = self.vector.play(tapes)
        for path, leaf in self.vector.buffers.obs.items():
            for row in everyone:
                arrived[row] &= np.array_equal(leaf[row], state["obs"][path][row], equal_nan=True)
        begun = [row for row in everyone if not arrived[row]]
        if begun:
            self.vector.play([fresh[row] if row in begun else tapes[row] for row in everyone])
        return begun


def _tape_data(tape: Tape) -> dict[str, Any]:
    return {"start": tape.start, "seed": tape.seed, "actions": np.array(tape.actions)}
