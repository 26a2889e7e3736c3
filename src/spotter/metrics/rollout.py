"""What a rollout holds: observations, rewards, and how different its samples are."""

from typing import Final

from spotter.metrics.spec import MetricSpec

METRICS: Final = (
    MetricSpec("action/mean", "mean action of the rollout, as the policy chose it", priority=80),
    MetricSpec("action/mean/*", "of one component, where an action has several", priority=81),
    MetricSpec("action/std", "their standard deviation", low=0, priority=82),
    MetricSpec("action/std/*", "of one component, where an action has several", low=0, priority=83),
    MetricSpec(
        "action/outside",
        "share of the numbers of Box actions beyond ±1, where bounds cut them",
        low=0,
        high=1,
        priority=84,
        advice="Near 1 for long: lower policy.log_std and algo.entropy, or set policy.squash.",
    ),
    MetricSpec(
        "action/share/*",
        "share of one discrete action in the rollout; component/choice where there are several",
        low=0,
        high=1,
        priority=85,
        advice="One action at 1 for long: the policy explores no more; raise algo.entropy.",
    ),
    MetricSpec(
        "obs/mean",
        "mean of all observations of the rollout, before normalisation",
        priority=90,
        advice="Far from 0: set policy.normalize_obs.",
    ),
    MetricSpec(
        "obs/std",
        "their standard deviation",
        low=0,
        priority=91,
        advice="Far from 1: set policy.normalize_obs; 0: the environment shows nothing.",
    ),
    MetricSpec("rollout/reward_mean", "mean reward per step, as learnt from", priority=92),
    MetricSpec(
        "rollout/reward_std",
        "their standard deviation",
        low=0,
        priority=93,
        advice="0: nothing to learn from yet; see `spotter help shape-rewards`.",
    ),
    MetricSpec(
        "rollout/distinct",
        "share of observations with their actions that occur once or for the first time",
        low=0,
        high=1,
        precision=2,
        priority=95,
        advice="Low in a world with many states: envs play alike; do they get seeds of their own?",
    ),
    MetricSpec(
        "rollout/effective",
        "effective number of different samples, as a share: (Σ c)² / Σ c² over how often each is",
        low=0,
        high=1,
        precision=2,
        priority=96,
    ),
    MetricSpec(
        "core/saturated",
        "share of what gru or lstm holds at its bounds of ±1, where nothing is learnt; worse core",
        better="low",
        low=0,
        high=1,
        precision=2,
        priority=97,
    ),
    MetricSpec(
        "rollout/lost",
        "share of samples lost to failing environments",
        better="low",
        low=0,
        high=1,
        priority=94,
        advice="Look at the faults in events.jsonl; each names env, seed and last actions.",
    ),
)
