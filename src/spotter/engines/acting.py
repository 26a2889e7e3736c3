"""Actors: a policy that acts by NumPy or by torch, as `policy.engine` says.

Learning multiplies hundreds of rows by a weight matrix, acting a handful; for those, torch's CPU
libraries want matrices the other way round and the channels of filters innermost. Copying weights
into that order once per rollout takes a few milliseconds; not to have it costs more in each step.
"""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from spotter.engines.heads import Noise
from spotter.engines.network import Network, numpy_network_for
from spotter.policy.actor import Acted, Actor, PolicyState
from spotter.policy.actor_critic import Policy
from spotter.policy.body import has_images
from spotter.policy.heads import Distribution, choose
from spotter.rollouts.rollout import Arrays, Rollout
from spotter.types import Array, Obs

_AT_ONCE: Final = 2048  # rows; more would leave the processor's cache


def make(policy: Policy, seed: int) -> Actor:
    """Acts with the present weights outside of training, by the policy's own compute backend."""
    generator = torch.Generator(next(policy.parameters()).device).manual_seed(seed)
    network = numpy_network_for(policy)
    if network is None:
        return TorchActor(policy, generator)
    return NumpyActor(network, generator)


class TorchActor:
    """Arrays in, tensors out."""

    def __init__(self, policy: Policy, generator: torch.Generator) -> None:
        self.policy, self.generator = policy, generator

    def act(
        self, obs: Obs, mask: object, state: PolicyState = (), deterministic: bool = False
    ) -> Acted[Tensor]:
        leaves, valid = _tensors(obs, mask, self.generator.device)
        with _threads_for(obs):
            return self.policy.act(leaves, valid, state, self.generator, deterministic)


class NumpyActor:
    """Arrays in, arrays out; what torch would do, without its overhead."""

    def __init__(self, network: Network, generator: torch.Generator) -> None:
        self.policy, self.generator = network.policy, generator
        self._network = network
        self._noise: list[Noise] = []
        """Random numbers for the steps to come, the next one last."""

    def act(
        self, obs: Obs, mask: Any, state: PolicyState = (), deterministic: bool = False
    ) -> Acted[Array]:
        network, noise = self._network, None
        x = network.inputs(obs)
        if not deterministic:
            if not self._noise:
                self._noise = network.draw(1, len(x), self.generator)
            noise = self._noise.pop()
        if network.memory is not None:
            return network.step(x, mask, noise, state)
        return Acted(network.choose(x, mask, noise), None, None)

    def prepare(self, steps: int, count: int) -> None:
        """A rollout of so many steps begins (0: unknown); all its random numbers at once."""
        if self._network.is_stale():
            self._network = Network(self.policy)
        self._noise = self._network.draw(steps, count, self.generator)[::-1] if steps else []

    def value(self, obs: Obs, state: PolicyState) -> Array:
        return self._network.value(self._network.inputs(obs), state)

    def complete(self, rollout: Rollout[Arrays]) -> None:
        """Log-probabilities and values of every step, computed for many at once."""
        if self._network.memory is not None:
            return  # `act` has written them
        everything = rollout.flatten(rollout.value, rollout.value, whole=True)
        log_prob, value = rollout.log_prob.reshape(-1), rollout.value.reshape(-1)
        for start in range(0, len(everything), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            some = everything.select(part)
            x = self._network.inputs(some.obs)
            said = self._network.evaluate(x, some.action, some.mask)
            log_prob[part] = said.log_prob
            value[part] = self._network.restored(said.raw_value)


class Explained(NamedTuple):
    """Actions and the distribution they were chosen from, by torch whatever acts."""

    action: Tensor
    log_prob: Tensor
    value: Tensor
    state: PolicyState
    distribution: Distribution


@torch.inference_mode()
def explain(
    actor: Actor,
    obs: Obs,
    mask: object,
    state: PolicyState,
    deterministic: bool,
    action: Array | None = None,
) -> Explained:
    """`actor.act`, explained; with `action`, that is taken and no random number is drawn."""
    if action is None and isinstance(actor, NumpyActor):
        action = actor.act(obs, mask, state, deterministic).host_action()
    device = actor.generator.device
    leaves, valid = _tensors(obs, mask, device)
    with _threads_for(obs):
        distribution, value, state = actor.policy(leaves, valid, state)
        if action is None:
            taken = choose(distribution, actor.generator, deterministic)
        else:
            taken = torch.from_numpy(np.ascontiguousarray(action)).to(device)
        return Explained(taken, distribution.log_prob(taken), value, state, distribution)


def _tensors(
    obs: Obs, mask: object, device: torch.device
) -> tuple[dict[str, Tensor], Tensor | None]:
    leaves = {path: torch.from_numpy(leaf).to(device) for path, leaf in obs.items()}
    return leaves, None if mask is None else torch.from_numpy(mask).to(device)


@contextmanager
def one_thread() -> Iterator[None]:
    """One row at a time is not worth sharing, and threads that wait for it keep others busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _threads_for(obs: Obs) -> AbstractContextManager[None]:
    return one_thread() if len(next(iter(obs.values()))) == 1 else nullcontext()


class InferenceCopy:
    """A copy of a policy for inference: acts in its place until the policy learns."""

    def __init__(self, policy: Policy) -> None:
        self._source = policy
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        for layer in self.policy.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.data = layer.weight.data.t().contiguous().t()
            elif isinstance(layer, nn.Conv2d):
                layer.weight.data = layer.weight.data.to(memory_format=torch.channels_last)

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over what was learnt."""
        theirs = self._source.state_dict()
        for name, mine in self.policy.state_dict().items():
            mine.copy_(theirs[name])


def inference_copy(policy: Policy) -> InferenceCopy | None:
    """Where one helps: for a policy that sees images, unless plain torch was requested."""
    pays = has_images(policy.spaces) and policy.config.engine == "auto"
    return InferenceCopy(policy) if pays else None
