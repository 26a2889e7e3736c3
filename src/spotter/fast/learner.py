"""Which engine an algorithm learns with."""

from typing import Any

from spotter import functional
from spotter.fast import objectives
from spotter.fast.network import Network, twin
from spotter.nets.actor_critic import Policy
from spotter.optim import Optimizer


def twin_of(policy: Policy, optimizer: Optimizer) -> tuple[Network | None, Any]:
    """The policy in NumPy with its gradients going to the optimizer, and the mathematics to use.

    No network and `functional` where torch computes the policy.
    """
    network = twin(policy)
    if network is None:
        return None, functional
    network.bind(optimizer.gradient_of)
    return network, objectives


def learns_in_numpy(algorithm: object) -> bool:
    """Whether an algorithm learns with what `twin_of` gave it; one of another package may not."""
    return getattr(algorithm, "network", None) is not None
