"""The collector: acts in all envs and fills a rollout.

It is the only code that knows how episodes end. It writes `next_value`: the critic's value of the
true last observation where an episode was truncated, 0 where it terminated, and the next row's
value otherwise.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from spotter import seeding
from spotter.collect import resume
from spotter.collect.rewards import RewardMixer
from spotter.config import RewardConfig
from spotter.engines.acting import NumpyActor
from spotter.engines.rollout_actor import RolloutActor
from spotter.envs.backends.slices import Bools, Buffers, EnvError
from spotter.envs.backends.vector import InTurns, VectorEnv
from spotter.policy.actor import PolicyState, cleared
from spotter.rollouts.images import History
from spotter.rollouts.rollout import Rollout
from spotter.schedules import Schedule
from spotter.types import Array, Episode, Progress, UserError

_LONGEST_EPISODE = 1_000_000


class Collector:
    """Acts in all envs and records the transitions."""

    def __init__(
        self,
        vector: VectorEnv,
        actor: RolloutActor,
        mixer: RewardMixer,
        gamma: Schedule,
        seeds: Sequence[int],
        buffers: int = 1,
        keeps_after: bool = False,
    ) -> None:
        """`buffers`: rollouts kept at once; `keeps_after`: with what is seen after their end."""
        self.vector, self.actor, self.mixer = vector, actor, mixer
        self._numpy_actor = actor if isinstance(actor, NumpyActor) else None
        self._gamma, self._gamma_now = gamma, 0.0
        self._device = actor.generator.device
        self._state = actor.policy.initial_state(vector.count)
        """What the policy remembers of each env's episode."""
        self._seeds = list(seeds)
        self._parts = np.zeros((vector.count, len(mixer.names)))
        self._rollouts: deque[Rollout | None] = deque([None] * buffers)
        """The present one first."""
        self._keeps_after, self._is_cancelled = keeps_after, False
        self.position = (0, 0)
        """Vector steps collected and due in the present rollout (due: 0 where unknown)."""
        self._whole_episodes = False
        self._truncations: list[tuple[int, int, dict[str, object], PolicyState]] = []
        self.episodes: list[Episode] = []
        self.env_steps = self.vector_steps = 0
        self.seconds = {"env": 0.0, "policy": 0.0, "transfer": 0.0}
        self.mixer.reset(vector.reset(seeds))

    def collect(self, steps: int, progress: Progress) -> Rollout:
        """Exactly `steps` vector steps; episodes run on from one rollout into the next."""
        rollout = self._storage(steps)
        self._start(progress, steps)
        if self.vector.halves > 1:
            self._take_turns(rollout, steps, progress)
        else:
            for t in range(steps):
                self.position = (t, steps)
                self._step(rollout, t, progress, None)
        self._close(rollout)
        return rollout

    def collect_episodes(self, episodes: int, progress: Progress) -> Rollout:
        """Exactly `episodes` complete episodes in each env; envs that are done stand still.

        Episodes must be at their start, so one collector is used in one way only.
        """
        self._start(progress, 0)
        self._state = self.actor.policy.initial_state(self.vector.count)
        self._whole_episodes = True
        left = np.full(self.vector.count, episodes)
        rollout = self._storage(256)
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
        """Use other values of the same settings from now on."""
        self._gamma = gamma
        self.mixer.retune(reward)

    def take(self) -> tuple[tuple[Episode, ...], dict[str, float]]:
        """Episodes and seconds since the last call."""
        episodes, seconds = tuple(self.episodes), dict(self.seconds)
        self.episodes = []
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        return episodes, seconds

    def cancel(self) -> None:
        """Abandon the current rollout; it is no longer needed."""
        self._is_cancelled = True

    def _storage(self, steps: int) -> Rollout:
        """Room for a new rollout, in the memory of the oldest."""
        self._rollouts.rotate()
        rollout = self._rollouts[0]
        if rollout is None or rollout.steps < steps:
            rollout = self._rollouts[0] = self._new_rollout(steps)
        rollout.whole, rollout.lost, rollout.state = True, [], self._state
        rollout.bonus = None
        self._written = self._values(rollout)
        return rollout

    def _new_rollout(self, steps: int) -> Rollout:
        return Rollout(
            self.vector.spaces,
            steps,
            self.vector.count,
            self.vector.buffers.mask is not None,
            self._device,
            self.vector.depths,
        )

    def _grown(self, rollout: Rollout) -> Rollout:
        """Twice the room, with what is already written."""
        larger = self._rollouts[0] = self._new_rollout(2 * rollout.steps)
        larger.whole, larger.lost, larger.state = rollout.whole, rollout.lost, rollout.state
        written = larger.first(rollout.steps)
        for name, old in vars(rollout).items():
            if isinstance(old, Tensor):
                vars(written)[name].copy_(old)
        for name, array in rollout.host.items():
            written.host[name][...] = array
        for path, leaf in rollout.obs.items():
            if isinstance(leaf, History):
                larger.obs[path] = leaf.grown(larger.steps)
        for path, block in rollout.leaves.items():
            written.leaves[path].copy_(block)
        self._written = self._values(larger)
        return larger

    def _values(self, rollout: Rollout) -> Rollout[Any]:
        """The same memory, as the actor writes to it: tensors or arrays."""
        return rollout if self._numpy_actor is None else rollout.arrays()

    def _start(self, progress: Progress, steps: int) -> None:
        self._truncations, self._gamma_now = [], self._gamma.at(progress)
        self.actor.prepare(steps, self.vector.count)

    def _step(self, rollout: Rollout, t: int, progress: Progress, active: Bools | None) -> None:
        began = perf_counter()
        buffers = self.vector.buffers
        act = self._act if self._numpy_actor is None else self._act_numpy
        action, copied = act(rollout, t, buffers)
        acting_done = perf_counter()

        episodes = self.vector.step(action, active)
        stepped = perf_counter()
        self._write_outcome(rollout, t, buffers, progress, active, self._state)
        if episodes:
            self._note_episodes(episodes)
        self.vector_steps += 1
        self.env_steps += self.vector.count if active is None else int(active.sum())
        self.seconds["policy"] += acting_done - copied
        self.seconds["env"] += stepped - acting_done
        self.seconds["transfer"] += copied - began + perf_counter() - stepped

    def _take_turns(self, rollout: Rollout, steps: int, progress: Progress) -> None:
        """Steps in which one group of envs runs while the policy acts for the other.

        Outcomes are recorded for all envs at once: a group's stay valid until its next step.
        """
        vector = cast(InTurns, self.vector)
        for t in range(steps + 1):
            self.position = (min(t, steps - 1), steps)
            state = self._state  # after step t - 1
            episodes: list[Episode] = []
            for half, rows in enumerate(vector.rows):
                began = perf_counter()
                if t:
                    episodes += vector.recv(half)
                heard = perf_counter()
                if t < steps:
                    action, copied = self._act(rollout, t, vector.buffers, rows)
                    acted = perf_counter()
                    vector.send(half, action)
                    self.seconds["transfer"] += copied - heard
                    self.seconds["policy"] += acted - copied
                self.seconds["env"] += heard - began
            if t:
                self._write_outcome(rollout, t - 1, vector.buffers, progress, None, state)
                self._note_episodes(episodes)
                self.vector_steps += 1
                self.env_steps += vector.count

    def _act(
        self, rollout: Rollout, t: int, buffers: Buffers, rows: slice | None = None
    ) -> tuple[Array, float]:
        """Write down observations and what the policy makes of them.

        Returns the actions, and when the observations had been copied.
        """
        if self._is_cancelled:
            raise EnvError("collecting was cancelled")
        rows = slice(0, self.vector.count) if rows is None else rows
        obs, mask = rollout.show(t, buffers, rows)
        copied = perf_counter()
        assert not isinstance(self.actor, NumpyActor)
        acted = self.actor.act(obs, mask, self._recall(rows, buffers), rows)
        assert acted.log_prob is not None and acted.value is not None
        rollout.action[t, rows] = acted.action
        rollout.log_prob[t, rows] = acted.log_prob
        rollout.value[t, rows] = acted.value
        if acted.state:
            self._remember(rows, acted.state)
        return acted.host_action(), copied

    def _act_numpy(self, rollout: Rollout, t: int, buffers: Buffers) -> tuple[Array, float]:
        """`_act` without torch; without a memory, `_close` writes what the policy says of it."""
        arrays = self._written
        assert self._numpy_actor is not None
        for path, leaf in arrays.leaves.items():
            leaf[t] = buffers.obs[path]
        if arrays.mask is not None:
            arrays.mask[t] = buffers.mask
        copied = perf_counter()
        state = self._recall(slice(0, self.vector.count), buffers)
        acted = self._numpy_actor.act(buffers.obs, buffers.mask, state)
        arrays.action[t], self._state = acted.action, acted.state
        if acted.state:
            arrays.log_prob[t], arrays.value[t] = acted.log_prob, acted.value
        return acted.action, copied

    def _recall(self, rows: slice, buffers: Buffers) -> PolicyState:
        """What the policy remembers of some envs: nothing where an episode has just ended."""
        if not self._state:
            return ()
        ends = (buffers.terminated[rows], buffers.truncated[rows], buffers.lost[rows])
        return cleared(tuple(part[rows] for part in self._state), *ends)

    def _remember(self, rows: slice, state: PolicyState) -> None:
        """In new tensors: what was remembered before is still wanted."""
        self._state = tuple(
            torch.cat([old[: rows.start], new, old[rows.stop :]])
            for old, new in zip(self._state, state, strict=True)
        )

    def _write_outcome(
        self,
        rollout: Rollout,
        t: int,
        buffers: Buffers,
        progress: Progress,
        active: Bools | None,
        state: PolicyState,
    ) -> None:
        lost = None
        if _any(buffers.lost):
            lost = buffers.lost if active is None else buffers.lost & active
            active = ~buffers.lost if active is None else active & ~buffers.lost
        reward, parts = self.mixer.mix(buffers, self._gamma_now, progress, active)
        self._parts += parts
        host = rollout.host
        host["reward"][t] = reward
        host["terminated"][t] = buffers.terminated
        np.logical_or(buffers.terminated, buffers.truncated, out=host["episode_end"][t])
        host["valid"][t] = True if active is None else active
        if active is not None:
            rollout.whole = rollout.whole and bool(active.all())
        if _any(buffers.truncated):
            for row in np.flatnonzero(buffers.truncated):
                final = {path: leaf[row].copy() for path, leaf in buffers.final_obs.items()}
                remembered = tuple(part[row] for part in state)
                self._truncations.append((t, int(row), final, remembered))
        if lost is not None:
            self._drop(rollout, t, np.flatnonzero(lost))

    def _drop(self, rollout: Rollout, t: int, rows: Iterable[int]) -> None:
        """Keep what a failed env did not finish out of learning.

        Steps before the failure are bootstrapped from the last observation it gave. Where whole
        episodes are collected there is nothing to bootstrap, so the unfinished one goes.
        """
        host = rollout.host
        for row in rows:
            self._parts[row] = 0.0
            start = t
            host["episode_end"][t, row] = host["terminated"][t, row] = True
            if self._whole_episodes:
                ends = np.flatnonzero(host["episode_end"][:t, row])
                start = int(ends[-1]) + 1 if len(ends) else 0
                host["valid"][start : t + 1, row] = False
            elif t:
                host["episode_end"][t - 1, row] = True
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
        if not rollout.whole and not rollout.host["valid"].any():
            raise EnvError("every environment failed in every step of a rollout")
        rollout.upload()
        values = self._values(rollout)
        self.actor.complete(values)
        obs = self.vector.buffers.obs
        if self._keeps_after:
            rollout.after = {path: torch.tensor(x, device=self._device) for path, x in obs.items()}
        self._state = self._recall(slice(0, self.vector.count), self.vector.buffers)
        values.next_value[:-1] = values.value[1:]
        values.next_value[-1] = self.actor.value(obs, self._state)
        values.next_value[values.terminated] = 0.0
        if self._truncations:
            rows_t, rows_n, finals, states = zip(*self._truncations, strict=True)
            stacked = {path: np.stack([final[path] for final in finals]) for path in finals[0]}
            state = tuple(torch.stack(parts) for parts in zip(*states, strict=True))
            values.next_value[list(rows_t), list(rows_n)] = self.actor.value(stacked, state)
        self.seconds["policy"] += perf_counter() - began

    def state(self) -> dict[str, object]:
        """Counters, random stream, memory, partial returns, and a replay log for every env."""
        return {
            "env_steps": self.env_steps,
            "vector_steps": self.vector_steps,
            "device": self._device.type,
            "actions": self.actor.generator.get_state().numpy(),
            "policy_state": [part.cpu().numpy() for part in self._state],
            "parts": self._parts.copy(),
            "mixer": self.mixer.state(),
            "tapes": [resume.log_data(log) for log in self.vector.replay_logs()],
            "obs": {path: leaf.copy() for path, leaf in self.vector.buffers.obs.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        """Restore `state()`; returns the envs that had to begin a new episode instead."""
        self.env_steps, self.vector_steps = state["env_steps"], state["vector_steps"]
        if state["device"] == self._device.type:
            self.actor.generator.set_state(torch.as_tensor(state["actions"]))
        else:  # its stream cannot be continued here: another one, the same every time
            self.actor.generator.manual_seed(seeding.integer(self.env_steps, "on another device"))
        begun = resume.replay(self.vector, self._seeds, state)
        going_on = [row for row in range(self.vector.count) if row not in set(begun)]
        if going_on and state["parts"].shape == self._parts.shape:
            self._parts[going_on] = state["parts"][going_on]
        self._state = self.actor.policy.initial_state(self.vector.count)
        if going_on and self._state:
            parts = (torch.as_tensor(part, device=self._device) for part in state["policy_state"])
            self._state = cleared(tuple(parts), np.isin(np.arange(self.vector.count), begun))
        self.mixer.reset(self.vector.buffers)
        self.mixer.restore(state["mixer"], begun)
        return begun


def _any(flags: Bools) -> bool:
    """`flags.any()` for few of them, several times faster."""
    return b"\x01" in flags.tobytes()
