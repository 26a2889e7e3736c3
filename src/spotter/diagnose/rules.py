"""The rules as data, for alerts and doctor alike: what each reads, when it speaks, what it advises.

A rule with `online` is an alert: it looks at every row while training. One with `offline` is judged
by the doctor, from a run's files; of an alert that no such rule explains, the doctor tells what the
run recorded, with the change of `remedy`. How each looks at the numbers stands in judges.py and in
doctor/, the limits of both in thresholds.py; alerts that the doctor only repeats stand in
watched.py. Ids are headings in docs/troubleshooting.md.

Causes come before symptoms: of two problems of one level the first in the list comes first; one
that another explains is reported as its evidence only.
"""

from collections.abc import Iterable
from typing import Final

from spotter.diagnose import judges
from spotter.diagnose.doctor import greedy, learning, outcome, speed
from spotter.diagnose.doctor.changes import more_entropy, scaled, to
from spotter.diagnose.doctor.remedies import (
    sampled,
)  # fmt: skip
from spotter.diagnose.rule import Online, Rule
from spotter.diagnose.watched import AT_ONCE, WATCHED

_SLOW: Final = ("score-flat", "plateau", "budget-too-small")
_STILL: Final = (
    *("kl-low", "clip-low", "lr-too-low", "explained-variance-low", "actions-do-not-matter"),
    *_SLOW,
)
_WILD: Final = (
    *("kl-high", "clip-high", "kl-disagreement", "clip-low", "kl-low", "score-falling"),
    *("entropy-collapse", "action-std-collapse", "action-std-explosion", "dead-units"),
    *("gradient-explosion", "explained-variance-low", "eval-below-train", "forgotten"),
    *("reward-never-found", "epochs-too-many", *_SLOW),
)
_EVERYTHING: Final = (
    *_WILD, *_STILL, "lr-too-high", "observation-scale", "reward-too-large", "reward-too-small",
    "gamma-too-low", "gamma-too-high", "batch-too-small", "updates-too-few",
    "policy-starts-certain", "unreachable-threshold", "threshold-too-low",
    "initial-action-mean", "initial-action-std", "weights-blew-up", "clip-too-wide",
    "clip-too-narrow", "value-dominates", "entropy-too-high", "time-limit-too-short",
    "recipe-overridden",
)  # fmt: skip

PLAYED: Final = (
    Rule(
        "environment-broken", "critical", "environment", None,
        "spotter doctor with its address says more; fix it before you tune anything.",
    ),
    Rule(
        "copies-alike", "warning", "environment", None,
        "Let reset(seed=…) call super().reset(seed=seed), and draw from self.np_random only.",
    ),
    Rule(
        "not-repeatable", "info", "environment", None,
        "Draw from self.np_random only; runs with one seed cannot be compared until then.",
    ),
    Rule(
        "observation-uneven", "warning", "environment", None,
        "policy.normalize_obs=bounds where the space has bounds.", ("observation-scale",),
    ),
    Rule("resets-itself", "warning", "environment", None, ""),
)  # fmt: skip
"""What is found out by playing the run's environment."""

OVERRIDDEN: Final = Rule(
    "recipe-overridden", "warning", "learning", outcome.overridden,
    "Then override one setting at a time.",
    ("score-falling", "explained-variance-low", "clip-high", "kl-high", "kl-low",
     "clip-low", "gradient-explosion", "score-flat", "plateau"), failing=False,
)  # fmt: skip
"""Checked against what was reported before it: a setting that a cause names is not named twice."""

RULES: Final = (
    Rule("crashed", "critical", "run", outcome.crashed, "", (*_EVERYTHING, "environment-broken"),
         failing=False),
    Rule("silent", "critical", "run", outcome.silent, "", _SLOW, failing=False),
    Rule(
        "not-finite", "critical", "learning", outcome.not_finite,
        "Look for NaN or huge numbers in observations and rewards; keep algo.max_grad_norm on.",
        _EVERYTHING, failing=False,
        online=Online(
            judges.not_finite,
            "go back to the last good checkpoint with a lower algo.lr; set algo.max_grad_norm; "
            "look for NaN or huge numbers in observations and rewards", **AT_ONCE,
        ), remedy=lambda case: scaled(case, "algo.lr", 0.1),
    ),
    Rule(
        "weights-blew-up", "critical", "learning", outcome.weights_blew_up,
        "Keep algo.max_grad_norm on; scale rewards.",
        tuple(name for name in _EVERYTHING if name != "weights-blew-up"),
    ),
    Rule("frozen-environment", "critical", "environment", outcome.frozen, "", _EVERYTHING),
    Rule("episodes-never-end", "critical", "environment", outcome.episodes_never_end, "",
         failing=False),
    Rule("time-limit-too-short", "warning", "environment", outcome.time_limit_too_short, "",
         ("reward-never-found", "unreachable-threshold", *_STILL, "entropy-collapse")),
    Rule("threshold-too-low", "warning", "environment", outcome.threshold_too_low, "",
         ("score-flat", "score-falling"), failing=False),
    Rule("unreachable-threshold", "warning", "environment", outcome.unreachable_threshold, "",
         ("plateau", "score-flat", "score-falling", "forgotten", "entropy-collapse", "kl-low",
          "clip-low", "explained-variance-low", "budget-too-small", "kl-high", "eval-below-train")),
    Rule(
        "policy-starts-certain", "warning", "learning", learning.starts_certain,
        "Set policy.normalize_obs where observations are large.",
        ("initial-action-mean", "initial-action-std", "lr-too-high", *_WILD),
    ),
    Rule(
        "observation-scale", "warning", "learning", learning.observation_scale,
        "policy.normalize_obs=bounds where the space has bounds.",
        ("initial-action-mean", "initial-action-std", *_WILD, *_STILL, "updates-too-few"),
    ),
    Rule(
        "value-dominates", "warning", "learning", learning.value_dominates,
        "policy.shared=false; policy.normalize_values=true.",
        ("reward-too-large", "gradient-explosion", "eval-below-train", "reward-never-found",
         "score-falling", "forgotten", *_STILL),
    ),
    Rule(
        "reward-too-large", "warning", "learning", learning.reward_too_large,
        "reward.normalize=true, or policy.normalize_values=true.",
        ("gradient-explosion", "eval-below-train", "score-falling", "forgotten", *_STILL),
    ),
    Rule(
        "reward-too-small", "warning", "learning", learning.reward_too_small,
        "algo.normalize_advantage where the algorithm has it; reward.normalize=true.",
        (*_STILL, "score-falling", "entropy-collapse", "forgotten"),
    ),
    Rule(
        "clip-too-wide", "warning", "learning", learning.clip_too_wide,
        "Then lower algo.lr.", ("lr-too-high", *_WILD),
    ),
    Rule(
        "clip-too-narrow", "warning", "learning", learning.clip_too_narrow,
        "Then look at algo.lr.", ("clip-high", "score-falling", "forgotten", *_STILL),
    ),
    Rule(
        "batch-too-small", "warning", "learning", learning.batch_too_small,
        "Lower algo.lr if more envs are too expensive.",
        (*_WILD, *_STILL, "initial-action-mean", "initial-action-std", "lr-too-high"),
    ),
    Rule(
        "lr-too-high", "warning", "learning", learning.lr_too_high,
        "algo.target_kl=0.02, fewer algo.epochs; a schedule that lets algo.lr fade.", _WILD,
    ),
    Rule(
        "epochs-too-many", "warning", "learning", learning.epochs_too_many,
        "A larger algo.minibatch, a lower algo.lr, or algo.target_kl=0.02.", _WILD,
    ),
    Rule(
        "network-too-small", "warning", "learning", learning.network_too_small,
        "For images the encoder comes first: policy.encoder.",
        ("reward-never-found", "entropy-collapse", "score-falling", "forgotten",
         "eval-below-train", "dead-units", *_STILL),
    ),
    Rule(
        "updates-too-few", "warning", "learning", learning.updates_too_few,
        "A larger budget.env_steps, or a higher algo.lr.", (*_STILL, "eval-below-train"),
    ),
    Rule(
        "gamma-too-low", "warning", "learning", learning.gamma_too_low,
        "algo.lambda nearer to 1 reaches further too.",
        (*_SLOW, "score-falling", "forgotten", "kl-low", "clip-low", "explained-variance-low",
         "eval-below-train", "entropy-collapse", "reward-never-found"),
    ),
    Rule(
        "entropy-too-high", "warning", "learning", learning.entropy_too_high,
        "Let it fade: algo.entropy={shape: linear, start: 0.01, end: 0}.",
        (*_STILL, "action-std-explosion", "eval-below-train", "gamma-too-high", "score-falling",
         "reward-never-found"),
    ),
    Rule(
        "lr-too-low", "warning", "learning", learning.lr_too_low,
        "Is grad/norm far above algo.max_grad_norm? Then scale rewards.",
        (*_STILL, "eval-below-train", "score-falling", "reward-never-found"),
    ),
    Rule(
        "eval-below-train", "warning", "learning", greedy.eval_below_train,
        "Let algo.entropy fade to 0 by a schedule; look at train_only wrappers.",
        _STILL,
        online=Online(
            judges.eval_below_train,
            "set eval.deterministic=false; if that helps, lower algo.entropy towards the end",
            clock="evaluation", rise=1, fall=1,
        ), remedy=sampled,
    ),
    Rule(
        "greedy-loop", "warning", "learning", greedy.greedy_loop,
        "Train longer; sticky actions or algo.entropy keep a policy from exact repetition.",
        ("eval-below-train",),
        online=Online(
            judges.greedy_loop,
            "set eval.deterministic=false, or train longer; a score of games that were cut says "
            "little", clock="evaluation", fall=1, applies=lambda facts: facts.greedy,
        ),
    ),
    Rule(
        "actions-do-not-matter", "warning", "environment", learning.actions_do_not_matter, "",
        (*_STILL, "score-falling", "initial-action-std", "initial-action-mean"),
    ),
    Rule(
        "dead-units", "warning", "learning", learning.dead_units,
        "Lower algo.lr, above all at the beginning; policy.norm=layer; dead units stay dead, so "
        "start again.",
        ("entropy-collapse", "kl-high", "kl-low", "clip-low", "reward-never-found",
         "score-falling", "forgotten", "explained-variance-low", "lr-too-high",
         "weights-blew-up", *_SLOW),
        online=Online(
            judges.dead_units,
            "lower algo.lr; set policy.activation=tanh, or policy.norm=layer",
            ("net/dead_units",), rise=3,
        ), remedy=lambda case: to("policy.norm", "layer"),
    ),
    Rule(
        "entropy-collapse", "warning", "learning", learning.entropy_collapse,
        "Lower algo.lr, or set algo.target_kl=0.02; scale rewards.",
        ("score-falling", "forgotten", "action-std-collapse", "kl-high",
         "reward-never-found", *_STILL),
        online=Online(
            judges.entropy_collapse, "raise algo.entropy, lower algo.lr, or set algo.target_kl",
            ("policy/entropy",),
        ), remedy=more_entropy,
    ),
    Rule(
        "reward-never-found", "warning", "learning", outcome.reward_never_found,
        "A potential that shows the way (`spotter help shape-rewards`), more envs, a higher "
        "algo.gamma.",
        ("entropy-collapse", "action-std-collapse", *_STILL),
    ),
    Rule(
        "gamma-too-high", "warning", "learning", learning.gamma_too_high,
        "algo.lambda=0.95; policy.normalize_values=true.",
        ("explained-variance-low", *_SLOW, "score-falling"),
    ),
    OVERRIDDEN,
    Rule(
        "not-normalised", "warning", "learning", learning.not_normalised,
        "A higher algo.gamma, a larger budget.env_steps: continuous control takes millions.",
        ("plateau", "score-flat", "kl-low", "clip-low", "explained-variance-low"),
    ),
    Rule("start-lost", "warning", "learning", outcome.start_lost, "",
         ("budget-too-small", "forgotten", "score-falling", "score-flat", "plateau")),
    Rule("forgotten", "warning", "learning", outcome.forgotten, "",
         ("score-falling", "score-flat", "plateau")),
    Rule("budget-too-small", "warning", "run", outcome.budget_too_small, "",
         ("score-flat", "plateau", "explained-variance-low")),
    Rule(
        "plateau", "warning", "learning", outcome.plateau,
        "Other seeds first; then algo.gamma, env.count, or a shaped reward.", ("score-flat",),
    ),
    Rule("slow-evaluation", "info", "speed", speed.slow_evaluation, "", failing=False),
    Rule("slow-environment", "info", "speed", speed.slow_environment, "", failing=False),
    Rule("slow-policy", "info", "speed", speed.slow_policy, "", failing=False),
    Rule("slow-learning", "info", "speed", speed.slow_learning, "", failing=False),
    Rule("slow-saving", "info", "speed", speed.slow_saving, "", failing=False),
    Rule("slow-waiting", "info", "speed", speed.slow_waiting, "", failing=False),
)  # fmt: skip

LAST: Final = (
    Rule(
        "far-from-threshold", "warning", "run", outcome.far_from_threshold,
        "Compare its curves with those of a run that went well; try another seed, then a recipe's "
        "own settings.", failing=False,
    ),
    Rule("stopped-early", "warning", "run", outcome.stopped_early, "", failing=False),
)  # fmt: skip
"""Checked only where nothing else is wrong; the first one that holds is reported."""

LASTING: Final = dict.fromkeys(("kl-low", "kl-high"), ("plateau", "score-flat", "score-falling"))
"""Alerts that explain something themselves, where they lasted and no rule explains them."""

BY_ID: Final = {rule.id: rule for rule in (*PLAYED, *RULES, *LAST, *WATCHED)}

ALERTS: Final = {rule.id: rule.online for rule in (*RULES, *WATCHED) if rule.online}
IDS: Final = tuple(ALERTS)
FOLLOWED: Final = tuple(dict.fromkeys(key for alert in ALERTS.values() for key in alert.reads))


def unknown_ids(ids: Iterable[str]) -> list[str]:
    """Those that are no alert's id."""
    return [name for name in ids if name not in IDS]
