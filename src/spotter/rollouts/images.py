"""Stacks of the latest images, each image kept once.

A stack shares all images but one with the stack a step before it, so storing stacks stores every
image several times over. Here a pool holds images, and each stack is a row of places in it; stacks
are put together when they are needed. On an accelerator only the newest image travels.
Nothing here knows how a stack is padded: whatever does not follow from the step before is stored.
"""

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spotter.types import Array, Leaf

_BEGINNINGS: Final = 32  # one step in so many may begin an episode before the pool must grow
_WORD: Final = 8  # bytes moved at once


class Stacks:
    """Stacks with any leading axes, read only: indexing gives images [..., channels, H, W]."""

    def __init__(self, images: Tensor, places: Tensor, shape: tuple[int, ...]) -> None:
        self._images, self._places, self._shape = images, places, shape

    def __getitem__(self, indices: Any) -> Tensor:
        places = self._places[indices]
        found = self._images.index_select(0, places.flatten())
        return found.view(torch.uint8).view(*places.shape[:-1], *self._shape)

    @property
    def addresses(self) -> tuple[int, int]:
        return self._images.data_ptr(), self._places.data_ptr()

    def flatten(self, keep: Tensor | None = None) -> "Stacks":
        """[T, N] stacks as [B], all or those of some rows."""
        places = self._places.flatten(0, 1)
        return Stacks(self._images, places if keep is None else places[keep], self._shape)


class History:
    """The [T, N] stacks of one rollout, written step by step.

    `depth` images make a stack, the newest last. Where the memory is an accelerator's, `write`
    returns before the images have arrived; the caller waits for them (by reading the actions
    chosen from them) before it writes the same envs again.
    """

    def __init__(
        self, leaf: Leaf, depth: int, steps: int, count: int, device: torch.device
    ) -> None:
        channels, *size = leaf.shape
        assert channels % depth == 0, f"{channels} channels are no {depth} images"
        self._shape, self._depth = leaf.shape, depth
        self._newest = channels // depth
        self.steps, self.count = steps, count
        spare = (depth - 1) * (count * steps // _BEGINNINGS)
        numel = self._newest * size[0] * size[1]
        self._word = torch.int64 if numel % _WORD == 0 else torch.uint8
        self._pool = torch.zeros(
            (count * (steps + depth - 1) + spare, numel), dtype=torch.uint8, device=device
        )
        self._places = torch.zeros((steps, count, depth), dtype=torch.int64, device=device)
        pinned = device.type == "cuda"
        staged = count if pinned else 0
        self._image_staging = torch.empty((staged, numel), dtype=torch.uint8, pin_memory=pinned)
        self._place_staging = torch.zeros((count, depth), dtype=torch.int64, pin_memory=pinned)
        self._now = self._place_staging.to(device)
        self._used = 0

    @property
    def nbytes(self) -> int:
        return sum(x.numel() * x.element_size() for x in (self._pool, self._places))

    @property
    def stacks(self) -> Stacks:
        return Stacks(self._pool.view(self._word), self._places, self._shape)

    def now(self, rows: slice) -> Stacks:
        """What was written last for some envs, at an address that stays."""
        return Stacks(self._pool.view(self._word), self._now[rows], self._shape)

    def restart(self) -> None:
        """A new rollout: every env's next stack is stored as a whole."""
        self._used = 0

    def write(
        self,
        t: int,
        stacks: Array,
        begun: npt.NDArray[np.bool_],
        first: int = 0,
    ) -> None:
        """Stacks of consecutive envs from `first` on; `begun` marks those that do not continue.

        At a rollout's first step all have begun.
        """
        size = len(stacks)
        rows = slice(first, first + size)
        places = self._place_staging[rows].numpy()
        places[:, :-1] = places[:, 1:]
        newest = stacks[:, -self._newest :].reshape(size, -1)
        places[:, -1] = self._store(newest, rows)
        older = np.flatnonzero(begun)
        if older.size:
            images = stacks[older, : -self._newest].reshape(older.size * (self._depth - 1), -1)
            places[older, :-1] = self._append(images).reshape(older.size, -1)
        self._now[rows].copy_(self._place_staging[rows], non_blocking=True)
        self._places[t, rows] = self._now[rows]

    def _store(self, images: Array, rows: slice) -> npt.NDArray[np.int64]:
        """One image for each of these envs, on its way through memory that may be pinned."""
        start = self._reserve(len(images))
        place = slice(start, start + len(images))
        if self._pool.device.type == "cuda":
            self._image_staging[rows].numpy()[...] = images
            self._pool[place].copy_(self._image_staging[rows], non_blocking=True)
        else:
            self._pool[place].copy_(torch.from_numpy(images))
        return np.arange(start, start + len(images))

    def _append(self, images: Array) -> npt.NDArray[np.int64]:
        start = self._reserve(len(images))
        self._pool[start : start + len(images)].copy_(torch.from_numpy(images))
        return np.arange(start, start + len(images))

    def _reserve(self, images: int) -> int:
        start = self._used
        self._used += images
        if self._used > len(self._pool):
            larger = torch.zeros(
                (max(self._used, len(self._pool) * 3 // 2), self._pool.shape[1]),
                dtype=torch.uint8,
                device=self._pool.device,
            )
            larger[:start] = self._pool[:start]
            self._pool = larger
        return start

    def first(self, steps: int) -> Self:
        """A view of the first rows, for reading."""
        view = object.__new__(type(self))
        vars(view).update(vars(self), steps=steps, _places=self._places[:steps])
        return view

    def grown(self, steps: int) -> "History":
        """Room for more steps, with what is already written."""
        leaf = Leaf("image", self._shape, "uint8")
        larger = History(leaf, self._depth, steps, self.count, self._pool.device)
        larger._reserve(self._used)
        larger._pool[: self._used] = self._pool[: self._used]
        larger._places[: self.steps] = self._places
        larger._place_staging.copy_(self._place_staging)
        larger._now.copy_(self._now)
        return larger
