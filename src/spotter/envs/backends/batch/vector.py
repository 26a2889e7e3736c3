"""The back-end that steps all instances of a simple environment in one computation.

The contract, the replay logs and every number are `LocalVector`'s. Worlds hold states and write
observations, rewards and terminations; time limits, episodes and replay logs are kept here.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from gymnasium.utils.seeding import np_random
from gymnasium.wrappers import TimeLimit

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.batch.catalogue import make_world
from spotter.envs.backends.batch.catalogue import reason_against as reason_against
from spotter.envs.backends.batch.world import Doubles, Numbers
from spotter.envs.backends.buffers import Bools, Buffers
from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.logbook import Event, Logbook, next_seed
from spotter.envs.backends.slices import EnvError, EnvInstance
from spotter.envs.backends.vector import Note
from spotter.envs.replay import Start
from spotter.envs.wrapping import layers
from spotter.types import Episode, Fault, ReplayLog, UserError

_LONG_LOG: Final = 1000  # steps, as in slices.py: replay logs of either back-end grow alike
_STREAM: Final = "_np_random"
_TRUE: Final = b"\x01"


class BatchVector:
    """N instances of an environment of the catalogue; evaluation envs without a `reward`."""

    def __init__(self, env: EnvConfig, reward: RewardConfig | None, count: int) -> None:
        against = reason_against(env, reward)
        if against:
            raise UserError(f"env.backend: batch cannot run {env.id}: {against}; use sync")
        instance = _model(env, training=reward is not None)
        layout = Layout.of(instance)
        self.count = count
        self.spaces = layout.spaces
        self.signal_kinds = layout.kinds
        fields = layout.fields(count)
        self.buffers = assemble({k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()})
        self.note: Note | None = None
        self.halves = 1
        self.depths: Mapping[str, int] = {}
        self._instance = instance
        self._stack = [type(layer).__name__ for layer in layers(instance.env)]
        self._limit = _limit(instance)
        self._world = make_world(env, instance.env.unwrapped, self.buffers)
        self._logbook = Logbook(self.buffers.action)
        self._events: list[Event] = []
        self._seeds: list[int | None] = [None] * count
        self._logged = [0] * count  # steps of finished episodes on the present replay log
        self._steps = 0
        self._began = np.zeros(count, np.int64)
        """The value of `_steps` at which each episode began, moved on where an env rested."""
        self._deadline = self._limit
        """No episode reaches its time limit before `_steps` is here."""
        self._score: Doubles = np.zeros(count)
        self._sums: Doubles = np.zeros_like(self._world.info)
        self._any_truncated = False
        self._valid = _Valid(self.buffers.action, self.spaces.action.nvec)
        mask = () if self.buffers.mask is None else (self.buffers.mask,)
        self._kept: list[Numbers] = [self._world.state.T, *self.buffers.obs.values(), *mask]

    def reset(self, seeds: Sequence[int]) -> Buffers:
        self._clear_step()
        for row, seed in enumerate(seeds):
            self._begin(row, int(seed))
        self._clear(slice(None))
        self._settle()
        return self.buffers

    def step(self, action: Numbers, active: Bools | None = None) -> list[Episode]:
        buffers = self.buffers
        buffers.action[...] = action
        self._logbook.note(buffers.action, active)
        self._valid.check(active)
        episodes = self._advance(active)
        if self._events:
            self._settle()
        return episodes

    def replay_logs(self) -> list[ReplayLog]:
        return self._logbook.replay_logs()

    def replay(self, replay_logs: Sequence[ReplayLog]) -> Bools:
        self._clear_step()
        scripts = [self._rewind(row, replay_log) for row, replay_log in enumerate(replay_logs)]
        self._clear(slice(None))
        lengths = np.array([0 if script is None else len(script) for script in scripts])
        for step in range(lengths.max(initial=0)):
            active = lengths > step
            for row, script in enumerate(scripts):
                if script is not None and active[row]:
                    self.buffers.action[row] = script[step]
            self._advance(active)
        self._clear_step()
        arrived = np.array([script is not None for script in scripts])
        self._events = [event for event in self._events if not arrived[event[0]]]
        self._settle()
        for row in np.flatnonzero(arrived).tolist():
            self._logbook.load(row, replay_logs[row])
        return arrived

    def begin_again(self) -> None:
        """Every env leaves its episode for a new one of its own stream, on a new replay log."""
        for row in range(self.count):
            self._logged[row] = _LONG_LOG
            self._begin(row, None)
        self._clear(slice(None))
        self._settle()

    def take_faults(self) -> list[Fault]:
        """None, ever: there is nothing in here that could fail by itself."""
        return self._logbook.take_faults()

    def _advance(self, active: Bools | None) -> list[Episode]:
        buffers, world = self.buffers, self._world
        self._steps += 1
        if self._any_truncated:
            buffers.truncated[:] = self._any_truncated = False
        if active is None:
            world.advance(None)
        else:
            self._advance_some(active)
        self._score += buffers.reward
        if self._sums.size:
            self._sums += world.info
        if self._steps >= self._deadline:
            self._cut()
        if self._any_truncated or _TRUE in buffers.terminated.tobytes():
            return self._finish()
        return []

    def _advance_some(self, active: Bools) -> None:
        """All envs move, then those that should have rested are put back."""
        buffers = self.buffers
        resting = np.flatnonzero(~active)
        kept = [array[resting] for array in self._kept]
        buffers.action[resting] = 0  # what they were given need not be valid
        self._world.advance(active)
        for array, values in zip(self._kept, kept, strict=True):
            array[resting] = values
        buffers.reward[resting] = 0.0
        buffers.terminated[resting] = False
        self._world.info[:, resting] = 0.0
        self._began[resting] += 1

    def _cut(self) -> None:
        """Truncate what has reached the time limit, and find out who will be next."""
        left = self._limit - (self._steps - self._began)
        over = left <= 0
        np.logical_and(over, ~self.buffers.terminated, self.buffers.truncated)
        self._any_truncated = bool(self.buffers.truncated.any())
        self._deadline = self._steps + int(np.where(over, self._limit, left).min())

    def _finish(self) -> list[Episode]:
        """Report the episodes that ended and reset their envs."""
        buffers = self.buffers
        rows = np.flatnonzero(buffers.terminated | buffers.truncated)
        for path, leaf in buffers.final_obs.items():
            leaf[rows] = buffers.obs[path][rows]
        finished = self._episodes(rows)
        for episode in finished:
            self._logged[episode.env] += episode.length
            self._begin(episode.env, None)
        self._clear(rows)
        return finished

    def _episodes(self, rows: npt.NDArray[np.intp]) -> list[Episode]:
        lengths: list[int] = (self._steps - self._began[rows]).tolist()
        scores: list[float] = self._score[rows].tolist()
        terminated: list[bool] = self.buffers.terminated[rows].tolist()
        infos: list[dict[str, float]] = [{} for _ in lengths]
        for place, key in enumerate(self._world.info_keys):
            totals, last = (array[place, rows].tolist() for array in (self._sums, self._world.info))
            for i, info in enumerate(infos):
                info[f"{key}/mean"] = totals[i] / lengths[i]
                info[f"{key}/last"] = last[i]
        return [
            Episode(row, scores[i], lengths[i], terminated[i], reward=scores[i], info=infos[i])
            for i, row in enumerate(rows.tolist())
        ]

    def _begin(self, row: int, seed: int | None) -> None:
        """Start an episode; without a seed the env's own stream continues."""
        if seed is not None:
            self._seeds[row] = seed
            self._world.seed(row, np_random(seed)[0])  # first: the stream before it is unknown
        if seed is not None or self._logged[row] >= _LONG_LOG:
            self._events.append((row, Start(self._snapshot(row), seed)))
            self._logged[row] = 0
        self._world.start(row)

    def _clear(self, rows: Any) -> None:
        """Episodes that have just begun amount to nothing yet."""
        self._began[rows] = self._steps
        self._score[rows] = 0.0
        self._sums[:, rows] = 0.0

    def _clear_step(self) -> None:
        """The envs have just been reset: no step was made."""
        buffers = self.buffers
        buffers.reward[:] = 0.0
        buffers.terminated[:] = buffers.truncated[:] = False
        self._any_truncated = False

    def _settle(self) -> None:
        events, self._events = self._events, []
        self._logbook.settle(events)

    def _snapshot(self, row: int) -> dict[str, object]:
        """As `Copy.snapshot`, so that envs of every back-end can resume from here."""
        state: list[dict[str, object]] = [
            {"class": name, "values": {}, "streams": {}} for name in self._stack
        ]
        stream = self._world.stream(row).bit_generator.state
        state[-1]["streams"] = {_STREAM: {"kind": "Generator", "state": stream}}
        return {"seed": self._seeds[row], "layers": state}

    def _rewind(self, row: int, replay_log: ReplayLog) -> Numbers | None:
        """Put an env where a log begins; its actions, or None if it had to begin a new episode."""
        self._logged[row] = 0
        try:
            actions = np.array(replay_log.actions, self.buffers.action.dtype)
            actions = actions.reshape(-1, *self.buffers.action.shape[1:])
            if len(actions) != len(replay_log.actions) or not self._valid.all_of(actions):
                raise ValueError("these actions belong to another environment")
            self._put_back(row, replay_log)
        except Exception:  # whatever is wrong with it: it came from a file
            self._begin(row, next_seed(self._seeds[row]))
            return None
        self._begin(row, replay_log.seed)
        return actions

    def _put_back(self, row: int, replay_log: ReplayLog) -> None:
        seed = replay_log.seed
        if replay_log.start:
            state: Sequence[Mapping[str, Any]] = replay_log.start["layers"]
            if [layer["class"] for layer in state] != self._stack:
                raise ValueError("this replay log belongs to another stack of wrappers")
            seed = replay_log.start["seed"]
            if replay_log.seed is None:
                stream = np_random(0)[0]
                stream.bit_generator.state = state[-1]["streams"][_STREAM]["state"]
                self._world.seed(row, stream)
        elif seed is None:
            raise ValueError("this replay log does not know where it begins")
        self._seeds[row] = seed

    def close(self) -> None:
        self._instance.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Valid:
    """Whether actions lie in their space; asked for every step, so it looks at bytes."""

    def __init__(self, action: Numbers, nvec: tuple[int, ...]) -> None:
        self._action = action
        self._actions = nvec[0] if nvec else None
        # seen as unsigned, negative numbers are large ones
        self._unsigned = action.view(np.uint64) if nvec else action
        self._bound = np.full(action.shape, self._actions, np.uint64) if nvec else action
        self._good = _TRUE * action.size

    def check(self, active: Bools | None) -> None:
        is_box = self._actions is None
        good = np.isfinite(self._action) if is_box else self._unsigned < self._bound
        if good.tobytes() != self._good:
            bad = ~good.reshape(len(good), -1).all(axis=1)
            rows = np.flatnonzero(bad if active is None else bad & active)
            if rows.size:
                given = self._action[rows[0]].tolist()
                raise EnvError(f"environment {rows[0]} was given {given}, which is not an action")

    def all_of(self, actions: Numbers) -> bool:
        if self._actions is None:
            return bool(np.isfinite(actions).all())
        return bool(((actions >= 0) & (actions < self._actions)).all())


def _model(env: EnvConfig, training: bool) -> EnvInstance:
    """One real env, to learn spaces, constants and limits from."""
    from spotter.envs.make import EnvBuilder  # here: it chooses among back-ends, this one included

    return EnvBuilder(env, training=training).build()


def _limit(instance: EnvInstance) -> int:
    """Steps after which an episode is cut off."""
    limits = [
        layer._max_episode_steps for layer in layers(instance.env) if isinstance(layer, TimeLimit)
    ]
    return min(limits, default=sys.maxsize)
