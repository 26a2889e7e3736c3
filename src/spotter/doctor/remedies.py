"""The first change to try for an alert that no rule explains, computed from the run's settings."""

from collections.abc import Callable
from typing import Final

from spotter.doctor.case import Case
from spotter.doctor.changes import more_entropy, number, scaled, to, whole


def _smaller_rewards(case: Case) -> str:
    size = max(10.0, abs(case.late("return/mean")), case.late("return/std"))
    return to("reward.scale", number(case.number("reward.scale", 1.0) * 10 / size))


def _lower_lr(case: Case) -> str:
    return scaled(case, "algo.lr", 0.3)


def _raise_lr(case: Case) -> str:
    return scaled(case, "algo.lr", 3.0)


_REMEDIES: Final[dict[str, Callable[[Case], str]]] = {
    "not-finite": lambda case: scaled(case, "algo.lr", 0.1),
    "stuck-counter": lambda case: to("env.backend", "sync"),
    "samples-lost": lambda case: to("env.timeout_s", 2 * case.number("env.timeout_s", 300.0)),
    "initial-action-mean": lambda case: to("policy.normalize_obs", "running"),
    "initial-action-std": lambda case: to("policy.normalize_obs", "running"),
    "score-falling": _lower_lr,
    "score-flat": more_entropy,
    "reward-without-score": lambda case: to("reward.signals", []),
    "eval-below-train": lambda case: to("eval.deterministic", False),
    "entropy-collapse": more_entropy,
    "action-std-collapse": more_entropy,
    "action-std-explosion": lambda case: to("policy.squash", True),
    "kl-high": _lower_lr,
    "kl-low": _raise_lr,
    "kl-disagreement": _lower_lr,
    "clip-high": _lower_lr,
    "clip-low": _raise_lr,
    "explained-variance-low": lambda case: to("policy.normalize_values", True),
    "gradient-explosion": _smaller_rewards,
    "dead-units": lambda case: to("policy.norm", "layer"),
    "fps-drop": lambda case: to("env.count", whole(case.number("env.count", 1.0) / 2)),
}


def remedy(case: Case, alert: str) -> tuple[str, ...]:
    """Empty where no setting is at fault, or the run's settings cannot be read."""
    change = _REMEDIES.get(alert)
    return (change(case),) if change and case.config is not None else ()
