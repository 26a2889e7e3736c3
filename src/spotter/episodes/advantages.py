"""How good each decision of an episode was: returns and advantages, under any gamma and lambda.

Computed from the learner's reward, as in training: an episode that terminated
has no future, one that was truncated is bootstrapped with the critic's value.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spotter.episodes.format import Array, Trace
from spotter.types import UserError

Doubles = npt.NDArray[np.float64]
_FAR_BEHIND: Final = math.log(4)  # a quarter as likely as the likeliest


@dataclass(frozen=True)
class Judged:
    """All [T]. Where a run has a critic but the episode has no `value`, values count as 0."""

    gamma: float
    lam: float | None
    """None where advantages are returns minus a baseline, which knows no lambda."""
    returns: Doubles
    """Monte-Carlo: the discounted training reward from here on, bootstrapped if cut off."""
    advantage: Doubles
    """How much better it went than expected: by the critic, as a generalised advantage estimate;
    by a run without one, its return minus the baseline."""
    score: Doubles
    """So far, this step included."""
    return_minus_value: Doubles | None = None
    """None without a critic."""
    baseline: float | None = None
    """What was taken from every return; None with a critic."""
    method: str = ""
    """How advantages were computed, as the end of a sentence."""

    def columns(self) -> dict[str, Array]:
        """By name, for a table."""
        found = {"score": self.score, "return": self.returns, "advantage": self.advantage}
        if self.return_minus_value is not None:
            found["return_minus_value"] = self.return_minus_value
        return found


def judged(trace: Trace, gamma: float | None = None, lam: float | None = None) -> Judged:
    """Returns and advantages; `gamma` and `lam` are the run's own unless given."""
    check(gamma, lam)
    gamma = trace.meta.gamma if gamma is None else gamma
    lam = trace.meta.lam if lam is None else lam
    columns = trace.columns
    score = columns["reward"].astype(np.float64)
    reward = (
        columns["training_reward"].astype(np.float64) if "training_reward" in columns else score
    )
    if trace.meta.baseline != "value":
        return _without_critic(trace, gamma, reward, score.cumsum())
    value = columns["value"].astype(np.float64) if "value" in columns else np.zeros(len(reward))
    after = 0.0 if trace.meta.end == "terminated" else trace.meta.final_value
    next_value = np.append(value[1:], after)
    delta = reward + gamma * next_value - value
    returns = _sums_to_go(reward, gamma, after)
    return Judged(
        gamma=gamma,
        lam=lam,
        returns=returns,
        advantage=_sums_to_go(delta, gamma * lam, 0.0),
        score=score.cumsum(),
        return_minus_value=returns - value,
        method=f"returns and advantages with gamma {gamma:g}, lambda {lam:g}",
    )


def _without_critic(trace: Trace, gamma: float, reward: Doubles, score: Doubles) -> Judged:
    """Returns minus the baseline the algorithm used; nothing is bootstrapped."""
    meta = trace.meta
    returns = _sums_to_go(reward, gamma, 0.0)
    credited = np.full_like(returns, returns[0]) if meta.credit == "episode" else returns
    baseline, what = 0.0, "nothing"
    if meta.baseline == "mean" and meta.baseline_mean is not None and gamma == meta.gamma:
        baseline, what = meta.baseline_mean, "the mean return of its update"
    elif meta.baseline == "mean":  # of another gamma, or not known: returns of its own kind
        baseline, what = float(credited.mean()), "the mean return of this episode"
    return Judged(
        gamma=gamma,
        lam=None,
        returns=returns,
        advantage=credited - baseline,
        score=score,
        baseline=baseline,
        method=f"returns with gamma {gamma:g}; advantages are "
        f"{'returns of the episode' if meta.credit == 'episode' else 'returns'} minus "
        + (f"{baseline:.4g}, {what}" if baseline else what)
        + " (no critic)",
    )


def check(gamma: float | None, lam: float | None) -> None:
    for name, number in (("gamma", gamma), ("lambda", lam)):
        if number is not None and not 0 <= number <= 1:
            raise UserError(f"{name} must be from 0 to 1, not {number:g}")


def _sums_to_go(x: Doubles, decay: float, after: float) -> Doubles:
    """y[t] = x[t] + decay · y[t+1]."""
    sums = np.empty_like(x)
    running = after
    for t in range(len(x) - 1, -1, -1):
        running = x[t] + decay * running
        sums[t] = running
    return sums


def notable(trace: Trace, found: Judged, each: int = 4) -> dict[int, str]:
    """Steps that stand out, and why: the best and worst decisions, rare rewards, unlikely actions.

    `each` bounds how many are named for every reason.
    """
    columns, why = trace.columns, dict[int, list[str]]()

    def name(steps: Array, reason: str) -> None:
        for step in steps[:each].tolist():
            why.setdefault(step, []).append(reason)

    advantage = found.advantage
    surprise = advantage - np.median(advantage)
    limit = 2 * float(advantage.std())
    by_surprise = np.argsort(surprise, kind="stable")
    worse, better = (surprise < -limit) & (advantage < 0), (surprise > limit) & (advantage > 0)
    name(by_surprise[worse[by_surprise]], "worse than expected")
    name(by_surprise[::-1][better[by_surprise[::-1]]], "better than expected")
    reward = columns["reward"]
    kinds, counts = np.unique(reward, return_counts=True)
    rare = np.isin(reward, kinds[counts < max(2, len(reward) // 10)])
    far = np.abs(reward - np.median(reward))
    by_far = np.argsort(-far, kind="stable")
    usual = float(np.ptp(np.percentile(reward, [10, 90])))
    name(by_far[(rare & (far > usual))[by_far]], "rare reward")
    if "greedy" in columns and "log_prob" in columns:
        by_luck = np.argsort(columns["log_prob"], kind="stable")
        unlikely = ~columns["greedy"] & (_behind(trace) > _FAR_BEHIND)
        name(by_luck[unlikely[by_luck]], "unlikely pick")
    return {step: ", ".join(reasons) for step, reasons in sorted(why.items())}


def _behind(trace: Trace) -> Doubles:
    """How far, in log-probability per part of an action, what was done is behind the likeliest."""
    columns, meta = trace.columns, trace.meta
    if "std" in columns:
        off = (columns["action"] - columns["mean"]) / columns["std"]
        behind: Doubles = (off.reshape(meta.length, -1) ** 2).mean(1) / 2
        return behind
    if "probability" not in columns:
        return np.zeros(meta.length)
    p = columns["probability"].astype(np.float64)
    if meta.action_kind == "binary":
        best = np.maximum(p, 1 - p)
    elif meta.action_kind == "multi_discrete":
        parts = np.split(p, np.cumsum(meta.nvec)[:-1], axis=1)
        best = np.stack([part.max(1) for part in parts], 1)
    else:
        best = p.max(1, keepdims=True)
    behind = (np.log(best).sum(1) - columns["log_prob"]) / best.shape[1]
    return behind
