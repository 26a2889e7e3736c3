"""Copies of an environment stepped side by side into shared buffers.

This is where episodes end: a finished copy keeps its true last observation in `final_obs`, is
reset in the same step, and shows the new episode's first observation in `obs`. Both back-ends run
this very code, one in-process and one in workers, so they cannot disagree.
"""

import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from spotter import plugins
from spotter.config import SignalConfig
from spotter.envs.base import Env
from spotter.envs.signals.base import Kind, Signal
from spotter.envs.spaces import ActionCodec, ObsCodec, describe, encode_mask
from spotter.types import Episode, Obs, Spaces, UserError

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


class EnvError(RuntimeError):
    """An environment copy raised; the message holds index, seed, last actions and traceback."""


class Meter(gym.Wrapper[Any, Any, Any, Any]):
    """Innermost wrapper: the raw score, the true length, and the reward signals.

    It sits below frame skip, shaping and clipping, so `score` is what the game paid.
    """

    def __init__(self, env: Env, signals: Sequence[SignalConfig] = ()) -> None:
        super().__init__(env)
        self.score = 0.0
        self.signals: list[Signal] = [
            plugins.load("signals", config.source).make(config, env) for config in signals
        ]
        self.values = np.zeros(len(self.signals))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(signal.kind for signal in self.signals)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self.score = 0.0
        for i, signal in enumerate(self.signals):
            self.values[i] = signal.start(obs, info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.score += float(reward)
        for i, signal in enumerate(self.signals):
            value = signal.step(obs, action, float(reward), info)
            self.values[i] = self.values[i] + value if signal.kind == "sum" else value
        return obs, float(reward), terminated, truncated, info

    def take(self, out: Doubles) -> None:
        """Hand over the signals of this decision and start summing the next one."""
        out[:] = self.values
        for i, signal in enumerate(self.signals):
            if signal.kind == "sum":
                self.values[i] = 0.0


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
        self.seed: int | None = None
        self.last_actions: deque[Any] = deque(maxlen=8)

    def close(self) -> None:
        self.env.close()


@dataclass(frozen=True)
class Buffers:
    """What one vector step produces. First axis = copy; valid until the next call."""

    obs: Obs
    final_obs: Obs
    """True last observation; only rows that ended in this step mean anything."""
    action: npt.NDArray[Any]
    reward: Doubles
    """The environment's own reward after wrappers, before signals, scale and clip."""
    terminated: Bools
    truncated: Bools
    signals: Doubles
    """[N, signals]: amounts, potentials or cells of this step."""
    signals_start: Doubles
    """[N, signals]: their values at the first observation of the current episode."""
    mask: Bools | None
    """[N, actions]: which actions are valid at `obs`."""

    def rows(self, start: int, stop: int) -> "Buffers":
        """A view of some copies."""
        cut = slice(start, stop)
        return Buffers(
            obs={key: array[cut] for key, array in self.obs.items()},
            final_obs={key: array[cut] for key, array in self.final_obs.items()},
            action=self.action[cut],
            reward=self.reward[cut],
            terminated=self.terminated[cut],
            truncated=self.truncated[cut],
            signals=self.signals[cut],
            signals_start=self.signals_start[cut],
            mask=None if self.mask is None else self.mask[cut],
        )


@dataclass(frozen=True)
class Layout:
    """Shapes and dtypes of `Buffers`, learnt from one copy."""

    spaces: Spaces
    kinds: tuple[Kind, ...]
    has_mask: bool

    @classmethod
    def of(cls, copy: Copy) -> "Layout":
        _, info = copy.env.reset()
        has_mask = copy.use_mask and "action_mask" in info
        if has_mask and encode_mask(info["action_mask"]).size != copy.spaces.action.mask_size:
            raise UserError(
                f"info['action_mask'] has {encode_mask(info['action_mask']).size} entries, "
                f"but {copy.spaces.action.mask_size} actions exist"
            )
        return cls(copy.spaces, copy.meter.kinds, has_mask)

    def fields(self, count: int) -> dict[str, tuple[tuple[int, ...], str]]:
        """name -> (shape, dtype) of every array, in a fixed order."""
        fields: dict[str, tuple[tuple[int, ...], str]] = {}
        for group in ("obs", "final_obs"):
            for path, leaf in self.spaces.observation.items():
                fields[f"{group}:{path}"] = ((count, *leaf.shape), leaf.dtype)
        action = self.spaces.action
        fields["action"] = ((count, *action.shape), action.dtype)
        fields["reward"] = ((count,), "float64")
        fields["terminated"] = fields["truncated"] = ((count,), "bool")
        fields["signals"] = fields["signals_start"] = ((count, len(self.kinds)), "float64")
        fields["active"] = ((count,), "bool")
        if self.has_mask:
            fields["mask"] = ((count, action.mask_size), "bool")
        return fields


def assemble(arrays: Mapping[str, npt.NDArray[Any]]) -> Buffers:
    """Arrays named by `Layout.fields` as `Buffers`."""

    def group(name: str) -> Obs:
        start = f"{name}:"
        return {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}

    return Buffers(
        obs=group("obs"),
        final_obs=group("final_obs"),
        action=arrays["action"],
        reward=arrays["reward"],
        terminated=arrays["terminated"],
        truncated=arrays["truncated"],
        signals=arrays["signals"],
        signals_start=arrays["signals_start"],
        mask=arrays.get("mask"),
    )


class Slice:
    """Steps its copies one after another into its rows of the buffers."""

    def __init__(self, copies: Sequence[Copy], buffers: Buffers, first_index: int = 0) -> None:
        self.copies = copies
        self.buffers = buffers
        self.first_index = first_index

    def reset(self, seeds: Sequence[int]) -> None:
        self.buffers.terminated[:] = False
        self.buffers.truncated[:] = False
        for row, (copy, seed) in enumerate(zip(self.copies, seeds, strict=True)):
            copy.seed = int(seed)
            try:
                self._begin(row, copy, copy.seed)
            except UserError:
                raise
            except Exception as error:
                raise self._report(row, error) from error

    def step(self, active: Bools | None = None) -> list[Episode]:
        """Apply the actions in the buffer. Inactive copies stay as they are and report nothing."""
        finished: list[Episode] = []
        for row, copy in enumerate(self.copies):
            if active is None or active[row]:
                try:
                    episode = self._advance(row, copy)
                except UserError:
                    raise
                except Exception as error:
                    raise self._report(row, error) from error
                if episode is not None:
                    finished.append(episode)
            else:
                self.buffers.reward[row] = 0.0
                self.buffers.terminated[row] = self.buffers.truncated[row] = False
        return finished

    def _advance(self, row: int, copy: Copy) -> Episode | None:
        buffers = self.buffers
        action = copy.decode(buffers.action[row])
        copy.last_actions.append(action)
        obs, reward, terminated, truncated, info = copy.env.step(action)
        copy.length += 1
        copy.reward += float(reward)
        buffers.reward[row] = reward
        buffers.terminated[row] = terminated
        buffers.truncated[row] = truncated and not terminated
        copy.meter.take(buffers.signals[row])
        if not (terminated or truncated):
            copy.obs_codec.write(obs, buffers.obs, row)
            self._write_mask(row, copy, info)
            return None
        copy.obs_codec.write(obs, buffers.final_obs, row)
        episode = Episode(
            env=self.first_index + row,
            score=copy.meter.score,
            length=copy.length,
            terminated=bool(terminated),
            reward=copy.reward,
        )
        self._begin(row, copy, None)
        return episode

    def _begin(self, row: int, copy: Copy, seed: int | None) -> None:
        """Start an episode; without a seed the environment's own stream runs on."""
        obs, info = copy.env.reset(seed=seed)
        copy.length, copy.reward = 0, 0.0
        copy.obs_codec.write(obs, self.buffers.obs, row)
        copy.meter.take(self.buffers.signals_start[row])
        self._write_mask(row, copy, info)

    def _write_mask(self, row: int, copy: Copy, info: dict[str, Any]) -> None:
        if self.buffers.mask is None:
            return
        mask = encode_mask(info["action_mask"])
        if not mask.any():
            raise ValueError("info['action_mask'] leaves no valid action")
        self.buffers.mask[row] = mask

    def _report(self, row: int, error: Exception) -> EnvError:
        copy = self.copies[row]
        return EnvError(
            f"environment copy {self.first_index + row} (seed {copy.seed}, step {copy.length} of "
            f"its episode, last actions {list(copy.last_actions)}) raised "
            f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
        )

    def close(self) -> None:
        for copy in self.copies:
            copy.close()
