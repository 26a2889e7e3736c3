"""What every algorithm file offers, and the settings most of them share.

An algorithm file holds `Config` (its settings), `METRICS` (what it reports beyond the common
catalogue), `collect(config, collector, progress) -> Rollout` (the data one update needs) and
`make(config, policy, seed) -> Algorithm`. It imports torch where it computes, not at the top, so
that reading and checking configs stays fast. `collect` may run in a process without an algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from spotter.config import AlgoConfig
    from spotter.engines.optim import Optimizer
    from spotter.rollouts.rollout import Rollout
    from spotter.types import Progress


class Algorithm(Protocol):
    """Learns from rollouts. Owns its update loop; shares only mathematics."""

    @property
    def optimizer(self) -> Optimizer | None:
        """None where weights are changed without gradients."""

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        """Improve the policy; returns metrics by declared name."""

    def retune(self, config: AlgoConfig) -> None:
        """Use other values of the same settings from now on."""

    def state(self) -> dict[str, object]:
        """All that another instance of this algorithm needs to continue exactly like this one."""

    def restore(self, state: Mapping[str, Any]) -> None: ...


def settings_used(algorithm: Algorithm, config: AlgoConfig, progress: Progress) -> dict[str, float]:
    """Scheduled settings in the update just made, by metric; rates as the optimizer had them."""
    used = config.at(progress)
    if algorithm.optimizer is not None:
        rates = zip(("lr", "critic_lr"), algorithm.optimizer.rates, strict=True)
        used |= {name: rate for name, rate in rates if name in used}
    return {f"hp/algo.{name}": value for name, value in used.items()}
