"""How good each decision of an episode was: returns and advantages, under any gamma and lambda.

Computed from what the algorithm would have been paid, as in training: an episode that terminated
has no future, one that was cut off goes on with what the critic expected.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spotter.traces.format import Array, Trace
from spotter.types import UserError

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """All [T]. Without a critic (`value` missing, as in a person's episode) values count as 0."""

    gamma: float
    lam: float
    returns: Doubles
    """Monte-Carlo: the discounted training reward from here on, bootstrapped if cut off."""
    gae: Doubles
    baseline: Doubles
    """Return minus value."""
    cumulative: Doubles
    """The score so far, this step included."""

    def columns(self) -> dict[str, Array]:
        """By name, for a table."""
        return {
            "cumulative": self.cumulative,
            "return": self.returns,
            "gae": self.gae,
            "baseline": self.baseline,
        }


def judged(trace: Trace, gamma: float | None = None, lam: float | None = None) -> Judged:
    """Returns and advantages; `gamma` and `lam` are the run's own unless given."""
    gamma = trace.meta.gamma if gamma is None else gamma
    lam = trace.meta.lam if lam is None else lam
    check(gamma, lam)
    columns = trace.columns
    score = columns["reward"].astype(np.float64)
    reward = (
        columns["training_reward"].astype(np.float64) if "training_reward" in columns else score
    )
    value = columns["value"].astype(np.float64) if "value" in columns else np.zeros(len(reward))
    after = 0.0 if trace.meta.end == "terminated" else trace.meta.final_value
    next_value = np.append(value[1:], after)
    delta = reward + gamma * next_value - value
    returns = _sums_to_go(reward, gamma, after)
    return Judged(
        gamma=gamma,
        lam=lam,
        returns=returns,
        gae=_sums_to_go(delta, gamma * lam, 0.0),
        baseline=returns - value,
        cumulative=score.cumsum(),
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
    """Steps that stand out, and why: the best and worst decisions, rare pay, unlikely picks.

    `each` bounds how many are named for every reason.
    """
    columns, why = trace.columns, dict[int, list[str]]()

    def name(steps: Array, reason: str) -> None:
        for step in steps[:each].tolist():
            why.setdefault(step, []).append(reason)

    surprise = found.gae - np.median(found.gae)
    limit = 2 * float(found.gae.std())
    by_surprise = np.argsort(surprise, kind="stable")
    worse, better = (surprise < -limit) & (found.gae < 0), (surprise > limit) & (found.gae > 0)
    name(by_surprise[worse[by_surprise]], "worse than expected")
    name(by_surprise[::-1][better[by_surprise[::-1]]], "better than expected")
    reward = columns["reward"]
    kinds, counts = np.unique(reward, return_counts=True)
    rare = np.isin(reward, kinds[counts < max(2, len(reward) // 10)])
    far = np.abs(reward - np.median(reward))
    by_far = np.argsort(-far, kind="stable")
    usual = float(np.ptp(np.percentile(reward, [10, 90])))
    name(by_far[(rare & (far > usual))[by_far]], "rare reward")
    if "greedy" in columns and "log_prob" in columns and not columns["greedy"].all():
        by_luck = np.argsort(columns["log_prob"], kind="stable")
        name(by_luck[~columns["greedy"][by_luck]], "unlikely pick")
    return {step: ", ".join(reasons) for step, reasons in sorted(why.items())}
