"""Whether a run fits into memory and an update into an hour, before anything is allocated.

Every figure is a lower bound, so what is refused here cannot work; what passes may still be too
much for a busy machine. Figures per env and per minibatch were measured with the leanest back-end.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import torch
from torch import nn

from spotter.config import PolicyConfig, RunConfig
from spotter.policy.actor_critic import Policy
from spotter.system import machine
from spotter.types import Leaf, Spaces, UserError

_BATCHED_ENV_BYTES, _ENV_BYTES = 3_000, 8_000  # of CartPole, stepped together or one by one
_WORKER_BYTES: Final = 40e6  # a Python process with NumPy and Gymnasium
_EPISODE_BYTES: Final = 400  # scores, lengths and seeds of one evaluation episode
_STEP_S: Final = 1e-7  # per env step, acting included
_MINIBATCH_S: Final = 5e-5  # one gradient step of the smallest network
_FLOPS: Final = {"cuda": 1e15}  # per second; other devices have fewer than 1e13
_LONGEST_UPDATE_S: Final = 3600.0
"""A run is shown, saved and stopped between updates only."""
_NUMBER_BYTES: Final = 4
_OUTCOME_BYTES: Final = 4 * _NUMBER_BYTES + 3  # log_prob, value, reward, next_value; three flags
_MOMENTS: Final = {"adam": 2, "adamw": 2, "rmsprop": 1, "sgd": 0}
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def check_envs(config: RunConfig, backend: str) -> None:
    """Refuse what is too much whatever the environment: call it before envs are built."""
    env, have = config.env, _memory()
    each = _BATCHED_ENV_BYTES if backend == "batch" else _ENV_BYTES
    workers = min(env.workers or machine.cores(), env.count) if backend == "process" else 0
    if workers * _WORKER_BYTES > have:
        most = _down(have / _WORKER_BYTES)
        raise _too_large(f"env.workers={workers:,}", workers * _WORKER_BYTES, have, most)
    if env.count * each > have:
        raise _too_large(f"env.count={env.count:,}", env.count * each, have, _down(have / each))
    _check_rollout(config, _OUTCOME_BYTES, have)
    _check_time(config)
    check_episodes(config.eval.most_episodes)
    if config.eval.env_steps is not None:  # an episode has a step at least
        check_episodes(config.eval.env_steps, "eval.env_steps")


def check_episodes(episodes: int, setting: str = "eval.episodes") -> None:
    """Refuse an evaluation whose results would not fit."""
    have, need = _memory(), episodes * _EPISODE_BYTES
    if need > have:
        raise _too_large(f"{setting}={episodes:,}", need, have, _down(have / _EPISODE_BYTES))


def check_learning(
    config: RunConfig,
    spaces: Spaces,
    depths: Mapping[str, int] = MappingProxyType({}),
    device: torch.device | None = None,
) -> None:
    """Refuse networks and rollouts that are too large: call it before they are allocated.

    `depths`: leaves that are stacks of images, which a rollout stores once each.
    """
    have = _memory(device)
    observation = sum(_bytes(leaf) / depths.get(p, 1) for p, leaf in spaces.observation.items())
    action = math.prod(spaces.action.shape) * np.dtype(spaces.action.dtype).itemsize
    _check_rollout(config, observation + action + _OUTCOME_BYTES, have)
    parameters, activations = _network(spaces, config.policy)
    work = config.algo.work(config.env.count)
    optimizer = parameters * _NUMBER_BYTES * (2 + _MOMENTS[config.algo.optimizer])
    _check_network(config.policy, parameters, optimizer, have)
    need = optimizer + work.minibatch * activations * _NUMBER_BYTES
    if need > have:
        what = f"a minibatch of {work.minibatch:,} samples through {_hidden(config.policy)}"
        raise UserError(f"{_needs(what, need, have)}; lower algo.minibatch or policy.hidden")
    samples = config.env.count * work.vector_steps * work.passes
    flops = _FLOPS.get(device.type if device else "cpu", 1e13)
    seconds = 6 * parameters * samples / flops  # forward, and twice that backward
    if seconds > _LONGEST_UPDATE_S:
        what = f"{samples:,.0f} samples through {parameters:,} parameters"
        raise _too_slow(what, seconds, f"lower {work.setting}, env.count or policy.hidden")


def check_network(config: PolicyConfig, spaces: Spaces) -> None:
    """Refuse a network that is too large even to act."""
    parameters, _ = _network(spaces, config)
    _check_network(config, parameters, parameters * _NUMBER_BYTES, _memory())


def _check_network(config: PolicyConfig, parameters: float, need: float, have: float) -> None:
    if need > have:
        if not math.isfinite(parameters):
            raise UserError(f"{_hidden(config)} has more weights than can be counted; lower it")
        what = f"{_hidden(config)}, a network of {parameters:,} parameters,"
        raise UserError(f"{_needs(what, need, have)}; lower its widths")


def _check_rollout(config: RunConfig, sample_bytes: float, have: float) -> None:
    count, work = config.env.count, config.algo.work(config.env.count)
    rollouts = 2 if config.algo.overlaps else 1
    need = rollouts * count * work.vector_steps * sample_bytes
    if need > have:
        most = _down(have / (rollouts * count * sample_bytes))
        remedy = f"lower {work.setting} to {most:,} or less" if most else "lower env.count"
        raise UserError(f"{_needs(f'a rollout of {_product(config)}', need, have)}; {remedy}")


def _check_time(config: RunConfig) -> None:
    work = config.algo.work(config.env.count)
    samples = config.env.count * work.vector_steps
    collecting = samples * _STEP_S
    if collecting > _LONGEST_UPDATE_S:
        raise _too_slow(_product(config), collecting, f"lower {work.setting} or env.count")
    minibatches = math.ceil(samples / work.minibatch)
    learning = work.passes * minibatches * _MINIBATCH_S
    if learning > _LONGEST_UPDATE_S:
        what = f"{work.passes:,.0f} passes over a rollout in {minibatches:,} parts"
        most = max(1, _down(_LONGEST_UPDATE_S / (minibatches * _MINIBATCH_S)))
        raise _too_slow(what, learning, f"lower algo.epochs to {most:,} or less")


def _product(config: RunConfig) -> str:
    count, work = config.env.count, config.algo.work(config.env.count)
    return f"env.count × {work.setting} = {count:,} × {work.vector_steps:,} samples"


def _memory(device: torch.device | None = None) -> float:
    """Bytes available; infinite where unknown."""
    if device is not None and device.type == "cuda":
        return float(torch.cuda.get_device_properties(device).total_memory)
    return float(machine.memory_bytes() or math.inf)


def _bytes(leaf: Leaf) -> int:
    return math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize


def _network(spaces: Spaces, config: PolicyConfig) -> tuple[float, int]:
    """Parameters of a network, and numbers per sample that its linear layers hand on."""
    plain = config.model_copy(update={"orthogonal": False})
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):  # shapes without memory
            policy = Policy(spaces, plain)
    except (RuntimeError, OverflowError) as error:
        if "overflow" in str(error).lower():
            return math.inf, 0
        raise
    layers = [layer for layer in policy.modules() if isinstance(layer, nn.Linear)]
    parameters = sum(tensor.numel() for tensor in policy.parameters())
    return parameters, sum(layer.out_features for layer in layers)


def _hidden(config: PolicyConfig) -> str:
    core = f", policy.core {config.core.name}" if config.core is not None else ""
    return f"policy.hidden={list(config.hidden) if config.hidden is not None else 'null'}{core}"


def _needs(what: str, need: float, have: float) -> str:
    return f"{what} needs at least {_size(need)} of memory, and there are {_size(have)}"


def _too_large(setting: str, need: float, have: float, most: int) -> UserError:
    name = setting.partition("=")[0]
    return UserError(f"{_needs(setting, need, have)}; lower {name} to {most:,} or less")


def _too_slow(what: str, seconds: float, remedy: str) -> UserError:
    return UserError(
        f"{what} in one update take at least {seconds / 3600:,.0f} hours, and a run can be shown, "
        f"saved and stopped only between updates; {remedy}"
    )


def _down(value: float) -> int:
    """Two digits are enough for an estimate."""
    if value < 100 or not math.isfinite(value):
        return int(min(value, 1e15))
    unit = 10 ** (int(math.log10(value)) - 1)
    return int(value // unit * unit)


def _size(count: float) -> str:
    """`23.5 GB`."""
    power = 0
    while count >= 1000 and power < len(_UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{count:,.3g} {_UNITS[power]}" if count < 1000 else f"{count:,.0f} {_UNITS[power]}"
