"""Rollouts: the [T, N] block one update learns from, and the samples it is cut into.

Names: `x[t]` belongs to the decision at vector step t.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from spotter.envs.backends.buffers import Buffers
from spotter.policy.actor import PolicyState
from spotter.policy.memory import Recalled
from spotter.rollouts.images import History, Stacks
from spotter.rollouts.timeline import Timeline
from spotter.types import Spaces

Numbers = Any
"""A tensor; or an array, where NumPy computes the policy."""
_DIAGNOSTIC_SAMPLES = 1024
_DIAGNOSTIC_NUMBERS = 4_000_000  # images have many
_NUMBERS = ("action", "log_prob", "value", "reward", "next_value")
_FLAGS = ("episode_end", "terminated", "valid")
_OUTCOMES = ("reward", *_FLAGS)


@dataclass(frozen=True, slots=True)
class Batch:
    """Flattened samples, [B, …]."""

    obs: Mapping[str, Numbers]
    """Or `Stacks`, which are tensors once indexed."""
    action: Numbers
    log_prob: Numbers
    value: Numbers
    advantage: Numbers
    target: Numbers
    mask: Numbers | None
    timeline: Timeline | None = None
    """Which samples follow each other, where the policy has a memory."""

    def __len__(self) -> int:
        return len(self.action)

    def select(self, indices: Any) -> "Batch":
        """Some of the samples; all of them are not put into another order."""
        if not isinstance(indices, slice) and len(indices) == len(self):
            return replace(self, obs={path: _all(leaf) for path, leaf in self.obs.items()})
        return Batch(
            obs={path: leaf[indices] for path, leaf in self.obs.items()},
            action=self.action[indices],
            log_prob=self.log_prob[indices],
            value=self.value[indices],
            advantage=self.advantage[indices],
            target=self.target[indices],
            mask=None if self.mask is None else self.mask[indices],
            timeline=None if self.timeline is None else self.timeline.select(indices),
        )

    def minibatches(self, size: int, generator: torch.Generator) -> Iterator[Tensor]:
        """All samples in random order, `size` at a time; whole sequences with a memory."""
        if self.timeline is not None:
            return self.timeline.minibatches(size, generator)
        return iter(torch.split(torch.randperm(len(self), generator=generator), size))

    def parts(self, size: int) -> int:
        """How many minibatches there are in one pass."""
        return math.ceil(len(self) / size) if not self.timeline else self.timeline.parts(size)

    def recalled(self) -> Recalled:
        """How a policy with memory is told what happened before each sample."""
        return () if self.timeline is None else self.timeline.sequences()

    def sample_obs(self) -> Mapping[str, Numbers]:
        """Enough observations for a diagnosis, spread evenly."""
        numbers = sum(math.prod(leaf[:1].shape) for leaf in self.obs.values())
        most = min(_DIAGNOSTIC_SAMPLES, max(1, _DIAGNOSTIC_NUMBERS // numbers))
        stride = math.ceil(len(self) / most)
        if stride == 1:
            return {path: _all(leaf) for path, leaf in self.obs.items()}
        return {path: leaf[::stride] for path, leaf in self.obs.items()}


def _all(leaf: Numbers) -> Numbers:
    """A tensor or an array itself; stacks put together."""
    return leaf[:] if isinstance(leaf, Stacks) else leaf


class Rollout:
    """Preallocated [T, N] tensors; reused from update to update."""

    def __init__(
        self,
        spaces: Spaces,
        steps: int,
        count: int,
        has_mask: bool,
        device: torch.device,
        depths: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`depths`: which leaves are stacks of the latest images, and of how many."""

        def block(*shape: int, dtype: torch.dtype = torch.float32) -> Numbers:
            return torch.zeros((steps, count, *shape), dtype=dtype, device=device)

        action = spaces.action
        self.steps, self.count = steps, count
        self._arrays: Rollout | None = None
        self.whole = True
        """Whether every sample is valid, so that no check is needed."""
        self.lost: list[tuple[int, int, int]] = []
        """Samples lost to failing envs: from step, to step, env."""
        self.state: PolicyState = ()
        """What the policy remembered of each env before the first step."""
        self.obs: dict[str, Any] = {
            path: History(leaf, depths[path], steps, count, device)
            if path in depths
            else block(*leaf.shape, dtype=getattr(torch, leaf.dtype))
            for path, leaf in spaces.observation.items()
        }
        self.action = block(*action.shape, dtype=getattr(torch, action.dtype))
        self.log_prob, self.value = block(), block()
        self.reward, self.next_value = block(), block()
        self.episode_end = block(dtype=torch.bool)
        self.terminated = block(dtype=torch.bool)
        self.valid = block(dtype=torch.bool)
        """False where an env had already played its share (whole-episode collecting only)."""
        self.mask = block(action.mask_size, dtype=torch.bool) if has_mask else None
        self.on_cpu = device.type == "cpu"
        self.host = {name: self._host_array(name) for name in _OUTCOMES}
        """What the environments say, as arrays; see `upload`."""

    def _host_array(self, name: str) -> npt.NDArray[Any]:
        block: Tensor = getattr(self, name)
        return block.numpy() if self.on_cpu else block.cpu().numpy()

    def show(
        self, t: int, buffers: Buffers, rows: slice
    ) -> tuple[dict[str, Numbers], Numbers | None]:
        """Record observations of some envs; returns them and the mask, readable by a policy."""
        obs: dict[str, Numbers] = {}
        for path, leaf in buffers.obs.items():
            store = self.obs[path]
            if isinstance(store, History):
                if t == rows.start == 0:
                    store.restart()
                begun = buffers.terminated | buffers.truncated | buffers.lost | (t == 0)
                store.write(t, leaf[rows], begun[rows], rows.start)
                obs[path] = store.now(rows)
            else:
                store[t, rows] = torch.from_numpy(leaf[rows])
                obs[path] = store[t, rows]
        if self.mask is None or buffers.mask is None:
            return obs, None
        self.mask[t, rows] = torch.from_numpy(buffers.mask[rows])
        return obs, self.mask[t, rows]

    def upload(self) -> None:
        """Bring what was written to `host` to the device; on the CPU it is the same memory."""
        if not self.on_cpu:
            for name, array in self.host.items():
                getattr(self, name).copy_(torch.from_numpy(array))

    def first(self, steps: int) -> "Rollout":
        """A view of the first rows."""
        view = object.__new__(Rollout)
        view.steps, view.count = steps, self.count
        view.whole, view.lost, view.state = self.whole, self.lost, self.state
        view.obs = {
            path: leaf.first(steps) if isinstance(leaf, History) else leaf[:steps]
            for path, leaf in self.obs.items()
        }
        view._arrays, view.on_cpu = None, self.on_cpu
        view.host = {name: array[:steps] for name, array in self.host.items()}
        for name in (*_NUMBERS, *_FLAGS):
            setattr(view, name, getattr(self, name)[:steps])
        view.mask = None if self.mask is None else self.mask[:steps]
        return view

    def as_data(self) -> dict[str, Any]:
        """Everything in it as arrays; where `has_arrays`."""
        arrays = self.arrays()
        data: dict[str, Any] = {name: getattr(arrays, name) for name in (*_NUMBERS, *_FLAGS)}
        return data | {
            "obs": dict(arrays.obs),
            "mask": arrays.mask,
            "whole": self.whole,
            "lost": [list(span) for span in self.lost],
            "state": [part.numpy() for part in self.state],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Rollout":
        rollout = object.__new__(cls)
        for name in (*_NUMBERS, *_FLAGS):
            setattr(rollout, name, torch.as_tensor(data[name]))
        rollout.steps, rollout.count = rollout.reward.shape
        rollout.obs = {path: torch.as_tensor(leaf) for path, leaf in data["obs"].items()}
        rollout.mask = None if data["mask"] is None else torch.as_tensor(data["mask"])
        rollout.whole = data["whole"]
        rollout.lost = [(first, last, row) for first, last, row in data["lost"]]
        rollout.state = tuple(torch.as_tensor(part) for part in data.get("state", ()))
        rollout.on_cpu, rollout._arrays = True, None
        rollout.host = {name: getattr(rollout, name).numpy() for name in _OUTCOMES}
        return rollout

    @property
    def has_arrays(self) -> bool:
        return self.on_cpu and not any(isinstance(leaf, History) for leaf in self.obs.values())

    def arrays(self) -> "Rollout":
        """The same memory as NumPy arrays; on the CPU only."""
        if self._arrays is None:
            view = self.first(self.steps)
            view.obs = {
                path: leaf if isinstance(leaf, History) else leaf.numpy()
                for path, leaf in self.obs.items()
            }
            for name in (*_NUMBERS, *_FLAGS):
                setattr(view, name, getattr(self, name).numpy())
            view.mask = None if self.mask is None else self.mask.numpy()
            self._arrays = view
        view = self._arrays
        view.whole, view.lost, view.state = self.whole, self.lost, self.state
        return view

    def flatten(self, advantage: Numbers, target: Numbers, whole: bool = False) -> Batch:
        """Valid samples as [B, …]; all of them with `whole`."""
        keep = None if self.whole or whole else self.valid.reshape(-1)

        def flat(x: Numbers) -> Numbers:
            if isinstance(x, History):
                return x.stacks.flatten(None if keep is None else torch.as_tensor(keep))
            x = x.reshape(-1, *x.shape[2:])
            return x if keep is None else x[keep]

        return Batch(
            obs={path: flat(leaf) for path, leaf in self.obs.items()},
            action=flat(self.action),
            log_prob=flat(self.log_prob),
            value=flat(self.value),
            advantage=flat(advantage),
            target=flat(target),
            mask=None if self.mask is None else flat(self.mask),
            timeline=self._timeline(None if self.whole or whole else self.host["valid"]),
        )

    def _timeline(self, keep: npt.NDArray[Any] | None) -> Timeline | None:
        return Timeline.of(self.host["episode_end"], keep, self.state) if self.state else None
