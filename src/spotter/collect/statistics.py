"""What a rollout looks like: a few numbers for every update, a table of steps for a checkpoint."""

import csv
import io
from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt
from torch import Tensor

from spotter.engines import functional as F
from spotter.engines import objectives as maths
from spotter.policy.actor_critic import Policy
from spotter.policy.core import Cells
from spotter.rollouts.rollout import Arrays, Batch, Block, Rollout
from spotter.types import ActionSpec, Array

COLUMNS: Final = (
    "copy", "step", "action", "probability", "reward", "cumulative", "return", "value",
    "advantage", "end",
)  # fmt: skip
"""Of the step table; `end` is terminated, truncated, lost or empty."""
_MOST_ROWS: Final = 2_000
_MOST_SHARES: Final = 32
"""Choices of all components together."""
_MOST_COMPONENTS: Final = 32
_MOST_NUMBERS: Final = 50_000
_AT_BOUNDS: Final = 0.99
"""Of ±1, where a tanh has no gradient to speak of."""


def statistics(rollout: Rollout, policy: Policy) -> dict[str, float]:
    """Inputs, outputs and rewards of one rollout, by declared metric name."""
    batch = _samples(rollout.arrays()) if rollout.has_arrays else _samples(rollout)
    action = policy.spaces.action
    taken, reward = _array(batch.action), _array(batch.advantage)  # see _samples
    report = maths.moments(action=taken.astype(np.float32), reward=reward)
    report["rollout/reward_mean"] = report.pop("reward/mean")
    report["rollout/reward_std"] = report.pop("reward/std")
    report |= maths.moments(obs=_some_numbers(batch))
    if action.kind == "box":
        std = np.exp(_array(policy.policy_head.log_std))
        report["policy/std"] = maths.mean(std)
        report["action/outside"] = float(np.mean(np.abs(taken) > 1))
        report |= _by_component("policy/std", std)
    else:
        report["policy/probability"] = maths.mean(np.exp(_array(batch.log_prob)))
    report |= _shares(taken, action)
    if taken.ndim == 2:
        report |= _by_component("action/mean", taken.mean(axis=0))
        report |= _by_component("action/std", taken.std(axis=0))
    report |= _variety(batch) | _saturation(rollout, policy)
    lost = sum(stop - start for start, stop, _ in rollout.lost)
    report["rollout/lost"] = lost / (len(batch) + lost)
    return report


def _saturation(rollout: Rollout[Tensor], policy: Policy) -> dict[str, float]:
    """How much of what a core held before the rollout was at its bounds; the worse of two cores.

    Of envs whose episode began there is nothing to say, nor of cores that have no bounds.
    """
    if policy.memory is None or not isinstance(policy.memory.actor, Cells):
        return {}
    held = [_array(part) for part in policy.memory.hidden(rollout.state)]
    held = [x[np.any(x != 0, axis=tuple(range(1, x.ndim)))] for x in held]
    shares = [float(np.mean(np.abs(x) > _AT_BOUNDS)) for x in held if x.size]
    return {"core/saturated": max(shares)} if shares else {}


def _samples(rollout: Rollout[Block]) -> Batch[Block]:
    """With rewards for advantages."""
    return rollout.flatten(rollout.reward, rollout.reward)


def _shares(taken: Array, action: ActionSpec) -> dict[str, float]:
    """Of every choice, of each component where there are several; none where they are too many."""
    if not action.nvec or sum(action.nvec) > _MOST_SHARES:
        return {}
    columns = taken.reshape(len(taken), -1).T
    names = [f"/{i}" for i in range(len(columns))] if len(columns) > 1 else [""]
    shares: dict[str, float] = {}
    for name, column, choices in zip(names, columns, action.nvec, strict=True):
        counts = np.bincount(column, minlength=choices) / max(1, len(column))
        shares |= {f"action/share{name}/{i}": float(n) for i, n in enumerate(counts)}
    return shares


def _by_component(name: str, values: Array) -> dict[str, float]:
    if not 1 < len(values) <= _MOST_COMPONENTS:
        return {}
    return {f"{name}/{i}": float(value) for i, value in enumerate(values)}


def _array(x: Tensor | Arrays) -> Array:
    if isinstance(x, np.ndarray):
        return x
    array: Array = x.detach().cpu().numpy()
    return array


def _variety(batch: Batch[Tensor] | Batch[Arrays]) -> dict[str, float]:
    """How different the samples are: parallel envs that play alike bring less than they cost.

    Equal observations with equal actions count as one. With counts c the effective share is
    (Σ c)² / (Σ c² · samples): 1 if all differ, 1 / samples if all are the same.
    """
    leaves = [_array(leaf) for leaf in batch.sample_obs().values()]
    rows = len(leaves[0])
    stride = -(-len(batch) // rows)  # as `sample_obs` takes them
    parts = [np.ascontiguousarray(x) for x in (*leaves, _array(batch.action)[::stride])]
    table = np.concatenate([x.reshape(rows, -1).view(np.uint8) for x in parts], axis=1)
    whole_rows = np.ascontiguousarray(table).view(f"V{table.shape[1]}")
    counts = np.array([*Counter(whole_rows.ravel().tolist()).values()])
    effective = rows / float(np.square(counts).sum())
    return {"rollout/distinct": len(counts) / rows, "rollout/effective": effective}


def _some_numbers(batch: Batch[Tensor] | Batch[Arrays]) -> npt.NDArray[np.float32]:
    """Numbers of all observations, spread evenly; images have more than anybody need look at."""
    found = []
    for leaf in batch.sample_obs().values():
        flat = leaf.reshape(-1)
        some = flat[:: max(1, len(flat) // _MOST_NUMBERS)]
        found.append(_array(some).astype(np.float32))
    return np.concatenate(found)


def table(
    rollout: Rollout, gamma: float, lam: float, baseline: str = "value", credit: str = "to_go"
) -> str:
    """One line per step as CSV, env after env, up to a few thousand lines.

    `baseline` and `credit` as the algorithm has them; without a critic `value` is empty.
    """
    has_critic = baseline == "value"
    bootstrap = rollout.next_value * has_critic
    returns = F.discounted_returns(rollout.reward, bootstrap, rollout.episode_end, gamma)
    if has_critic:
        advantage = F.gae(
            rollout.reward, rollout.value, rollout.next_value, rollout.episode_end, gamma, lam
        )
    else:
        whole = credit == "episode"
        advantage = F.episode_returns(returns, rollout.episode_end) if whole else returns
        if baseline == "mean":
            advantage = advantage - advantage[rollout.valid].mean()
    steps = min(rollout.steps, _MOST_ROWS)
    envs = min(rollout.count, max(1, _MOST_ROWS // steps))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for env in range(envs):
        writer.writerows(_rows(rollout, env, steps, returns, advantage, has_critic))
    return text.getvalue()


def _rows(
    rollout: Rollout,
    env: int,
    steps: int,
    returns: Tensor,
    advantage: Tensor,
    has_critic: bool,
) -> list[tuple[object, ...]]:
    def column(x: Tensor) -> list[float]:
        values: list[float] = x[:steps, env].tolist()
        return values

    ended, terminated = column(rollout.episode_end), column(rollout.terminated)
    valid = column(rollout.valid)
    lost = {t for start, stop, row in rollout.lost if row == env for t in range(start, stop)}
    rewards = column(rollout.reward)
    rows: list[tuple[object, ...]] = []
    cumulative = 0.0
    for t, (action, probability, value, mc, gain) in enumerate(
        zip(
            column(rollout.action),
            column(rollout.log_prob.exp()),
            column(rollout.value),
            column(returns),
            column(advantage),
            strict=True,
        )
    ):
        if not valid[t] and t not in lost:
            continue  # had played its share and stood still
        cumulative += rewards[t]
        end = ("terminated" if terminated[t] else "truncated") if ended[t] else ""
        end = "lost" if t in lost else end
        known = value if has_critic else ""
        rows.append((env, t, action, probability, rewards[t], cumulative, mc, known, gain, end))
        cumulative = 0.0 if ended[t] else cumulative
    return rows
