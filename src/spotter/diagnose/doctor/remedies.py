"""The first change to try for an alert that no rule explains, computed from the run's settings."""

from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import number, scaled, to, whole


def smaller_rewards(case: Case) -> str:
    size = max(10.0, abs(case.late("return/mean")), case.late("return/std"))
    return to("reward.scale", number(case.number("reward.scale", 1.0) * 10 / size))


def lower_lr(case: Case) -> str:
    return scaled(case, "algo.lr", 0.3)


def raise_lr(case: Case) -> str:
    return scaled(case, "algo.lr", 3.0)


def running_obs(case: Case) -> str:
    return to("policy.normalize_obs", "running")


def sampled(case: Case) -> str:
    return to("eval.deterministic", False)


def more_patience(case: Case) -> str:
    return to("env.timeout_s", 2 * case.number("env.timeout_s", 300.0))


def fewer_envs(case: Case) -> str:
    return to("env.count", whole(case.number("env.count", 1.0) / 2))
