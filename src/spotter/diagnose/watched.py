"""Alerts that the doctor only repeats: what each reads, when it speaks, what it advises.

Those that it judges for itself as well stand in rules.py.
"""

from collections.abc import Callable
from typing import Any, Final

from spotter.diagnose import judges
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import more_entropy, to
from spotter.diagnose.doctor.found import About
from spotter.diagnose.doctor.remedies import (
    fewer_envs,
    lower_lr,
    more_patience,
    raise_lr,
    running_obs,
    smaller_rewards,
)  # fmt: skip
from spotter.diagnose.facts import moves_by_clipping, starts_uniform
from spotter.diagnose.rule import Level, Online, Rule

AT_ONCE: Final[dict[str, Any]] = {"clock": "row", "rise": 1, "fall": 1}
_KL: Final = "policy/approx_kl"
_CLIPPED: Final = "policy/clip_fraction"
_CENTRED: Final = "lower policy.policy_gain, keep policy.orthogonal on, set policy.normalize_obs"


def _watched(
    id: str,
    level: Level,
    online: Online,
    remedy: Callable[[Case], str] | None = None,
    about: About = "learning",
) -> Rule:
    """An alert that the doctor only repeats."""
    return Rule(id, level, about, None, online=online, remedy=remedy)


WATCHED: Final = (
    _watched("out-of-bounds", "critical", Online(
        judges.out_of_bounds,
        "this is a bug in the environment, a plug-in or Spotter, not in your settings: report it",
        **AT_ONCE,
    )),
    _watched("stuck-counter", "critical", Online(
        judges.stuck_counter,
        "this is a bug in the environment back-end or in Spotter: try env.backend=sync and report "
        "it", **AT_ONCE,
    ), lambda case: to("env.backend", "sync")),
    _watched("samples-lost", "warning", Online(
        judges.samples_lost,
        "read the faults in events.jsonl and fix the environment; raise env.timeout_s if it is "
        "only slow", ("rollout/lost",),
    ), more_patience),
    _watched("initial-action-mean", "warning", Online(
        judges.initial_action_mean, _CENTRED, clock="row", rise=1, fall=10, applies=starts_uniform,
    ), running_obs),
    _watched("initial-action-std", "warning", Online(
        judges.initial_action_std, _CENTRED, clock="row", rise=1, fall=10, applies=starts_uniform,
    ), running_obs),
    _watched("score-falling", "warning", Online(
        judges.score_falling,
        "lower algo.lr or let it fade by a schedule; set algo.target_kl; fewer algo.epochs",
        clock="curve", rise=3,
    ), lower_lr),
    _watched("score-flat", "info", Online(
        judges.score_flat,
        "look at the other alerts first; then raise algo.entropy, algo.gamma or env.count, or "
        "shape the reward", clock="curve", rise=3,
    ), more_entropy),
    _watched("reward-without-score", "warning", Online(
        judges.reward_without_score,
        "lower the weight in reward.signals, let it fade by a schedule, or make it a potential",
        clock="curve", rise=3, applies=lambda facts: facts.shaped,
    ), lambda case: to("reward.signals", [])),
    _watched("action-std-collapse", "warning", Online(
        judges.action_std_collapse, "raise algo.entropy, lower algo.lr, or set reward.normalize",
        ("policy/std",), applies=lambda facts: facts.action_kind == "box",
    ), more_entropy),
    _watched("action-std-explosion", "warning", Online(
        judges.action_std_explosion,
        "lower algo.entropy and algo.lr; lower policy.log_std, or set policy.squash",
        ("policy/std",), applies=lambda facts: facts.action_kind == "box",
    ), lambda case: to("policy.squash", True)),
    _watched("kl-high", "warning", Online(
        judges.kl_high, "lower algo.lr, set algo.target_kl, or take fewer algo.epochs", (_KL,),
    ), lower_lr),
    _watched("kl-low", "warning", Online(
        judges.kl_low,
        "raise algo.lr; if grad/norm is far above algo.max_grad_norm, set reward.scale or "
        "policy.normalize_values", (_KL, "hp/algo.lr"), rise=3, applies=moves_by_clipping,
    ), raise_lr),
    _watched("kl-disagreement", "info", Online(
        judges.kl_disagreement, "lower algo.lr: a few samples carry most of the update",
        ("policy/kl", _KL), rise=3, applies=lambda facts: facts.clips,
    ), lower_lr),
    _watched("clip-high", "warning", Online(
        judges.clip_high, "lower algo.lr, take fewer algo.epochs, or set algo.target_kl",
        (_CLIPPED, "hp/algo.clip"), rise=3, applies=lambda facts: facts.clips,
    ), lower_lr),
    _watched("clip-low", "info", Online(
        judges.clip_low, "raise algo.lr or algo.epochs",
        (_CLIPPED, "hp/algo.lr"), rise=3, applies=moves_by_clipping,
    ), raise_lr),
    _watched("explained-variance-low", "warning", Online(
        judges.explained_variance_low,
        "set reward.scale or policy.normalize_values; raise algo.critic_lr; check algo.gamma",
        ("value/explained_variance", "return/mean", "return/std"),
        rise=12, applies=lambda facts: facts.critic,
    ), lambda case: to("policy.normalize_values", True)),
    _watched("gradient-explosion", "warning", Online(
        judges.gradient_explosion,
        "set reward.scale, reward.normalize or policy.normalize_values; lower algo.lr; keep "
        "algo.max_grad_norm on", ("grad/norm",),
    ), smaller_rewards),
    _watched("intrinsic-dominates", "warning", Online(
        judges.intrinsic_dominates,
        "lower its weight in reward.intrinsic, or let it fade by a schedule", rise=5,
        applies=lambda facts: bool(facts.intrinsic),
    ), lambda case: to("reward.intrinsic", [])),
    _watched("counts-exhausted", "info", Online(
        judges.counts_exhausted,
        "raise bins in reward.signals, count by scope: episode, or add reward.intrinsic",
        rise=5, applies=lambda facts: bool(facts.counted),
    ), more_entropy),
    _watched("core-saturated", "info", Online(
        judges.core_saturated,
        "set policy.normalize_values or reward.normalize; lower algo.lr; set policy.normalize_obs",
        ("core/saturated",), rise=5, applies=lambda facts: facts.core,
    ), lambda case: to("policy.normalize_values", True)),
    _watched("fps-drop", "warning", Online(
        judges.fps_drop,
        "see what else runs on the machine; look which of the time/*_s metrics has grown",
        ("time/fps",), lasting_s=60.0,
    ), fewer_envs, "speed"),
)  # fmt: skip
"""Judged while training only."""
