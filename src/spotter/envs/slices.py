"""Copies of an environment stepped side by side into shared buffers.

This is where episodes end: a finished copy keeps its true last observation in `final_obs`, is
reset in the same step, and shows the new episode's first observation in `obs`. Both back-ends run
this very code, one in-process and one in workers, so they cannot disagree.
"""

import contextlib
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from spotter.envs.base import Env
from spotter.envs.buffers import Bools as Bools
from spotter.envs.buffers import Buffers as Buffers
from spotter.envs.buffers import floats
from spotter.envs.logbook import Event, next_seed
from spotter.envs.meter import GAME_GOES_ON, Meter, Tally
from spotter.envs.spaces import ActionCodec, ObsCodec, describe, encode_mask
from spotter.envs.tape import Layers, Start
from spotter.envs.wrappers.base import layers
from spotter.types import Episode, Fault, Tape, UserError

Place = list[int] | memoryview
"""Row, activity, steps replayed: where a watchdog looks when nothing moves any more."""

IDLE: Final = -1
STEP, RESET, BUILD = range(3)
ACTIVITIES: Final = ("step()", "reset()", "its constructor")
_LONG_TAPE: Final = 1000  # steps; a snapshot for every episode would make short ones slow


class EnvError(RuntimeError):
    """A copy failed for good; the message holds index, seed, last actions and traceback."""

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class NotFinite(ValueError):  # noqa: N818 - what a game returned, not what we did wrong
    """A reward, observation or signal that is not a number."""


class Copy:
    """One environment copy with what is needed to talk to it and to report about it."""

    def __init__(self, env: Env, meter: Meter, use_mask: bool = True) -> None:
        self.env = env
        self.meter = meter
        self.spaces = describe(env.observation_space, env.action_space)
        self.obs_codec = ObsCodec(env.observation_space)
        self.decode = ActionCodec(env.action_space).decode
        self.use_mask = use_mask and self.spaces.action.mask_size > 0
        self.length = 0
        self.reward = 0.0
        self.tally = Tally()
        self.seed: int | None = None
        self.last_actions: deque[Any] = deque(maxlen=8)
        self.taped = 0
        """Steps of finished episodes on the present tape."""
        self.layers = Layers([*layers(env), *meter.signals])

    def snapshot(self) -> dict[str, Any]:
        return {"seed": self.seed, "layers": self.layers.snapshot()}

    def put_back(self, state: Mapping[str, Any]) -> None:
        self.layers.put_back(state["layers"])
        self.seed = state["seed"]

    def close(self) -> None:
        self.env.close()


class Slice:
    """Steps its copies one after another into its rows of the buffers.

    A copy that raises, or returns what is not finite, is replaced by a fresh one: its row is
    `lost`, the fault is among the `events`. One failure more than `restarts` is an `EnvError`.
    """

    def __init__(
        self,
        copies: Sequence[Copy],
        buffers: Buffers,
        build: Callable[[], Copy],
        restarts: int = 0,
        first_index: int = 0,
        at: Place | None = None,
    ) -> None:
        self.copies = list(copies)
        self.buffers = buffers
        self.first_index = first_index
        self.at: Place = [IDLE, STEP, 0] if at is None else at
        self.events: list[Event] = []
        self._build = build
        self._restarts = restarts
        self._failures = 0
        self._any_lost = False
        self._has_signals = buffers.signals.size > 0
        # bytes are compared several times faster than arrays are asked for `all`
        self._guards = [
            (array.reshape(-1), b"\x01" * array.size)
            for array in (buffers.signals, *floats(buffers.obs).values())
            if array.size
        ]
        self._final_guards = [
            (path, leaf.reshape(len(leaf), -1), b"\x01" * leaf[0].size)
            for path, leaf in floats(buffers.final_obs).items()
        ]

    def reset(self, seeds: Sequence[int]) -> None:
        self._nothing_happened()
        for row, seed in enumerate(seeds):
            self.copies[row].seed = int(seed)
            self.at[0] = row
            try:
                self._begin(row, self.copies[row], int(seed))
            except UserError:
                raise
            except Exception as error:
                self._lose(row, error)
        self._check_finite([])
        self._nothing_happened()
        self.at[0] = IDLE

    def step(self, active: Bools | None = None) -> list[Episode]:
        """Apply the actions in the buffer. Inactive copies stay as they are and report nothing."""
        finished: list[Episode] = []
        if self._any_lost:
            self.buffers.lost[:] = self._any_lost = False
        at = self.at
        for row, copy in enumerate(self.copies):
            if active is None or active[row]:
                at[0] = row
                try:
                    episode = self._advance(row, copy)
                except UserError:
                    raise
                except Exception as error:
                    self._lose(row, error)
                    continue
                if episode is not None:
                    finished.append(episode)
            else:
                self.buffers.reward[row] = 0.0
                self.buffers.terminated[row] = self.buffers.truncated[row] = False
        at[0] = IDLE
        for values, all_finite in self._guards:
            if np.isfinite(values).tobytes() != all_finite:
                return self._check_finite(finished)
        return finished

    def begin_anew(self) -> None:
        """Every copy leaves its episode for a new one of its own stream, on a new tape."""
        for row, copy in enumerate(self.copies):
            copy.taped = _LONG_TAPE
            self._begin(row, copy, None)

    def play(self, tapes: Sequence[Tape]) -> list[bool]:
        """Bring each copy to where its tape ends; one that cannot follow begins a new episode."""
        self._nothing_happened()
        arrived = []
        for row, tape in enumerate(tapes):
            before = len(self.events)
            self.at[0] = row
            try:
                self._follow(row, self.copies[row], tape)
            except UserError:
                raise
            except Exception:
                self._put_in(row)
                arrived.append(False)
            else:
                del self.events[before:]
                arrived.append(True)
        self._check_finite([])
        arrived = [came and not self.buffers.lost[row] for row, came in enumerate(arrived)]
        self._nothing_happened()
        self.at[0] = IDLE
        return arrived

    def rewind(self, row: int, tape: Tape) -> None:
        """Put a copy where a tape begins."""
        try:
            self._go_back(row, self.copies[row], tape)
        except UserError:
            raise
        except Exception as error:
            self._lose(row, error)
        self._check_finite([])

    def _go_back(self, row: int, copy: Copy, tape: Tape) -> None:
        if tape.start:
            copy.put_back(tape.start)
        elif tape.seed is None:
            raise ValueError("this tape does not know where it begins")
        else:
            copy.seed = tape.seed
        copy.taped = 0
        self._begin(row, copy, tape.seed)

    def _follow(self, row: int, copy: Copy, tape: Tape) -> None:
        self._go_back(row, copy, tape)
        for replayed, action in enumerate(tape.actions):
            self.at[2] = replayed
            self.buffers.action[row] = action
            self._advance(row, copy)

    def _nothing_happened(self) -> None:
        """No step lies behind the copies: they stand at the beginning of something."""
        buffers = self.buffers
        buffers.reward[:] = 0.0
        buffers.terminated[:] = buffers.truncated[:] = buffers.lost[:] = False
        self._any_lost = False

    def _advance(self, row: int, copy: Copy) -> Episode | None:
        buffers = self.buffers
        action = copy.decode(buffers.action[row])
        copy.last_actions.append(action)
        obs, reward, terminated, truncated, info = copy.env.step(action)
        reward = float(reward)
        if reward - reward != 0.0:
            raise NotFinite(f"returned a reward of {reward}")
        copy.length += 1
        copy.reward += reward
        buffers.reward[row] = reward
        buffers.terminated[row] = terminated
        buffers.truncated[row] = truncated and not terminated
        if self._has_signals:
            copy.meter.take(buffers.signals[row])
        if info:
            copy.tally.add(info)
        if not (terminated or truncated):
            copy.obs_codec.write(obs, buffers.obs, row)
            if buffers.mask is not None:
                self._write_mask(buffers.mask[row], info)
            return None
        copy.obs_codec.write(obs, buffers.final_obs, row)
        for path, leaf, all_finite in self._final_guards:
            if np.isfinite(leaf[row]).tobytes() != all_finite:
                raise NotFinite(f"returned a last observation that is not finite, in {path}")
        if info and info.get(GAME_GOES_ON):
            self._show_start(row, copy, *copy.env.reset())
            return None
        episode = Episode(
            env=self.first_index + row,
            score=copy.meter.score,
            length=copy.length,
            terminated=bool(terminated),
            reward=copy.reward,
            info=copy.tally.numbers(),
        )
        copy.taped += copy.length
        self._begin(row, copy, None)
        return episode

    def _begin(self, row: int, copy: Copy, seed: int | None) -> None:
        """Start an episode; without a seed the environment's own stream runs on."""
        if seed is not None or copy.taped >= _LONG_TAPE:
            self.events.append((self.first_index + row, Start(copy.snapshot(), seed)))
            copy.taped = 0
        self.at[1] = RESET
        obs, info = copy.env.reset(seed=seed)
        self.at[1] = STEP
        copy.length, copy.reward = 0, 0.0
        copy.tally.clear()
        copy.last_actions.clear()
        self._show_start(row, copy, obs, info)

    def _show_start(self, row: int, copy: Copy, obs: Any, info: dict[str, Any]) -> None:
        copy.obs_codec.write(obs, self.buffers.obs, row)
        copy.meter.take(self.buffers.signals_start[row])
        if self.buffers.mask is not None:
            self._write_mask(self.buffers.mask[row], info)

    @staticmethod
    def _write_mask(out: Bools, info: dict[str, Any]) -> None:
        mask = encode_mask(info["action_mask"])
        if not mask.any():
            raise ValueError("info['action_mask'] leaves no valid action")
        out[:] = mask

    def _check_finite(self, finished: list[Episode]) -> list[Episode]:
        """Replace copies that returned nan or infinity; their episodes do not count."""
        while not all(np.isfinite(values).all() for values, _ in self._guards):
            for row in range(len(self.copies)):
                what = self.buffers.not_finite(row)
                if what is not None:
                    self._lose(row, NotFinite(what))
                    lost = self.first_index + row
                    finished = [episode for episode in finished if episode.env != lost]
        return finished

    def _lose(self, row: int, error: Exception) -> None:
        """Count a failure and put a fresh copy in the row, with a new episode."""
        buffers = self.buffers
        self._count(row, error)
        self._put_in(row)
        buffers.reward[row] = 0.0
        buffers.terminated[row] = buffers.truncated[row] = False
        buffers.signals[row] = buffers.signals_start[row]
        buffers.lost[row] = self._any_lost = True

    def _count(self, row: int, error: Exception) -> None:
        self.at[1] = STEP
        fault = fault_of(self.copies[row], self.first_index + row, error)
        self.events.append((fault.copy, fault))
        self._failures += 1
        if self._failures > self._restarts:
            raise report(fault) from error

    def _put_in(self, row: int) -> None:
        """Replace a copy, as often as it takes."""
        while True:
            old, seed = self.copies[row], next_seed(self.copies[row].seed)
            old.length = 0
            old.last_actions.clear()
            with contextlib.suppress(Exception):
                old.close()
            self.at[1] = BUILD
            try:
                self.copies[row] = self._build()
                self.copies[row].seed = seed
                self._begin(row, self.copies[row], seed)
            except UserError:
                raise
            except Exception as error:
                self.copies[row].seed = seed
                self._count(row, error)
            else:
                return

    def close(self) -> None:
        for copy in self.copies:
            copy.close()


def fault_of(copy: Copy, index: int, error: Exception) -> Fault:
    """What happened to a copy, in one sentence; the tape is added by whoever has it."""
    is_nan = isinstance(error, NotFinite)
    what = str(error) if is_nan else f"raised {type(error).__name__}: {error}"
    return Fault(
        copy=index,
        kind="not finite" if is_nan else "raised",
        text=(
            f"environment copy {index} (seed {copy.seed}, {copy.length} steps into its episode, "
            f"last actions {list(copy.last_actions)}) {what}"
        ),
        traceback="" if is_nan else "".join(traceback.format_exception(error)),
        tape=None,
    )


def report(fault: Fault, restarts: int = 0) -> EnvError:
    """The end of a run, with all there is to say."""
    used_up = f"{restarts} failures before it used up env.restarts\n" if restarts else ""
    return EnvError(f"{fault.text}\n{fault.traceback}{used_up}", fault)
