"""The collector: acts in all copies and fills a rollout.

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
import numpy.typing as npt
import torch
from torch import Tensor

from spotter import seeding
from spotter.config import RewardConfig
from spotter.envs.slices import Bools, Buffers, EnvError
from spotter.envs.vector import InTurns, VectorEnv
from spotter.fast.graphs import Actors
from spotter.fast.images import History
from spotter.fast.network import Network
from spotter.nets.actor_critic import Policy
from spotter.rewards import RewardMixer
from spotter.rollout import Rollout
from spotter.schedules import Schedule
from spotter.types import Episode, Progress, Tape, UserError

_LONGEST_EPISODE = 1_000_000
_AT_ONCE = 2048  # rows; more would leave the processor's cache


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
        network: Network | None = None,
        buffers: int = 1,
    ) -> None:
        """`network`: the policy's twin, if NumPy shall act; `buffers`: rollouts kept at once."""
        self.vector, self.policy, self.mixer = vector, policy, mixer
        self._network = network
        self._gamma, self._gamma_now = gamma, 0.0
        self._device = device
        self._generator = torch.Generator(device=device).manual_seed(policy_seed)
        self._actors = Actors(policy, self._generator)
        self._seeds = list(seeds)
        self._parts = np.zeros((vector.count, len(mixer.names)))
        self._rollouts: deque[Rollout | None] = deque([None] * buffers)
        """The present one first."""
        self._is_cancelled = False
        self.position = (0, 0)
        """Vector steps collected and due in the present rollout (due: 0 where nobody knows)."""
        self._whole_episodes = False
        self._truncations: list[tuple[int, int, dict[str, Any]]] = []
        self._noise: list[Any] = []
        """Random numbers for the steps to come, the next one last."""
        self.episodes: list[Episode] = []
        self.env_steps = self.vector_steps = 0
        self.seconds = {"env": 0.0, "policy": 0.0, "transfer": 0.0}
        self.mixer.reset(vector.reset(seeds))

    def collect(self, steps: int, progress: Progress) -> Rollout:
        """Exactly `steps` vector steps; episodes run on from one rollout into the next."""
        rollout = self._storage(steps)
        self._start(progress)
        if self._network is not None:
            self._noise = self._network.draw(steps, self.vector.count, self._generator)[::-1]
        if getattr(self.vector, "halves", 1) > 1:
            self._take_turns(rollout, steps, progress)
        else:
            for t in range(steps):
                self.position = (t, steps)
                self._step(rollout, t, progress, None)
        self._close(rollout)
        return rollout

    def collect_episodes(self, episodes: int, progress: Progress) -> Rollout:
        """Exactly `episodes` complete episodes in each copy; copies that are done stand still.

        Episodes must be at their start, so one collector is used in one way only.
        """
        self._start(progress)
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
        """Go on with other values of the same settings."""
        self._gamma = gamma
        self.mixer.retune(reward)

    def take(self) -> tuple[tuple[Episode, ...], dict[str, float]]:
        """Episodes and seconds since the last call."""
        episodes, seconds = tuple(self.episodes), dict(self.seconds)
        self.episodes = []
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        return episodes, seconds

    def cancel(self) -> None:
        """Leave the rollout under way: nobody will want it."""
        self._is_cancelled = True

    def _storage(self, steps: int) -> Rollout:
        """Room for a new rollout, in the memory of the oldest."""
        self._rollouts.rotate()
        rollout = self._rollouts[0]
        if rollout is None or rollout.steps < steps:
            rollout = self._rollouts[0] = self._new_rollout(steps)
        rollout.whole, rollout.lost = True, []
        return rollout

    def _new_rollout(self, steps: int) -> Rollout:
        return Rollout(
            self.vector.spaces,
            steps,
            self.vector.count,
            self.vector.buffers.mask is not None,
            self._device,
            getattr(self.vector, "depths", {}),
        )

    def _grown(self, rollout: Rollout) -> Rollout:
        """Twice the room, with what is already written."""
        larger = self._rollouts[0] = self._new_rollout(2 * rollout.steps)
        larger.whole, larger.lost = rollout.whole, rollout.lost
        written = larger.first(rollout.steps)
        for name, old in vars(rollout).items():
            if isinstance(old, Tensor):
                getattr(written, name).copy_(old)
        for name, array in rollout.host.items():
            written.host[name][...] = array
        for path, leaf in rollout.obs.items():
            if isinstance(leaf, History):
                larger.obs[path] = leaf.grown(larger.steps)
            else:
                written.obs[path].copy_(leaf)
        return larger

    def _start(self, progress: Progress) -> None:
        self._truncations, self._gamma_now = [], self._gamma.at(progress)
        self._actors.refresh()
        if self._network is not None and self._network.is_stale():
            self._network = Network(self.policy)

    def _step(self, rollout: Rollout, t: int, progress: Progress, active: Bools | None) -> None:
        began = perf_counter()
        buffers = self.vector.buffers
        act = self._act if self._network is None else self._act_numpy
        action, copied = act(rollout, t, buffers)
        acting_done = perf_counter()

        episodes = self.vector.step(action, active)
        stepped = perf_counter()
        self._write_outcome(rollout, t, buffers, progress, active)
        if episodes:
            self._note_episodes(episodes)
        self.vector_steps += 1
        self.env_steps += self.vector.count if active is None else int(active.sum())
        self.seconds["policy"] += acting_done - copied
        self.seconds["env"] += stepped - acting_done
        self.seconds["transfer"] += copied - began + perf_counter() - stepped

    def _take_turns(self, rollout: Rollout, steps: int, progress: Progress) -> None:
        """Steps in which one group of copies plays while the other is answered.

        Outcomes are written down for all copies at once: a group's stay until it is heard again.
        """
        vector = cast(InTurns, self.vector)
        for t in range(steps + 1):
            self.position = (min(t, steps - 1), steps)
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
                self._write_outcome(rollout, t - 1, vector.buffers, progress, None)
                self._note_episodes(episodes)
                self.vector_steps += 1
                self.env_steps += vector.count

    def _act(
        self, rollout: Rollout, t: int, buffers: Buffers, rows: slice | None = None
    ) -> tuple[npt.NDArray[Any], float]:
        """Write down observations and what the policy makes of them.

        Returns the actions, and when the observations had been copied.
        """
        if self._is_cancelled:
            raise EnvError("collecting was cancelled")
        rows = slice(0, self.vector.count) if rows is None else rows
        obs, mask = rollout.show(t, buffers, rows)
        copied = perf_counter()
        acted = self._actors.act(rows, obs, mask)
        rollout.action[t, rows] = acted.action
        rollout.log_prob[t, rows] = acted.log_prob
        rollout.value[t, rows] = acted.value
        return acted.action.cpu().numpy(), copied

    def _act_numpy(
        self, rollout: Rollout, t: int, buffers: Buffers
    ) -> tuple[npt.NDArray[Any], float]:
        """`_act` without torch; what the policy says about it all is written by `_close`."""
        network, arrays = self._network, rollout.arrays()
        assert network is not None
        for path, leaf in buffers.obs.items():
            arrays.obs[path][t] = leaf
        if arrays.mask is not None:
            arrays.mask[t] = buffers.mask
        copied = perf_counter()
        if not self._noise:
            self._noise = network.draw(1, self.vector.count, self._generator)
        action = network.choose(network.inputs(buffers.obs), buffers.mask, self._noise.pop())
        arrays.action[t] = action
        return action, copied

    def _write_outcome(
        self,
        rollout: Rollout,
        t: int,
        buffers: Buffers,
        progress: Progress,
        active: Bools | None,
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
                self._truncations.append((t, int(row), final))
        if lost is not None:
            self._drop(rollout, t, np.flatnonzero(lost))

    def _drop(self, rollout: Rollout, t: int, rows: Iterable[int]) -> None:
        """Keep what a failed copy did not finish out of learning.

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
            raise EnvError("every environment copy failed in every step of a rollout")
        rollout.upload()
        values = rollout
        if self._network is not None:
            values = rollout.arrays()
            self._look_back(values)
        values.next_value[:-1] = values.value[1:]
        values.next_value[-1] = self._value(self.vector.buffers.obs)
        values.next_value[values.terminated] = 0.0
        if self._truncations:
            rows_t, rows_n, finals = zip(*self._truncations, strict=True)
            stacked = {path: np.stack([final[path] for final in finals]) for path in finals[0]}
            values.next_value[list(rows_t), list(rows_n)] = self._value(stacked)
        self.seconds["policy"] += perf_counter() - began

    def _look_back(self, arrays: Rollout) -> None:
        """What policy and critic say about every step, asked for many at once."""
        assert self._network is not None
        everything = arrays.flatten(arrays.value, arrays.value, whole=True)
        log_prob, value = arrays.log_prob.reshape(-1), arrays.value.reshape(-1)
        for start in range(0, len(everything), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            some = everything.select(part)
            x = self._network.inputs(some.obs)
            said = self._network.evaluate(x, some.action, some.mask)
            log_prob[part] = said.log_prob
            value[part] = self._network.restored(said.raw_value)

    def _value(self, obs: Mapping[str, npt.NDArray[Any]]) -> Any:
        if self._network is not None:
            return self._network.value(self._network.inputs(obs))
        tensors = {path: torch.from_numpy(leaf).to(self._device) for path, leaf in obs.items()}
        return self.policy.value(tensors)

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


def _any(flags: Bools) -> bool:
    """`flags.any()` for few of them, several times faster."""
    return b"\x01" in flags.tobytes()


def _tape_data(tape: Tape) -> dict[str, Any]:
    return {"start": tape.start, "seed": tape.seed, "actions": np.array(tape.actions)}
