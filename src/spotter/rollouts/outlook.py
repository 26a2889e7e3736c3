"""What is seen after each sample of a batch, put together only when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spotter.rollouts.images import Stacks


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where samples [B] lie in a rollout, and how each ended."""

    rows: Tensor
    """Of env n at vector step t: t · count + n."""
    reward: Tensor
    goes_on: Tensor
    """Whether the next observation belongs to the same episode."""
    shown: Mapping[str, Tensor | Stacks]
    """Observations of the whole rollout, by row."""
    after: Mapping[str, Tensor]
    """What was seen after its last step, [count, …]."""
    count: int
    whole: int
    """Rows of the rollout."""

    def select(self, indices: slice | Tensor) -> "Outlook":
        return Outlook(
            self.rows[indices], self.reward[indices], self.goes_on[indices], self.shown,
            self.after, self.count, self.whole,
        )  # fmt: skip

    def obs(self) -> dict[str, Tensor]:
        """One vector step later; of the next episode where one has ended."""
        return {path: self._later(path) for path in self.shown}

    def _later(self, path: str) -> Tensor:
        shown, last = self.shown[path], self.after[path]
        later = self.rows + self.count
        inside = later < self.whole
        found: Tensor = shown[torch.where(inside, later, self.rows)].clone()
        outside = torch.nonzero(~inside).flatten()
        found[outside] = last[later[outside] - self.whole]
        return found
