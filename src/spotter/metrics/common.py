"""The catalogue every run shares; algorithms add their own `METRICS`.

Spread is always reported as a standard deviation, in the unit of the thing itself, never as a
variance. Bounds are hard: a value beyond them means that the code is wrong, not the training.
"""

from typing import Final

from spotter.metrics import rollout, timing
from spotter.metrics.spec import MetricSpec

_RUN = (
    MetricSpec("run/progress", "share of the budget used", low=0, high=1, shown=True, priority=1),
    MetricSpec(
        "merit/steps_to_threshold",
        "env steps until an evaluation first reached the threshold; absent before",
        unit="env steps",
        better="low",
        low=0,
        precision=0,
        priority=5,
        advice="Compare it between runs that reach the threshold; lower is more learnt per sample.",
    ),
    MetricSpec(
        "merit/train_steps_to_threshold",
        "env steps until train/score first reached the threshold; absent before",
        unit="env steps",
        better="low",
        low=0,
        precision=0,
        priority=6,
        advice="If it is far from merit/steps_to_threshold, sampled and greedy play differ, or "
        "evaluations are far apart.",
    ),
)

_EPISODES = (
    MetricSpec(
        "train/score",
        "mean raw return of the last 100 training episodes",
        better="high",
        precision=2,
        shown=True,
        priority=10,
        advice="If it does not rise, look at policy/approx_kl and value/explained_variance first.",
    ),
    MetricSpec(
        "train/score_best",
        "best value of train/score so far",
        better="high",
        precision=2,
        priority=11,
        advice="Far above train/score: it has forgotten; lower algo.lr, use @best.",
    ),
    MetricSpec(
        "train/score_last", "raw return of the last training episode", precision=2, priority=12
    ),
    MetricSpec(
        "train/reward",
        "mean learner's return of the same episodes, after weights and shaping",
        precision=2,
        shown=True,
        priority=13,
        advice="It should rise together with train/score; if not, fix reward.signals.",
    ),
    MetricSpec(
        "train/length",
        "mean length of the same episodes",
        unit="steps",
        low=1,
        precision=1,
        shown=True,
        priority=14,
        advice="Stuck at the time limit, or at a few steps: look at a video of the episodes.",
    ),
    MetricSpec(
        "train/truncated",
        "share of the same episodes that a time limit cut",
        low=0,
        high=1,
        precision=2,
        priority=16,
    ),
    MetricSpec(
        "train/episodes", "episodes finished so far", low=0, precision=0, shown=True, priority=15
    ),
    MetricSpec(
        "reward/*",
        "mean return of one weighted reward part, same episodes",
        precision=2,
        priority=40,
        advice="A part larger than `reward/env` is what the agent works for; lower its weight.",
    ),
    MetricSpec(
        "intrinsic/*/reward",
        "mean intrinsic reward of a step, scaled by the deviation of its discounted sums",
        priority=41,
    ),
    MetricSpec(
        "intrinsic/*/share",
        "share of the reward's size that is intrinsic, weights included",
        low=0,
        high=1,
        precision=2,
        priority=42,
        advice="Near 1 long after the first success: lower the weight, or let it fade by schedule.",
    ),
    MetricSpec("intrinsic/*/loss", "what makes the seen less new, minimised", priority=43),
    MetricSpec("intrinsic/*/value", "mean prediction of its critic", priority=44),
    MetricSpec(
        "info/demo_start/last",
        "where training episodes began in env.demo, as a share of its actions: 0 is its start; "
        "mean over the last 100",
        better="low",
        low=0,
        high=1,
        precision=2,
        priority=45,
        advice="Stuck for long: a shorter demonstration, more env.demo.extra, a lower algo.lr.",
    ),
    MetricSpec(
        "info/demo_success/last",
        "share of the last 100 training episodes that won what was left of env.demo's score",
        better="high",
        low=0,
        high=1,
        precision=2,
        priority=46,
    ),
    MetricSpec(
        "info/*",
        "mean over the last 100 episodes of a numeric info key: KEY/mean over an episode's steps, "
        "KEY/last at its end",
        priority=47,
    ),
)


def _scored(stage: str, seeds: str, shown: bool, priority: int) -> tuple[MetricSpec, ...]:
    return (
        MetricSpec(
            f"{stage}/score",
            f"mean raw return on {seeds} seeds",
            better="high",
            precision=2,
            shown=shown,
            priority=priority,
            advice="Far below train/score: try eval.deterministic=false, let algo.entropy fade.",
        ),
        MetricSpec(
            f"{stage}/score_std",
            "standard deviation of those returns",
            low=0,
            precision=2,
            priority=priority + 1,
            advice="Large: raise eval.episodes before you trust a difference.",
        ),
        MetricSpec(
            f"{stage}/length",
            "mean length of those episodes",
            unit="steps",
            low=1,
            precision=1,
            priority=priority + 2,
        ),
        *_ended(stage, priority),
        MetricSpec(
            f"{stage}/solved",
            "1 if that score reached the threshold",
            better="high",
            low=0,
            high=1,
            precision=0,
            priority=priority + 3,
        ),
        MetricSpec(
            f"{stage}/env_steps",
            "age of the weights that were scored",
            unit="env steps",
            low=0,
            precision=0,
            priority=priority + 4,
        ),
    )


def _ended(stage: str, priority: int) -> tuple[MetricSpec, ...]:
    return (
        MetricSpec(
            f"{stage}/truncated",
            "share of those episodes that a time limit cut",
            low=0,
            high=1,
            precision=2,
            priority=priority + 5,
            advice="Far above train/truncated: greedy play goes in circles; see greedy-loop.",
        ),
        MetricSpec(
            f"{stage}/stalled",
            "share of those episodes that were cut and earned nothing in their second half",
            low=0,
            high=1,
            precision=2,
            priority=priority + 6,
        ),
    )


_POLICY = (
    MetricSpec(
        "policy/entropy",
        "mean entropy of the action distribution",
        unit="nats",
        shown=True,
        priority=50,
        advice="Near 0 early: raise algo.entropy or lower algo.lr; never falling: the reverse.",
    ),
    MetricSpec(
        "policy/kl",
        "mean log-probability drop of the taken actions (k1; may be negative)",
        unit="nats",
        precision=4,
        priority=52,
    ),
    MetricSpec(
        "policy/approx_kl",
        "KL to the collecting policy (k3 estimate)",
        unit="nats",
        low=0,
        precision=4,
        shown=True,
        priority=51,
        advice="0.003 to 0.03 is usual; above: lower algo.lr or set algo.target_kl; "
        "below: raise algo.lr.",
    ),
    MetricSpec(
        "policy/clip_fraction",
        "share of samples outside the clip range",
        low=0,
        high=1,
        shown=True,
        priority=53,
        advice="0.05 to 0.3 is usual; above: lower algo.lr or algo.epochs; below: raise them.",
    ),
    MetricSpec(
        "policy/probability",
        "mean probability the policy gave to the actions it took; discrete only",
        low=0,
        high=1,
        priority=54,
        advice="Close to 1 early means that it explores no more: raise algo.entropy.",
    ),
    MetricSpec(
        "policy/std",
        "mean standard deviation of Box actions, whose bounds are ±1",
        low=0,
        shown=True,
        priority=55,
        advice="Should shrink slowly from exp(policy.log_std); rushing to 0: raise algo.entropy.",
    ),
    MetricSpec("policy/std/*", "of one number, where an action has several", low=0, priority=56),
)

_LEARNING = (
    MetricSpec(
        "value/explained_variance",
        "share of the returns' variance the critic explains",
        better="high",
        high=1,
        shown=True,
        priority=60,
        advice="At or below 0 for long: set reward.scale or policy.normalize_values.",
    ),
    MetricSpec("value/mean", "mean value the critic gave in the rollout", priority=61),
    MetricSpec("value/std", "their standard deviation", low=0, priority=62),
    MetricSpec(
        "return/mean",
        "mean target of the critic in the rollout",
        priority=63,
        advice="Far from ±10: set reward.scale, reward.normalize or policy.normalize_values.",
    ),
    MetricSpec("return/std", "their standard deviation", low=0, priority=64),
    MetricSpec("advantage/mean", "mean advantage, before normalisation", priority=65),
    MetricSpec("advantage/std", "their standard deviation", low=0, priority=66),
    MetricSpec("loss/policy", "policy loss", precision=4, shown=True, priority=70),
    MetricSpec(
        "loss/value",
        "value loss times its weight",
        low=0,
        precision=4,
        shown=True,
        priority=71,
        advice="Thousands: rewards are too large for the critic; set reward.scale.",
    ),
    MetricSpec("loss/entropy", "minus entropy times its weight", precision=4, priority=72),
    MetricSpec("loss/total", "what the gradient is taken of", precision=4, priority=73),
    MetricSpec(
        "loss/predict_obs",
        "error of predicting what is seen next, in variances: 1 is no better than the mean",
        low=0,
        priority=68,
    ),
    MetricSpec(
        "loss/predict_reward",
        "error of predicting the reward, alike",
        low=0,
        priority=69,
    ),
    MetricSpec(
        "grad/norm",
        "gradient norm before clipping, mean over the update",
        low=0,
        shown=True,
        priority=75,
        advice="Always far above algo.max_grad_norm: scale rewards or lower algo.lr.",
    ),
    MetricSpec("grad/*", "gradient norm of one part, after clipping", low=0, priority=76),
    MetricSpec(
        "net/dead_units",
        "share of units that no longer react, residual blocks included",
        better="low",
        low=0,
        high=1,
        shown=True,
        priority=78,
        advice="Lower algo.lr; try policy.activation=tanh or policy.norm=layer.",
    ),
)

_SETTINGS = (
    MetricSpec(
        "hp/algo.lr",
        "learning rate of this update, ppo/lr_factor included",
        low=0,
        precision=6,
        shown=True,
        priority=140,
    ),
    MetricSpec("hp/*", "value of a schedulable setting in this update", precision=5, priority=141),
)


METRICS: Final = (
    *_RUN,
    *_EPISODES,
    *_scored("eval", "held-out evaluation", True, 20),
    *_scored("test", "held-out test", False, 30),
    *_POLICY,
    *_LEARNING,
    *rollout.METRICS,
    *_SETTINGS,
    *timing.METRICS,
)
