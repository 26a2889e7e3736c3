"""What a network that looks at images has learnt to see: filters, activations, saliency.

Everything comes back as arrays of bytes, ready to be shown. torch is imported when one of the
functions runs, which on a page is in a worker process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from spotter.episodes.format import Meta, Trace, load, run_of
from spotter.types import Array, UserError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from spotter.policy.actor import PolicyState
    from spotter.policy.actor_critic import Policy

Bytes = npt.NDArray[np.uint8]
Target = Literal["action", "value"]
"""What saliency is about: why this was done, or why it seemed worth so much."""
TARGETS: Final[tuple[Target, ...]] = ("action", "value")


@dataclass(frozen=True)
class Layer:
    """The output of one convolution: an image per filter, brighter where it found its pattern."""

    name: str
    images: Bytes
    """[filters, height, width]"""


@dataclass(frozen=True)
class Seen:
    """One look at one step."""

    filters: Mapping[str, Bytes]
    """Of the first convolution of each image, [filters, channels, height, width]; grey is 0."""
    layers: tuple[Layer, ...]
    saliency: Mapping[Target, Mapping[str, Bytes]]
    """By target and image, [channels, height, width]: how much each pixel mattered."""


def look(folder: str | Path, step: int) -> Seen:
    """All there is to see at a step of a saved trace, by the policy that played it."""
    trace = load(Path(folder))
    trace.check_step(step)
    policy = policy_of(Path(folder), trace.meta)
    targets = TARGETS if trace.meta.baseline == "value" else TARGETS[:1]
    return Seen(
        filters=filters(policy),
        layers=tuple(activations(policy, trace, step)),
        saliency={target: saliency(policy, trace, step, target) for target in targets},
    )


def policy_of(folder: Path, meta: Meta) -> "Policy":
    """Who played the trace in a folder."""
    from spotter.config import from_older, validate
    from spotter.episodes.capture import fresh
    from spotter.training import checkpoint

    run = run_of(folder)
    if meta.mode == "human":
        raise UserError("a person played this episode, and people's filters cannot be shown")
    if meta.mode == "untrained":
        run.check_trust(meta.settings)
        latest = checkpoint.read(checkpoint.find(str(run.folder)))
        return fresh(validate(from_older(meta.settings)), latest.spaces)
    return checkpoint.load(f"{run.folder}/step={meta.step}")


def filters(policy: "Policy") -> dict[str, Bytes]:
    """First-layer filters, each stretched around 0, which is grey."""
    found: dict[str, Bytes] = {}
    for path, convolutions in _convolutions(policy).items():
        weight = convolutions[0].weight.detach().float().cpu().numpy()
        largest = np.abs(weight).max(axis=(1, 2, 3), keepdims=True)
        found[path] = _bytes(0.5 + 0.5 * weight / np.maximum(largest, 1e-12))
    return found


def activations(policy: "Policy", trace: Trace, step: int) -> list[Layer]:
    """What each convolution makes of one observation, each layer stretched by itself."""
    import torch

    caught: list[tuple[str, Tensor]] = []
    named = [
        (f"{path} convolution {i + 1}", module)
        for path, convolutions in _convolutions(policy).items()
        for i, module in enumerate(convolutions)
    ]
    hooks = [
        # a copy: the activation behind it may work in place
        module.register_forward_hook(
            lambda _m, _i, out, name=name: caught.append((name, out.clone()))
        )
        for name, module in named
    ]
    try:
        with torch.no_grad():
            policy.actor(policy.inputs(_observation(policy, trace, step)))
    finally:
        for hook in hooks:
            hook.remove()
    return [Layer(name, _stretched(out[0].clamp(min=0).numpy())) for name, out in caught]


def saliency(
    policy: "Policy", trace: Trace, step: int, target: Target = "action"
) -> dict[str, Bytes]:
    """How much each pixel would change the log-probability of what was done, or the value.

    The absolute gradient, stretched so that the most important pixel of all images is white. A
    policy with memory is asked with what it remembers of the steps before.
    """
    import torch

    if target not in TARGETS:
        raise UserError(f"unknown target '{target}'; write {' or '.join(TARGETS)}")
    if target == "value" and trace.meta.baseline != "value":
        raise UserError("this run has no critic, so there is no value to explain; take the action")
    paths = list(_convolutions(policy))
    with torch.no_grad():
        state = _state_before(policy, trace, step)
        inputs = policy.inputs(_observation(policy, trace, step))
    pictures = [inputs[path].clone().requires_grad_() for path in paths]
    with torch.enable_grad():
        seen = {**inputs, **dict(zip(paths, pictures, strict=True))}
        if target == "value":
            wanted = policy.value_head(_features(policy, seen, state)[1]).sum()
        else:
            mask = trace.columns["mask"][step] if "mask" in trace.columns else None
            valid = None if mask is None else torch.from_numpy(mask[None].copy())
            done = torch.from_numpy(np.array(trace.columns["action"][step])[None])
            features = _features(policy, seen, state)[0]
            wanted = policy.policy_head(features, valid).log_prob(done).sum()
        slopes = torch.autograd.grad(wanted, pictures)
    sizes = [slope[0].abs().numpy() for slope in slopes]
    largest = max(float(size.max()) for size in sizes)
    return {
        path: _bytes(size / max(largest, 1e-12)) for path, size in zip(paths, sizes, strict=True)
    }


def _state_before(policy: "Policy", trace: Trace, step: int) -> "PolicyState":
    """What the policy remembers at a step: what follows from all it has seen before."""
    state = policy.initial_state(1)
    for before in range(step) if state else ():
        _, _, state = policy(_observation(policy, trace, before), None, state)
    return state


def _features(
    policy: "Policy", inputs: "dict[str, Tensor]", state: "PolicyState"
) -> "tuple[Tensor, Tensor]":
    """What the action head and the value head see."""
    actor = policy.actor(inputs)
    critic = actor if policy.shared else policy.critic(inputs)
    if policy.memory is not None:
        actor, critic, _ = policy.memory(actor, critic, state)
    return actor, critic


def _convolutions(policy: "Policy") -> "dict[str, list[nn.Conv2d]]":
    """By observation leaf, in the order they are used."""
    from torch import nn

    leaves = policy.spaces.observation
    found: dict[str, list[nn.Conv2d]] = {}
    for path, encoder in zip(leaves, policy.actor.encoders, strict=True):
        inside = [module for module in encoder.modules() if isinstance(module, nn.Conv2d)]
        if leaves[path].kind == "image" and inside:
            found[path] = inside
    if not found:
        shown = ", ".join(f"{leaf.kind} {list(leaf.shape)}" for leaf in leaves.values())
        raise UserError(f"this policy has no convolutions to look into: it sees {shown}")
    return found


def _observation(policy: "Policy", trace: Trace, step: int) -> "dict[str, Tensor]":
    import torch

    return {
        path: torch.from_numpy(np.array(trace.columns[f"obs/{path}"][step])[None])
        for path in policy.spaces.observation
    }


def _stretched(x: npt.NDArray[Any]) -> Bytes:
    return _bytes(x / max(float(x.max()), 1e-12))


def _bytes(x: Array) -> Bytes:
    """From 0 … 1 to bytes."""
    bytes_: Bytes = np.rint(np.clip(x, 0.0, 1.0) * 255).astype(np.uint8)
    return bytes_
