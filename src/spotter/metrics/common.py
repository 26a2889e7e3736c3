"""The catalogue every run shares; algorithms add their own `METRICS`."""

from typing import Final

from spotter.metrics.spec import MetricSpec

METRICS: Final = (
    MetricSpec("train/score", "mean raw return of the last 100 training episodes", better="high"),
    MetricSpec("train/reward", "mean learner's return of the same, after weights and shaping"),
    MetricSpec("train/length", "their mean length", unit="steps", low=1),
    MetricSpec("train/episodes", "episodes finished so far", low=0),
    MetricSpec("reward/*", "mean return of one weighted reward part, same episodes"),
    MetricSpec("loss/policy", "policy loss"),
    MetricSpec("loss/value", "value loss times its weight", low=0),
    MetricSpec("loss/entropy", "minus entropy times its weight"),
    MetricSpec("loss/total", "what the gradient is taken of"),
    MetricSpec("policy/entropy", "mean entropy of the action distribution", unit="nats"),
    MetricSpec("policy/kl", "mean log-probability drop of the taken actions (k1; may be negative)"),
    MetricSpec("policy/approx_kl", "KL to the collecting policy (k3 estimate)", low=0),
    MetricSpec("policy/clip_fraction", "share of samples outside the clip range", low=0, high=1),
    MetricSpec(
        "value/explained_variance",
        "share of the returns' variance the critic explains",
        better="high",
        high=1,
    ),
    MetricSpec("grad/*", "gradient norm, whole (before clipping) or by part (after)", low=0),
    MetricSpec(
        "net/dead_units", "share of units that no longer react", better="low", low=0, high=1
    ),
    MetricSpec("hp/*", "present value of a schedulable setting"),
    MetricSpec("time/env_s", "seconds of this update spent stepping environments", low=0),
    MetricSpec("time/policy_s", "seconds spent choosing actions", low=0),
    MetricSpec("time/learn_s", "seconds spent learning", low=0),
    MetricSpec("time/fps", "env steps per second of this update", better="high", low=0),
)
