"""Rollouts: the [T, N] block one update learns from, and the samples it is cut into.

Names: `x[t]` belongs to the decision at vector step t.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, cast

import numpy.typing as npt
import torch
from torch import Tensor
from typing_extensions import TypeVar

from spotter.envs.backends.buffers import Buffers
from spotter.policy.actor import PolicyState
from spotter.policy.memory import Recalled
from spotter.rollouts.images import History, Stacks
from spotter.rollouts.outlook import Outlook
from spotter.rollouts.timeline import Timeline
from spotter.types import Numbers, Spaces

X = TypeVar("X", bound=Numbers, default=Numbers)
"""Tensors; or arrays, where NumPy computes the policy."""
Block = TypeVar("Block", bound=Numbers, default=Tensor)
"""The same, of a whole rollout: `arrays` shows as arrays what was collected as tensors."""
Arrays = npt.NDArray[Any]
_DIAGNOSTIC_SAMPLES = 1024
_DIAGNOSTIC_NUMBERS = 4_000_000  # images have many
_NUMBERS = ("action", "log_prob", "value", "reward", "next_value")
_FLAGS = ("episode_end", "terminated", "valid")
_OUTCOMES = ("reward", *_FLAGS)


@dataclass(frozen=True, slots=True)
class Batch(Generic[X]):
    """Flattened samples, [B, …]."""

    obs: Mapping[str, X]
    """Or `Stacks`, which are tensors once indexed."""
    action: X
    log_prob: X
    value: X
    advantage: X
    target: X
    mask: X | None
    timeline: Timeline | None = None
    """Which samples follow each other, where the policy has a memory."""
    outlook: Outlook | None = None
    """What came after each, where that is learnt from."""

    def __len__(self) -> int:
        return len(self.action)

    def select(self, indices: slice | X) -> "Batch[X]":
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
            outlook=self.outlook and self.outlook.select(cast(Tensor, indices)),
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

    def sample_obs(self) -> Mapping[str, X]:
        """Enough observations for a diagnosis, spread evenly."""
        numbers = sum(math.prod(leaf[:1].shape) for leaf in self.obs.values())
        most = min(_DIAGNOSTIC_SAMPLES, max(1, _DIAGNOSTIC_NUMBERS // numbers))
        stride = math.ceil(len(self) / most)
        if stride == 1:
            return {path: _all(leaf) for path, leaf in self.obs.items()}
        return {path: leaf[::stride] for path, leaf in self.obs.items()}


def _all(leaf: X) -> X:
    """A tensor or an array itself; stacks put together."""
    return leaf[:] if isinstance(leaf, Stacks) else leaf


class Rollout(Generic[Block]):
    """Preallocated [T, N] tensors; reused from update to update."""

    steps: int
    count: int
    obs: dict[str, Block | History]
    action: Block
    log_prob: Block
    value: Block
    reward: Block
    next_value: Block
    episode_end: Block
    terminated: Block
    valid: Block
    """False where an env had already played its share (whole-episode collecting only)."""
    mask: Block | None
    host: dict[str, Arrays]
    """What the environments say, as arrays; see `upload`."""
    whole: bool
    """Whether every sample is valid, so that no check is needed."""
    lost: list[tuple[int, int, int]]
    """Samples lost to failing envs: from step, to step, env."""
    state: PolicyState
    """What the policy remembered of each env before the first step."""
    after: dict[str, Tensor] | None = None
    """What is seen after the last step, [N, …], where something learns from what comes next."""
    bonus: Block | None = None
    """An advantage beside that of the reward: what intrinsic rewards add."""

    def __init__(
        self: "Rollout[Tensor]",
        spaces: Spaces,
        steps: int,
        count: int,
        has_mask: bool,
        device: torch.device,
        depths: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`depths`: which leaves are stacks of the latest images, and of how many."""

        def block(*shape: int, dtype: str = "float32") -> Tensor:
            return torch.zeros((steps, count, *shape), dtype=getattr(torch, dtype), device=device)

        action = spaces.action
        self.steps, self.count = steps, count
        self._arrays: Rollout[Arrays] | None = None
        self.whole, self.lost, self.state = True, [], ()
        self.obs = {
            path: History(leaf, depths[path], steps, count, device)
            if path in depths
            else block(*leaf.shape, dtype=leaf.dtype)
            for path, leaf in spaces.observation.items()
        }
        self.action = block(*action.shape, dtype=action.dtype)
        self.log_prob, self.value = block(), block()
        self.reward, self.next_value = block(), block()
        self.episode_end, self.terminated = block(dtype="bool"), block(dtype="bool")
        self.valid = block(dtype="bool")
        self.mask = block(action.mask_size, dtype="bool") if has_mask else None
        self.on_cpu = device.type == "cpu"
        self.host = {name: self.blocks()[name].cpu().numpy() for name in _OUTCOMES}

    def blocks(self) -> dict[str, Block]:
        """What has one number (or one action) for each sample, by name."""
        return {name: vars(self)[name] for name in (*_NUMBERS, *_FLAGS)}

    @cached_property
    def leaves(self) -> dict[str, Block]:
        """Observations that are not kept as stacks."""
        return {path: x for path, x in self.obs.items() if not isinstance(x, History)}

    def show(
        self: "Rollout[Tensor]", t: int, buffers: Buffers, rows: slice
    ) -> tuple[dict[str, Tensor | Stacks], Tensor | None]:
        """Record observations of some envs; returns them and the mask, readable by a policy."""
        obs: dict[str, Tensor | Stacks] = {}
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

    def upload(self: "Rollout[Tensor]") -> None:
        """Bring what was written to `host` to the device; on the CPU it is the same memory."""
        if not self.on_cpu:
            for name, array in self.host.items():
                self.blocks()[name].copy_(torch.from_numpy(array))

    def first(self, steps: int) -> "Rollout[Block]":
        """A view of the first rows."""
        view: Rollout[Block] = object.__new__(Rollout)
        view.steps, view.count = steps, self.count
        view.whole, view.lost, view.state = self.whole, self.lost, self.state
        view.obs = {
            path: leaf.first(steps) if isinstance(leaf, History) else leaf[:steps]
            for path, leaf in self.obs.items()
        }
        view._arrays, view.on_cpu = None, self.on_cpu
        view.host = {name: array[:steps] for name, array in self.host.items()}
        vars(view).update({name: block[:steps] for name, block in self.blocks().items()})
        view.mask = None if self.mask is None else self.mask[:steps]
        return view

    def as_data(self: "Rollout[Tensor]") -> dict[str, object]:
        """Everything in it as arrays; where `has_arrays`."""
        arrays = self.arrays()
        return arrays.blocks() | {
            "obs": dict(arrays.obs),
            "mask": arrays.mask,
            "whole": self.whole,
            "lost": [list(span) for span in self.lost],
            "state": [part.numpy() for part in self.state],
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> "Rollout":
        rollout = object.__new__(Rollout)
        vars(rollout).update({name: torch.as_tensor(data[name]) for name in (*_NUMBERS, *_FLAGS)})
        rollout.steps, rollout.count = rollout.reward.shape
        rollout.obs = {path: torch.as_tensor(leaf) for path, leaf in data["obs"].items()}
        rollout.mask = None if data["mask"] is None else torch.as_tensor(data["mask"])
        rollout.whole = data["whole"]
        rollout.lost = [(first, last, row) for first, last, row in data["lost"]]
        rollout.state = tuple(torch.as_tensor(part) for part in data.get("state", ()))
        rollout.on_cpu, rollout._arrays = True, None
        rollout.host = {name: rollout.blocks()[name].numpy() for name in _OUTCOMES}
        return rollout

    @property
    def has_arrays(self) -> bool:
        return self.on_cpu and not any(isinstance(leaf, History) for leaf in self.obs.values())

    def arrays(self: "Rollout[Tensor]") -> "Rollout[Arrays]":
        """The same memory as NumPy arrays; on the CPU only."""
        if self._arrays is None:
            view: Rollout[Arrays] = object.__new__(Rollout)
            vars(view).update(vars(self.first(self.steps)))
            view.obs = {
                path: leaf if isinstance(leaf, History) else leaf.numpy()
                for path, leaf in self.obs.items()
            }
            vars(view).update({name: block.numpy() for name, block in self.blocks().items()})
            view.mask = None if self.mask is None else self.mask.numpy()
            self._arrays = view
        view = self._arrays
        view.whole, view.lost, view.state = self.whole, self.lost, self.state
        view.bonus = None if self.bonus is None else self.bonus.numpy()
        return view

    def with_bonus(self, advantage: Block) -> Block:
        """An advantage of the reward, and what intrinsic rewards add."""
        return advantage if self.bonus is None else advantage + self.bonus

    def flatten(self, advantage: Block, target: Block, whole: bool = False) -> Batch[Block]:
        """Valid samples as [B, …]; all of them with `whole`."""
        keep = None if self.whole or whole else self.valid.reshape((-1,))

        def flat(x: Block) -> Block:
            x = x.reshape((-1, *x.shape[2:]))
            return x if keep is None else x[keep]

        def stacks(history: History) -> Block:
            found = history.stacks.flatten(None if keep is None else torch.as_tensor(keep))
            return cast(Block, found)  # tensors, once indexed

        return Batch(
            obs={
                path: stacks(leaf) if isinstance(leaf, History) else flat(leaf)
                for path, leaf in self.obs.items()
            },
            action=flat(self.action),
            log_prob=flat(self.log_prob),
            value=flat(self.value),
            advantage=flat(advantage),
            target=flat(target),
            mask=None if self.mask is None else flat(self.mask),
            timeline=self._timeline(None if self.whole or whole else self.host["valid"]),
            outlook=self._outlook(keep),
        )

    def _outlook(self, keep: Block | None) -> Outlook | None:
        if self.after is None or not isinstance(self.reward, Tensor):
            return None
        total = self.steps * self.count
        reward, ends = self.reward.reshape(-1), cast(Tensor, self.episode_end).reshape(-1)
        rows = torch.arange(total, device=reward.device)
        if keep is not None:
            rows = rows[cast(Tensor, keep)]
        shown = {
            path: leaf.stacks.flatten(None) if isinstance(leaf, History)
            else cast(Tensor, leaf).reshape(-1, *leaf.shape[2:])
            for path, leaf in self.obs.items()
        }  # fmt: skip
        goes_on = (~ends).float()
        return Outlook(rows, reward[rows], goes_on[rows], shown, self.after, self.count, total)

    def _timeline(self, keep: npt.NDArray[Any] | None) -> Timeline | None:
        return Timeline.of(self.host["episode_end"], keep, self.state) if self.state else None
