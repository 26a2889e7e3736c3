"""Behaviour cloning: a new policy learns to take the actions of `env.demo`, before any update.

It sees them as training envs show them, wrappers included: in the game without chance, and in games
with it as far as the same actions reach the same score there. Only the actor learns from them; the
critic has no returns of its own policy yet.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from spotter import seeding
from spotter.config import DemoConfig, EnvConfig
from spotter.engines.optim import Adam, Optimizer
from spotter.envs.backends.buffers import Buffers
from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.make import EnvBuilder
from spotter.envs.spaces import encode_mask
from spotter.policy.actor_critic import Policy
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.training.training import Training

_LR: Final = 1e-3
_BATCH: Final = 64
_GAMES: Final = 20
"""Games with chance that the demonstration is played in."""


class Samples(NamedTuple):
    """Moments of a demonstration; the first axis is theirs."""

    obs: dict[str, Tensor]
    action: Tensor
    mask: Tensor | None

    def rows(self, rows: Tensor) -> "Samples":
        obs = {path: leaf[rows] for path, leaf in self.obs.items()}
        return Samples(obs, self.action[rows], None if self.mask is None else self.mask[rows])

    def placed(self, device: torch.device) -> "Samples":
        obs = {path: leaf.to(device) for path, leaf in self.obs.items()}
        mask = None if self.mask is None else self.mask.to(device)
        return Samples(obs, self.action.to(device), mask)


def imitate(training: "Training") -> str:
    """Clone as `env.demo` asks, and say what came of it; an empty text where it does not."""
    config, optimizer = training.config, training.algorithm.optimizer
    demo = config.env.demo
    if demo is None or not demo.clone:
        return ""
    if optimizer is None:
        raise UserError(
            f"env.demo.clone needs gradients, and {config.algo.name} has none; set env.demo.clone=0"
        )
    seeds = seeding.integers(config.seed, "imitation", 1 + _GAMES)
    samples, games = recorded(config.env, demo, seeds[1:])
    samples = samples.placed(training.device)
    clone(training.policy, optimizer, samples, demo.clone, seeds[0])
    with torch.no_grad():
        likely = training.policy.evaluate(*samples).log_prob.exp().mean().item()
    return (
        f"imitated {len(samples.action):,} actions in {demo.clone} passes, those of the "
        f"demonstration and of {games} of {_GAMES} games with chance in which they reached its "
        f"score too; their mean probability is {likely:.2f} now"
    )


def recorded(env: EnvConfig, demo: DemoConfig, seeds: list[int]) -> tuple[Samples, int]:
    """What is seen where each action is taken, and in how many games with chance it succeeds."""
    actions = demo.sequence
    with closing(EnvBuilder(env.as_explored()).build()) as instance:
        still, reached = _play(instance, Layout.of(instance), actions, demo.seed)
    if abs(reached - demo.score) > 1e-6 * abs(demo.score):
        raise UserError(
            f"env.demo.clone: through env.wrappers the demonstration scores {reached:g} instead of "
            f"{demo.score:g}, so its actions mean something else there; set env.demo.clone=0"
        )
    kept = [still, *_with_chance(env, demo, seeds)]
    return Samples(
        {path: _joined([game.obs[path] for game in kept]) for path in still.obs},
        _joined([game.action for game in kept]),
        None if still.mask is None else _joined([game.mask for game in kept]),
    ), len(kept) - 1


def _with_chance(env: EnvConfig, demo: DemoConfig, seeds: list[int]) -> Iterator[Buffers]:
    """Of games as training plays them, those in which the same actions reach the same score."""
    with closing(EnvBuilder(env.model_copy(update={"demo": None})).build()) as instance:
        layout = Layout.of(instance)
        for seed in seeds:
            game, reached = _play(instance, layout, demo.sequence, seed)
            if reached >= demo.score:
                yield game


def _play(
    instance: EnvInstance, layout: Layout, actions: list[int], seed: int
) -> tuple[Buffers, float]:
    """A game with these actions, and what it scores: nothing if it ends before they do."""
    fields = layout.fields(len(actions)).items()
    buffers = assemble({name: np.zeros(shape, dtype) for name, (shape, dtype) in fields})
    space: Any = instance.env.action_space
    buffers.action[...] = np.reshape(actions, buffers.action.shape) - int(space.start)
    obs, info = instance.env.reset(seed=seed)
    for row, action in enumerate(actions):
        instance.obs_codec.write(obs, buffers.obs, row)
        if buffers.mask is not None:
            buffers.mask[row] = encode_mask(info["action_mask"])
        obs, _, terminated, truncated, info = instance.env.step(action)
        if (terminated or truncated) and row + 1 < len(actions):
            return buffers, 0.0
    return buffers, instance.meter.score


def _joined(arrays: list[Any]) -> Tensor:
    return torch.as_tensor(np.concatenate(arrays))


def clone(policy: Policy, optimizer: Optimizer, samples: Samples, passes: int, seed: int) -> None:
    """Raise the probability of what was done; the optimizer's own memory stays as it is."""
    if policy.inputs.is_running:
        policy.observe(samples.obs)
    order, rule = torch.Generator().manual_seed(seed), Adam(optimizer.flat)
    count = len(samples.action)
    for _ in range(passes):
        shuffled = torch.randperm(count, generator=order)
        for start in range(0, count, _BATCH):
            some = samples.rows(shuffled[start : start + _BATCH].to(samples.action.device))
            optimizer.differentiate(-policy.evaluate(*some).log_prob.mean())
            with torch.no_grad():
                change = rule.change(optimizer.flat, optimizer.gradient)
                optimizer.flat.sub_(change, alpha=_LR)
    optimizer.gradient.zero_()
