"""Instances of an environment stepped side by side into shared buffers.

This is where episodes end: a finished env keeps its true last observation in `final_obs`, is
reset in the same step, and shows the new episode's first observation in `obs`. Both back-ends run
this very code, one in-process and one in workers, so they cannot disagree.
"""

import contextlib
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from spotter.envs.backends.buffers import Bools as Bools
from spotter.envs.backends.buffers import Buffers as Buffers
from spotter.envs.backends.buffers import floats
from spotter.envs.backends.logbook import Event, next_seed
from spotter.envs.base import Env
from spotter.envs.meter import GAME_GOES_ON, Meter, Tally
from spotter.envs.replay import Layers, Start
from spotter.envs.spaces import ActionCodec, ObsCodec, describe, encode_mask
from spotter.envs.wrapping import layers
from spotter.types import Episode, Fault, ReplayLog, UserError

Command = Literal["reset", "step", "replay"]
Place = list[int] | memoryview
"""Row, activity, steps replayed: where a watchdog looks when nothing moves any more."""

IDLE: Final = -1
STEP, RESET, BUILD = range(3)
ACTIVITIES: Final = ("step()", "reset()", "its constructor")
_LONG_LOG: Final = 1000  # steps; a snapshot for every episode would make short ones slow


class EnvError(RuntimeError):
    """An env failed for good; the message holds index, seed, last actions and traceback."""

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class NotFinite(ValueError):  # noqa: N818 - what a game returned, not what we did wrong
    """A reward, observation or signal that is not a number."""


class EnvInstance:
    """One environment with what is needed to step it and to report about it."""

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
        self.last_actions: deque[object] = deque(maxlen=8)
        self.logged_steps = 0
        """Steps of finished episodes on the present replay log."""
        self.layers = Layers([*layers(env), *meter.signals])

    def snapshot(self) -> dict[str, object]:
        return {"seed": self.seed, "layers": self.layers.snapshot()}

    def put_back(self, state: Mapping[str, Any]) -> None:
        self.layers.put_back(state["layers"])
        self.seed = state["seed"]

    def close(self) -> None:
        self.env.close()


class Slice:
    """Steps its envs one after another into its rows of the buffers.

    An env that raises, or returns what is not finite, is replaced by a fresh one: its row is
    `lost`, the fault is among the `events`. One failure more than `restarts` is an `EnvError`.
    """

    def __init__(
        self,
        instances: Sequence[EnvInstance],
        buffers: Buffers,
        build: Callable[[], EnvInstance],
        restarts: int = 0,
        first_index: int = 0,
        at: Place | None = None,
    ) -> None:
        self.instances = list(instances)
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

    def serve(self, command: Command, argument: Any) -> Any:
        """A call that came by name, from another thread or process."""
        if command == "step":
            return self.step(argument)
        return self.reset(argument) if command == "reset" else self.replay(argument)

    def reset(self, seeds: Sequence[int]) -> None:
        self._clear_step()
        for row, seed in enumerate(seeds):
            self.instances[row].seed = int(seed)
            self.at[0] = row
            try:
                self._begin(row, self.instances[row], int(seed))
            except UserError:
                raise
            except Exception as error:
                self._mark_failed(row, error)
        self._check_finite([])
        self._clear_step()
        self.at[0] = IDLE

    def step(self, active: Bools | None = None) -> list[Episode]:
        """Apply the actions in the buffer. Inactive envs stay as they are and report nothing."""
        finished: list[Episode] = []
        if self._any_lost:
            self.buffers.lost[:] = self._any_lost = False
        at = self.at
        for row, instance in enumerate(self.instances):
            if active is None or active[row]:
                at[0] = row
                try:
                    episode = self._advance(row, instance)
                except UserError:
                    raise
                except Exception as error:
                    self._mark_failed(row, error)
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

    def begin_again(self) -> None:
        """Every env leaves its episode for a new one of its own stream, on a new replay log."""
        for row, instance in enumerate(self.instances):
            instance.logged_steps = _LONG_LOG
            self._begin(row, instance, None)

    def replay(self, replay_logs: Sequence[ReplayLog]) -> list[bool]:
        """Bring each env to where its log ends; one that cannot follow begins a new episode."""
        self._clear_step()
        arrived = []
        for row, replay_log in enumerate(replay_logs):
            before = len(self.events)
            self.at[0] = row
            try:
                self._follow(row, self.instances[row], replay_log)
            except UserError:
                raise
            except Exception:
                self._replace_env(row)
                arrived.append(False)
            else:
                del self.events[before:]
                arrived.append(True)
        self._check_finite([])
        arrived = [came and not self.buffers.lost[row] for row, came in enumerate(arrived)]
        self._clear_step()
        self.at[0] = IDLE
        return arrived

    def rewind(self, row: int, replay_log: ReplayLog) -> None:
        """Put an env where a replay log begins."""
        try:
            self._go_back(row, self.instances[row], replay_log)
        except UserError:
            raise
        except Exception as error:
            self._mark_failed(row, error)
        self._check_finite([])

    def _go_back(self, row: int, instance: EnvInstance, replay_log: ReplayLog) -> None:
        if replay_log.start:
            instance.put_back(replay_log.start)
        elif replay_log.seed is None:
            raise ValueError("this replay log does not know where it begins")
        else:
            instance.seed = replay_log.seed
        instance.logged_steps = 0
        self._begin(row, instance, replay_log.seed)

    def _follow(self, row: int, instance: EnvInstance, replay_log: ReplayLog) -> None:
        self._go_back(row, instance, replay_log)
        for replayed, action in enumerate(replay_log.actions):
            self.at[2] = replayed
            self.buffers.action[row] = action
            self._advance(row, instance)

    def _clear_step(self) -> None:
        """The envs have just been reset: no step was made."""
        buffers = self.buffers
        buffers.reward[:] = 0.0
        buffers.terminated[:] = buffers.truncated[:] = buffers.lost[:] = False
        self._any_lost = False

    def _advance(self, row: int, instance: EnvInstance) -> Episode | None:
        buffers = self.buffers
        action = instance.decode(buffers.action[row])
        instance.last_actions.append(action)
        obs, reward, terminated, truncated, info = instance.env.step(action)
        reward = float(reward)
        if reward - reward != 0.0:
            raise NotFinite(f"returned a reward of {reward}")
        instance.length += 1
        instance.reward += reward
        buffers.reward[row] = reward
        buffers.terminated[row] = terminated
        buffers.truncated[row] = truncated and not terminated
        if self._has_signals:
            instance.meter.take(buffers.signals[row])
        if info:
            instance.tally.add(info)
        if not (terminated or truncated):
            instance.obs_codec.write(obs, buffers.obs, row)
            if buffers.mask is not None:
                self._write_mask(buffers.mask[row], info)
            return None
        instance.obs_codec.write(obs, buffers.final_obs, row)
        for path, leaf, all_finite in self._final_guards:
            if np.isfinite(leaf[row]).tobytes() != all_finite:
                raise NotFinite(f"returned a last observation that is not finite, in {path}")
        if info and info.get(GAME_GOES_ON):
            self._show_start(row, instance, *instance.env.reset())
            return None
        episode = Episode(
            env=self.first_index + row,
            score=instance.meter.score,
            length=instance.length,
            terminated=bool(terminated),
            reward=instance.reward,
            info=instance.tally.numbers(),
        )
        instance.logged_steps += instance.length
        self._begin(row, instance, None)
        return episode

    def _begin(self, row: int, instance: EnvInstance, seed: int | None) -> None:
        """Start an episode; without a seed the environment's own stream runs on."""
        if seed is not None or instance.logged_steps >= _LONG_LOG:
            self.events.append((self.first_index + row, Start(instance.snapshot(), seed)))
            instance.logged_steps = 0
        self.at[1] = RESET
        obs, info = instance.env.reset(seed=seed)
        self.at[1] = STEP
        instance.length, instance.reward = 0, 0.0
        instance.tally.clear()
        instance.last_actions.clear()
        self._show_start(row, instance, obs, info)

    def _show_start(
        self, row: int, instance: EnvInstance, obs: object, info: Mapping[str, object]
    ) -> None:
        instance.obs_codec.write(obs, self.buffers.obs, row)
        instance.meter.take(self.buffers.signals_start[row])
        if self.buffers.mask is not None:
            self._write_mask(self.buffers.mask[row], info)

    @staticmethod
    def _write_mask(out: Bools, info: Mapping[str, object]) -> None:
        mask = encode_mask(info["action_mask"])
        if not mask.any():
            raise ValueError("info['action_mask'] leaves no valid action")
        out[:] = mask

    def _check_finite(self, finished: list[Episode]) -> list[Episode]:
        """Replace envs that returned nan or infinity; their episodes do not count."""
        while not all(np.isfinite(values).all() for values, _ in self._guards):
            for row in range(len(self.instances)):
                what = self.buffers.not_finite(row)
                if what is not None:
                    self._mark_failed(row, NotFinite(what))
                    lost = self.first_index + row
                    finished = [episode for episode in finished if episode.env != lost]
        return finished

    def _mark_failed(self, row: int, error: Exception) -> None:
        """Count a failure and put a fresh env in the row, with a new episode."""
        buffers = self.buffers
        self._count(row, error)
        self._replace_env(row)
        buffers.reward[row] = 0.0
        buffers.terminated[row] = buffers.truncated[row] = False
        buffers.signals[row] = buffers.signals_start[row]
        buffers.lost[row] = self._any_lost = True

    def _count(self, row: int, error: Exception) -> None:
        self.at[1] = STEP
        fault = fault_of(self.instances[row], self.first_index + row, error)
        self.events.append((fault.env, fault))
        self._failures += 1
        if self._failures > self._restarts:
            raise report(fault) from error

    def _replace_env(self, row: int) -> None:
        """Replace an env, as often as it takes."""
        while True:
            old, seed = self.instances[row], next_seed(self.instances[row].seed)
            old.length = 0
            old.last_actions.clear()
            with contextlib.suppress(Exception):
                old.close()
            self.at[1] = BUILD
            try:
                self.instances[row] = self._build()
                self.instances[row].seed = seed
                self._begin(row, self.instances[row], seed)
            except UserError:
                raise
            except Exception as error:
                self.instances[row].seed = seed
                self._count(row, error)
            else:
                return

    def close(self) -> None:
        for instance in self.instances:
            instance.close()


def fault_of(instance: EnvInstance, index: int, error: Exception) -> Fault:
    """What happened to an env, in one sentence; the replay log is added by the logbook."""
    is_nan = isinstance(error, NotFinite)
    what = str(error) if is_nan else f"raised {type(error).__name__}: {error}"
    return Fault(
        env=index,
        kind="not finite" if is_nan else "raised",
        text=(
            f"environment {index} (seed {instance.seed}, {instance.length} steps into its episode, "
            f"last actions {list(instance.last_actions)}) {what}"
        ),
        traceback="" if is_nan else "".join(traceback.format_exception(error)),
        replay_log=None,
    )


def report(fault: Fault, restarts: int = 0) -> EnvError:
    """The end of a run, with all there is to say."""
    used_up = f"{restarts} failures before it used up env.restarts\n" if restarts else ""
    return EnvError(f"{fault.text}\n{fault.traceback}{used_up}", fault)
