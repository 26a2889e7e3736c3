"""What every algorithm file offers, and the settings most of them share.

An algorithm file holds `Config` (its settings), `METRICS` (what it reports beyond the common
catalogue) and `make(config, policy, seed) -> Algorithm`. It imports torch where it computes, not
at the top, so that reading and checking configs stays fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from spotter.collector import Collector
    from spotter.config import AlgoConfig
    from spotter.optim import Optimizer
    from spotter.rollout import Rollout
    from spotter.types import Progress


class Algorithm(Protocol):
    """Learns from what it collects. Owns its update loop; shares only mathematics."""

    optimizer: Optimizer

    def collect(self, collector: Collector, progress: Progress) -> Rollout:
        """Ask the collector for the data one update needs."""

    def update(self, rollout: Rollout, progress: Progress) -> dict[str, float]:
        """Improve the policy; returns metrics by declared name."""

    def retune(self, config: AlgoConfig) -> None:
        """Go on with other values of the same settings."""

    def state(self) -> dict[str, Any]:
        """All that a copy of this algorithm needs to go on as if it were this one."""

    def restore(self, state: Mapping[str, Any]) -> None: ...


def settings_used(algorithm: Algorithm, config: AlgoConfig, progress: Progress) -> dict[str, float]:
    """Scheduled settings in the update just made, by metric; rates as the optimizer had them."""
    used = config.at(progress)
    rates = zip(("lr", "critic_lr"), algorithm.optimizer.rates, strict=True)
    used |= {name: rate for name, rate in rates if name in used}
    return {f"hp/algo.{name}": value for name, value in used.items()}
