"""A policy's mathematics in NumPy: acting, and gradients derived by hand.

Small networks spend their time in the framework, not in arithmetic: torch takes about 2 ms for a
PPO minibatch of which 0.3 ms is matrix products. This class works on the very memory of a torch
`Policy`, so checkpoints, evaluation and transfer know nothing of it. torch stays the reference;
tests/fast compares the two for every head, loss and normalisation.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spotter.engines import heads, kernels, recurrent
from spotter.engines.blas import single_thread
from spotter.engines.layers import ACTIVATIONS, Joined, Tower, view
from spotter.engines.losses import Evaluated
from spotter.engines.plain import Floats, shared_scratch
from spotter.policy.actor import Acted, PolicyState
from spotter.policy.actor_critic import Policy
from spotter.policy.body import Body
from spotter.policy.encoding import Binary, OneHot
from spotter.policy.memory import Recalled, Sequences, unknown_past
from spotter.policy.normalizers import BoundsNorm, RunningNorm
from spotter.types import Array, Leaf, UserError

Arrays = Mapping[str, npt.NDArray[Any]]
_MANY_CODES: Final = 64  # from here on, picking columns is faster than multiplying by zeros
_MOST_WEIGHTS: Final = 2_000_000  # beyond that matrix products dominate, and torch has more threads


def reason_against(policy: Policy) -> str:
    """Why a policy cannot be computed here, as a clause; empty if it can."""
    leaves = policy.spaces.observation.values()
    if policy.initial_state(1) and not (policy.memory and recurrent.can_compute(policy.memory)):
        return "its memory is neither gru nor lstm"
    if any(leaf.kind == "image" for leaf in leaves):
        return "it sees images"
    if any(parameter.device.type != "cpu" for parameter in policy.parameters()):
        return "it is not on the CPU"
    if any(leaf.nvec for leaf in leaves) and policy.config.discrete == "embedding":
        return "policy.discrete is embedding"
    if sum(parameter.numel() for parameter in policy.parameters()) > _MOST_WEIGHTS:
        return "it is large"
    kinds = (nn.Linear, nn.LayerNorm, *ACTIVATIONS)
    for body in (policy.actor, policy.critic):
        for module in chain(body.trunk, *body.layers):
            if type(module) not in kinds:
                return f"it uses {type(module).__name__}"
    return ""


class Engine(NamedTuple):
    """The compute backend of a policy, and why."""

    name: str
    why: str


def choose_engine(policy: Policy) -> Engine:
    """What `policy.engine` comes to."""
    asked = policy.config.engine
    if asked == "torch":
        return Engine("torch", "as configured")
    against = reason_against(policy)
    if asked == "numpy" and against:
        raise UserError(f"policy.engine: numpy cannot compute this policy: {against}; use torch")
    if against:
        return Engine("torch", against)
    how = "with" if kernels.COMPILED else "without"
    why = f"small, so gradients derived by hand beat a framework; {how} compiled kernels"
    return Engine("numpy", why)


def numpy_network_for(policy: Policy) -> "Network | None":
    """The policy in NumPy, if that is its compute backend."""
    if choose_engine(policy).name != "numpy":
        return None
    single_thread()
    return Network(policy)


class Network:
    """One `Policy` in NumPy; made after the policy's memory has its final address."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.inputs = _Inputs(policy)
        """Normalised observations, one row per sample: what the other methods call x."""
        self.actor = _tower(policy.actor)
        self.critic = self.actor if policy.shared else _tower(policy.critic)
        self.memory = None if policy.memory is None else recurrent.Memory(policy.memory)
        head = policy.policy_head
        log_std = view(head.log_std) if policy.spaces.action.kind == "box" else None
        self.distribution = heads.make(policy.spaces.action, log_std, policy.config.squash)
        self._policy_head = _Head(head.linear, "actor")
        self._value_head = _Head(policy.value_head, "critic")
        self._latest: Array | None = None
        """What `evaluate` saw last."""
        self._order: npt.NDArray[np.int64] | None = None
        """Where the rows of sequences came from, in the order they were computed in."""

    def bind(self, gradient: Callable[[Tensor], Tensor]) -> None:
        """Say where the gradient of each parameter shall go."""
        policy = self.policy
        for tower in (self.actor, self.critic):
            for layer in tower.layers:
                linear = layer.linear
                layer.gradients["weight"] = view(gradient(linear.weight))
                layer.gradients["bias"] = view(gradient(linear.bias))
                if layer.norm is not None:
                    module = layer.norm.module
                    layer.norm.gradients["weight"] = view(gradient(module.weight))
                    layer.norm.gradients["bias"] = view(gradient(module.bias))
        if self.memory is not None:
            self.memory.bind(gradient)
        for head in (self._policy_head, self._value_head):
            head.of_weight = view(gradient(head.linear.weight))
            head.of_bias = view(gradient(head.linear.bias))
        if isinstance(self.distribution, heads.Normal):
            self.distribution.log_std_slope = view(gradient(policy.policy_head.log_std))

    def is_stale(self) -> bool:
        """Whether the policy's weights have moved elsewhere since."""
        address: int = self._policy_head.weight.ctypes.data
        return address != self.policy.policy_head.linear.weight.data_ptr()

    def draw(self, steps: int, count: int, generator: torch.Generator) -> list[heads.Noise]:
        """Random numbers for so many vector steps of so many envs, as the policy draws them."""
        return self.distribution.draw(steps, count, generator)

    def choose(
        self,
        x: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_] | None,
        noise: heads.Noise | None,
    ) -> Array:
        """Actions with that noise; the likeliest ones without.

        Nothing else is computed here: log-probabilities and values of a whole rollout are computed
        once, by `evaluate`, when it is complete.
        """
        return self.distribution.choose(self._out(self.actor.forward(x), mask), noise)

    def step(
        self,
        x: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_] | None,
        noise: heads.Noise | None,
        state: PolicyState,
    ) -> Acted[Array]:
        """`choose` with a memory, and all else that is known then: it costs little more."""
        assert self.memory is not None
        of_actor, of_critic = self.memory.parts(state)
        features, after = self.memory.actor.step(self.actor.forward(x), of_actor)
        out = self._out(features, mask)
        action = self.distribution.choose(out, noise)
        log_prob, _ = self.distribution.evaluate(out, action)
        if self.memory.critic is not None:
            features, own = self.memory.critic.step(self.critic.forward(x), of_critic)
            after = [*after, *own]
        value = self.restored(self._raw_value(features))
        return Acted(action, log_prob, value, tuple(map(torch.from_numpy, after)))

    def value(self, x: npt.NDArray[Any], state: PolicyState = ()) -> Floats:
        features = self.critic.forward(x)
        if self.memory is not None:
            of_actor, of_critic = self.memory.parts(state)
            if self.memory.critic is None:
                features, _ = self.memory.actor.step(features, of_actor)
            else:
                features, _ = self.memory.critic.step(features, of_critic)
        return self.restored(self._raw_value(features))

    def evaluate(
        self,
        x: npt.NDArray[Any],
        action: Array,
        mask: npt.NDArray[np.bool_] | None,
        recalled: Recalled = (),
    ) -> Evaluated[Floats]:
        self._latest, self._order = x, None
        if not isinstance(recalled, Sequences):
            if self.memory is not None:
                raise unknown_past()
            actor = self.actor.forward(x)
            critic = actor if self.policy.shared else self.critic.forward(x)
            return self._said(actor, critic, action, mask)
        order = self._order = recalled.order.numpy()
        actor, critic = self._remembered(x[order], recalled)
        said = self._said(actor, critic, action[order], None if mask is None else mask[order])
        return Evaluated(*(self._put_back(part) for part in said))

    def _said(
        self, actor: Floats, critic: Floats, action: Array, mask: npt.NDArray[np.bool_] | None
    ) -> Evaluated[Floats]:
        log_prob, entropy = self.distribution.evaluate(self._out(actor, mask), action)
        return Evaluated(log_prob, entropy, self._raw_value(critic))

    def _remembered(self, x: npt.NDArray[Any], sequences: Sequences) -> tuple[Floats, Floats]:
        """Features of rows in the order of `sequences`, for the two heads."""
        assert self.memory is not None
        of_actor, of_critic = self.memory.parts(sequences.state)
        sizes = np.asarray(sequences.sizes, np.int64)
        actor = self.memory.actor.run(self.actor.forward(x), sizes, of_actor)
        if self.memory.critic is None:
            return actor, actor
        return actor, self.memory.critic.run(self.critic.forward(x), sizes, of_critic)

    def _put_back(self, computed: Floats) -> Floats:
        """From the order of sequences to that of the batch."""
        found = np.empty_like(computed)
        found[self._order] = computed
        return found

    def backward(self, of_log_prob: Floats, of_entropy: float, of_raw_value: Floats) -> None:
        """Derivatives of a loss by what `evaluate` returned (entropy: of each row), to gradients.

        They go where `bind` said.
        """
        if self._order is not None:
            of_log_prob, of_raw_value = of_log_prob[self._order], of_raw_value[self._order]
        d_out = self.distribution.slope(of_log_prob, of_entropy)
        d_actor = self._policy_head.backward(d_out.T)
        d_critic = self._value_head.backward(of_raw_value[:, None])
        if self.policy.shared:
            d_actor += d_critic
        if self.memory is not None:
            d_actor = self.memory.actor.backward(d_actor)
        self.actor.backward(d_actor)
        if self.policy.shared:
            return
        if self.memory is not None and self.memory.critic is not None:
            d_critic = self.memory.critic.backward(d_critic)
        self.critic.backward(d_critic)

    def restored(self, raw_value: Floats) -> Floats:
        """From the critic's units to those of returns; the identity without PopArt."""
        norm = self.policy.value_norm
        if norm is None:
            return raw_value
        restored: Floats = raw_value * norm.std.numpy() + norm.mean.numpy()
        return restored

    def normalized(self, value: Floats) -> Floats:
        """The way back."""
        norm = self.policy.value_norm
        if norm is None:
            return value
        normalized: Floats = (value - norm.mean.numpy()) / norm.std.numpy()
        return normalized

    def activations(self, obs: Arrays) -> list[Floats]:
        """Outputs of every activation layer; `obs` holds what `inputs` returned as `x`."""
        towers = [self.actor] if self.policy.shared else [self.actor, self.critic]
        if obs["x"] is not self._latest:
            for tower in towers:
                tower.forward(obs["x"])
        return [layer for tower in towers for layer in tower.outputs()]

    def _out(self, features: Floats, mask: npt.NDArray[np.bool_] | None) -> Floats:
        """What the policy head puts out, [entries, B]."""
        out = np.empty((len(self._policy_head.bias), len(features)), np.float32)
        self._policy_head.forward(features, out.T)
        return out if mask is None else heads.masked(out, mask)

    def _raw_value(self, features: Floats) -> Floats:
        value = np.empty((len(features), 1), np.float32)
        self._value_head.forward(features, value)
        return value[:, 0]


def _tower(body: Body) -> Tower | Joined:
    if len(body.layers) > 1:
        return Joined([layer.children() for layer in body.layers], body.trunk)
    return Tower([*chain(*body.layers), *body.trunk])


class _Head:
    """A last layer: linear, without an activation."""

    def __init__(self, linear: nn.Linear, use: str) -> None:
        self.linear = linear
        self.weight, self.bias = view(linear.weight), view(linear.bias)
        self.of_weight, self.of_bias = np.zeros_like(self.weight), np.zeros_like(self.bias)
        self._below = shared_scratch(linear.in_features, use)

    def forward(self, x: Floats, out: Floats) -> None:
        self._x = x
        kernels.forward(x, self.weight, self.bias, out, kernels.LINEAR)

    def backward(self, d: Floats) -> Floats:
        """From the derivative by the output to those by weight and bias; returns that by x."""
        below = self._below.rows(len(d))
        kernels.backward(
            d, None, self._x, self.weight, self.of_weight, self.of_bias, below, kernels.LINEAR
        )
        return below


class _Inputs:
    """Observation leaves to rows of numbers, as `Inputs` and the encoders of `Body` do it."""

    def __init__(self, policy: Policy) -> None:
        leaves = policy.spaces.observation
        body: Body = policy.actor
        self._parts = [
            (path, _encode(leaf, encoder, policy.inputs.norm(path)))
            for (path, leaf), encoder in zip(leaves.items(), body.encoders, strict=True)
        ]
        only = next(iter(leaves.values())) if len(leaves) == 1 else None
        self._as_codes = (
            only is not None
            and isinstance(body.encoders[0], OneHot)
            and sum(only.nvec) > _MANY_CODES
            and bool(body.layers or body.trunk)
        )
        self._offsets = np.cumsum([0, *only.nvec[:-1]]) if only and only.nvec else None

    def __call__(self, obs: Arrays) -> Array:
        if self._as_codes:
            codes = next(iter(obs.values()))
            assert self._offsets is not None
            places: Array = codes.reshape(len(codes), -1) + self._offsets
            return places
        if len(self._parts) == 1:  # nearly always, and in every step
            path, encode = self._parts[0]
            return encode(obs[path])
        return np.concatenate([encode(obs[path]) for path, encode in self._parts], axis=1)


def _encode(leaf: Leaf, encoder: nn.Module, norm: nn.Module | None) -> Callable[[Array], Array]:
    if isinstance(encoder, OneHot | Binary):
        return _with_torch(encoder)
    if isinstance(norm, RunningNorm):
        return _running(norm)
    if isinstance(norm, BoundsNorm):
        centre, radius = norm.centre.numpy(), norm.radius.numpy()
        return lambda x: (x - centre) / radius
    return lambda x: x


def _with_torch(encoder: nn.Module) -> Callable[[Array], Array]:
    def encode(x: Array) -> Array:
        encoded: Array = encoder(torch.from_numpy(x)).numpy()
        return encoded

    return encode


def _running(norm: RunningNorm) -> Callable[[Array], Array]:
    mean, var, clip = norm.mean.numpy(), norm.var.numpy(), norm.CLIP

    def encode(x: Array) -> npt.NDArray[Any]:
        scaled: Array = ((x - mean) / np.sqrt(var + 1e-8)).clip(-clip, clip)
        return scaled

    return encode
