"""What a rollout looks like: a few numbers for every update, a table of steps for a checkpoint."""

import csv
import io
from typing import Final

import torch
from torch import Tensor

from spotter import functional as F
from spotter.nets.actor_critic import Policy
from spotter.rollout import Rollout

COLUMNS: Final = (
    "copy", "step", "action", "probability", "reward", "cumulative", "return", "value",
    "advantage", "end",
)  # fmt: skip
"""Of the step table; `end` is terminated, truncated, lost or empty."""
_MOST_ROWS: Final = 2_000
_MOST_SHARES: Final = 32


def statistics(rollout: Rollout, policy: Policy) -> dict[str, float]:
    """Inputs, outputs and rewards of one rollout, by declared metric name."""
    batch = rollout.flatten(rollout.reward, rollout.reward)
    action = policy.spaces.action
    found = F.moments(action=batch.action.float())
    std, mean = torch.std_mean(batch.advantage, correction=0)  # the rewards; see flatten above
    found |= {"rollout/reward_mean": mean, "rollout/reward_std": std}
    numbers = [leaf.float().flatten() for leaf in batch.sample_obs().values()]
    found |= F.moments(obs=torch.cat(numbers))
    if action.kind == "box":
        found["policy/std"] = policy.policy_head.log_std.detach().exp().mean()
    else:
        found["policy/probability"] = batch.log_prob.exp().mean()
    if action.kind == "discrete" and action.nvec[0] <= _MOST_SHARES:
        shares = torch.bincount(batch.action, minlength=action.nvec[0]) / max(1, len(batch))
        found |= {f"action/share/{i}": share for i, share in enumerate(shares)}
    report = dict(zip(found, torch.stack(list(found.values())).tolist(), strict=True))
    lost = sum(stop - start for start, stop, _ in rollout.lost)
    report["rollout/lost"] = lost / (len(batch) + lost)
    return report


def table(rollout: Rollout, gamma: float, lam: float) -> str:
    """One line per step as CSV, copy after copy, up to a few thousand lines."""
    returns = F.discounted_returns(rollout.reward, rollout.next_value, rollout.episode_end, gamma)
    advantage = F.gae(
        rollout.reward, rollout.value, rollout.next_value, rollout.episode_end, gamma, lam
    )
    steps = min(rollout.steps, _MOST_ROWS)
    copies = min(rollout.count, max(1, _MOST_ROWS // steps))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for copy in range(copies):
        writer.writerows(_rows(rollout, copy, steps, returns, advantage))
    return text.getvalue()


def _rows(
    rollout: Rollout, copy: int, steps: int, returns: Tensor, advantage: Tensor
) -> list[tuple[object, ...]]:
    def column(x: Tensor) -> list[float]:
        values: list[float] = x[:steps, copy].tolist()
        return values

    ended, terminated = column(rollout.episode_end), column(rollout.terminated)
    valid = column(rollout.valid)
    lost = {t for start, stop, row in rollout.lost if row == copy for t in range(start, stop)}
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
        rows.append((copy, t, action, probability, rewards[t], cumulative, mc, value, gain, end))
        cumulative = 0.0 if ended[t] else cumulative
    return rows
