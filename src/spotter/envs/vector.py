"""The one transition contract, and the back-end that runs in this process.

Every back-end presents same-step autoreset: a step in which an episode ends returns the reward
and flags of that end, the true last observation in `final_obs`, and in `obs` the first
observation of the next episode. At most one of `terminated` and `truncated` is set (termination
wins). `reset(seeds)` starts all copies afresh; later episodes continue each copy's own stream.
`tests/conformance` proves it for any back-end.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from spotter.envs.signals.base import Kind
from spotter.envs.slices import Bools, Buffers, Copy, Layout, Slice, assemble
from spotter.types import Episode, Spaces


class VectorEnv(Protocol):
    """N copies of one environment."""

    count: int
    spaces: Spaces
    signal_kinds: tuple[Kind, ...]
    buffers: Buffers

    def reset(self, seeds: Sequence[int]) -> Buffers:
        """Start every copy with its own seed."""

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        """Step every active copy into `buffers`; returns the episodes that ended."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class SyncVector:
    """All copies in one loop: the reference, and the fastest for cheap environments."""

    def __init__(self, build: Callable[[], Copy], count: int) -> None:
        copies = [build()]
        layout = Layout.of(copies[0])
        copies += [build() for _ in range(count - 1)]
        self.count = count
        self.spaces = layout.spaces
        self.signal_kinds = layout.kinds
        fields = layout.fields(count)
        self.buffers = assemble({k: np.zeros(shape, dtype) for k, (shape, dtype) in fields.items()})
        self._slice = Slice(copies, self.buffers)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        self._slice.reset(seeds)
        return self.buffers

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        self.buffers.action[...] = action
        return self._slice.step(active)

    def close(self) -> None:
        self._slice.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
