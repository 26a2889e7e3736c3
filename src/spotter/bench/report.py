"""Findings in words: rows for tables, sentences that say what to change, data for programs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spotter.bench.measure import STAGES, Ratio
from spotter.bench.run import Findings
from spotter.bench.trials import Trial
from spotter.text.numbers import count, plural, share

PROFILE_COLUMNS: Final = ("stage", "share", "µs per env step")
SPEED_COLUMNS: Final = ("speed", "env steps/s", "meaning")
TRIAL_COLUMNS: Final = ("change", "times as fast", "kind")
_DENSE: Final = 2.0
_REWARDS_WANTED: Final = 2
_LONGEST_ROLLOUT: Final = 4096
_HINTS: Final = {
    "env": "a cheaper environment: fewer wrappers, nothing rendered",
    "policy": "a smaller network (policy.hidden)",
    "transfer": "smaller observations",
    "learn": "fewer passes (algo.epochs) or a smaller network (policy.hidden)",
    "idle": "closing other programs",
}
_CAUTIONS: Final = {
    "native": "The native back-end cannot go back to where an episode was: a resumed run begins "
    "new ones.",
    "envpool": "EnvPool plays its own version of the environment, and a resumed run begins new "
    "episodes.",
}
_STAGE_NAMES: Final = {
    "env": "stepping the environments",
    "policy": "choosing actions",
    "transfer": "copying",
    "learn": "learning",
    "idle": "waiting",
}


def headline(address: str, findings: Findings) -> str:
    """What was measured, and on what."""
    present, config = findings.present, findings.config
    chosen = "" if config.env.backend == present.backend else f"{config.env.backend}: "
    return (
        f"{address}: {config.env.count} envs ({chosen}{present.backend}), "
        f"{present.threads} of {present.cores} threads, {present.device}"
    )


def profile_rows(findings: Findings) -> list[list[str]]:
    profile = findings.profile
    return [
        [stage, share(profile.share(stage)), f"{profile.microseconds(stage):.1f}"]
        for stage in STAGES
    ]


def speed_rows(findings: Findings) -> list[list[str]]:
    profile, limits = findings.profile, findings.limits
    reached = share(profile.rate / limits.bound)
    return [
        ["achieved", _rate(profile.rate), f"over {count(profile.updates)} updates"],
        ["environments alone", _rate(limits.env_rate), "same envs, random actions"],
        ["learning alone", _rate(limits.learn_rate), "same rollout again and again"],
        ["bound", _rate(limits.bound), f"one after the other; {reached} of it is achieved"],
    ]


def trial_rows(findings: Findings) -> list[list[str]]:
    """The fastest first; what could not be measured comes last, with the reason."""
    ranked = sorted(findings.trials, key=lambda trial: -trial.gain)
    rows = [[trial.change.label, _outcome(trial), _kind(trial.change.free)] for trial in ranked]
    return [*rows, *([c.label, "not tried: no time", _kind(c.free)] for c in findings.not_tried)]


def _outcome(trial: Trial) -> str:
    return ratio(trial.ratio) if trial.ratio else f"cannot: {trial.problem}"


def ratio(value: Ratio) -> str:
    return f"{value.median:.2f} ± {value.spread:.2f}"


def _kind(free: bool) -> str:
    return "free" if free else "changes learning"


def _rate(value: float) -> str:
    return count(round(value))


def advice(findings: Findings) -> Iterator[str]:
    """What to change, in sentences."""
    stage = findings.profile.bottleneck
    spent = share(findings.profile.share(stage))
    yield f"Most of the time goes into {_STAGE_NAMES[stage]} ({spent})."
    free, altering = findings.free, findings.learning
    if free and free.ratio:
        gain = ratio(free.ratio)
        yield f"Set {free.change.label}: {gain} times as fast, and learning stays the same."
        if caution := _CAUTIONS.get(free.change.settings.get("env.backend", "")):
            yield caution
    else:
        yield "No free change was faster beyond doubt."
    if altering and altering.ratio:
        gain = ratio(altering.ratio)
        yield (
            f"{altering.change.label} is {gain} times as fast but changes learning: "
            "compare scores before you keep it."
        )
    if not (free or altering):
        yield f"What else would help: {_HINTS[stage]}."
    if findings.not_tried:
        left = len(findings.not_tried)
        verb = "was" if left == 1 else "were"
        yield f"{plural(left, 'change')} {verb} not tried; give it more --seconds."
    yield from (sentence for sentence in [rollout_length(findings).sentence] if sentence)


@dataclass(frozen=True)
class RolloutLength:
    """`algo.steps` seen from the rewards; a proposal, never applied."""

    sentence: str = ""
    steps: int | None = None
    """What is proposed; None to leave it as it is."""


def rollout_length(findings: Findings) -> RolloutLength:
    """Long enough for every env to be rewarded twice."""
    config, limits = findings.config, findings.limits
    steps, gap = config.algo.own("steps"), limits.steps_between_rewards
    if steps is None or config.reward.signals:
        return RolloutLength()  # whole episodes; or signals that reward in between
    if gap is None:
        return RolloutLength(
            f"Random actions earned nothing in {count(limits.random_steps)} env steps, so rewards "
            "cannot say how long a rollout should be."
        )
    if gap < _DENSE:
        return RolloutLength()
    seen = f"With random actions an env is rewarded once in {gap:,.0f} steps"
    if steps >= _REWARDS_WANTED * gap:
        return RolloutLength(f"{seen}: algo.steps={steps} is long enough for that.")
    wanted: int = steps * math.ceil(_REWARDS_WANTED * gap / steps)  # minibatches still divide it
    if wanted > _LONGEST_ROLLOUT:
        return RolloutLength(
            f"{seen}: no rollout is long enough for that; shape the reward, or rely on the critic "
            "with algo.gamma and algo.lambda close to 1."
        )
    return RolloutLength(
        f"{seen}: algo.steps={wanted} instead of {steps} would show each env "
        f"{_REWARDS_WANTED} of them per rollout (a proposal; it changes learning).",
        wanted,
    )


def as_data(address: str, findings: Findings) -> dict[str, object]:
    """For programs; rates in env steps per second."""
    profile, limits, present = findings.profile, findings.limits, findings.present
    proposal = rollout_length(findings)
    return {
        "address": address,
        "present": {
            "count": findings.config.env.count,
            "backend": present.backend,
            "threads": present.threads,
            "device": present.device,
            "cores": present.cores,
        },
        "profile": {
            "rate": profile.rate,
            "updates_per_s": 1 / profile.update_s,
            "updates": profile.updates,
            "share": {stage: profile.share(stage) for stage in STAGES},
            "us_per_env_step": {stage: profile.microseconds(stage) for stage in STAGES},
        },
        "limits": {
            "env_rate": limits.env_rate,
            "learn_rate": limits.learn_rate,
            "bound": limits.bound,
            "achieved": profile.rate / limits.bound,
        },
        "trials": [_trial_data(trial) for trial in findings.trials],
        "not_tried": [change.label for change in findings.not_tried],
        "rollout": {
            "steps_between_rewards": limits.steps_between_rewards,
            "proposed_steps": proposal.steps,
        },
        "best": {
            "free": _settings(findings.free),
            "learning": _settings(findings.learning),
        },
        "advice": list(advice(findings)),
    }


def _settings(trial: Trial | None) -> dict[str, object] | None:
    return dict(trial.change.settings) if trial else None


def _trial_data(trial: Trial) -> dict[str, object]:
    found = trial.ratio
    measured = {"ratio": found.median, "low": found.low, "high": found.high} if found else {}
    problem = {"problem": trial.problem} if trial.problem else {}
    return {
        "settings": dict(trial.change.settings),
        "free": trial.change.free,
        "faster": trial.is_faster,
        **measured,
        **problem,
    }
