"""How fast a run is, and where its time goes. The same words everywhere:

fps        env steps per second of collecting and learning
wall fps   env steps per second of everything: evaluation, saving and waiting included
ETA        until the end, with the evaluations that are due and the final test in it
"""

from typing import Final

from spotter.metrics.spec import MetricSpec


def _seconds(stage: str, meaning: str, priority: int, advice: str = "") -> MetricSpec:
    return MetricSpec(f"time/{stage}_s", meaning, unit="s", low=0, priority=priority, advice=advice)


METRICS: Final = (
    MetricSpec(
        "time/fps",
        "env steps per second of collecting and learning, over about the last ten such seconds",
        unit="env steps/s",
        better="high",
        low=0,
        precision=0,
        shown=True,
        priority=150,
        advice="The largest of the time/*_s metrics says where to look; see 'It is slow'.",
    ),
    MetricSpec(
        "time/updates_per_s", "updates per second, likewise", better="high", low=0, priority=151
    ),
    MetricSpec(
        "time/wall_fps",
        "env steps per second of everything, evaluation and saving included, over the whole run",
        unit="env steps/s",
        better="high",
        low=0,
        precision=0,
        priority=161,
        advice="Far below time/fps: look at time/eval_s, time/save_s and time/idle_s.",
    ),
    MetricSpec(
        "time/train_s",
        "seconds of collecting and learning so far, over every resume",
        unit="s",
        low=0,
        precision=0,
        priority=162,
    ),
    MetricSpec(
        "time/elapsed_s",
        "seconds since training began, over every resume",
        unit="s",
        low=0,
        precision=0,
        shown=True,
        priority=152,
    ),
    MetricSpec(
        "time/eta_s",
        "seconds until the end: the rest of the budget at the present speed, the evaluations that "
        "are due meanwhile, and the final test",
        unit="s",
        low=0,
        precision=0,
        shown=True,
        priority=153,
    ),
    _seconds(
        "env",
        "of this update, spent stepping environments",
        154,
        "Largest: try env.backend=process, or an environment that renders less.",
    ),
    _seconds(
        "policy", "spent choosing actions", 155, "Largest: raise env.count, lower algo.steps."
    ),
    _seconds("transfer", "spent copying between environment, device and rollout", 156),
    _seconds(
        "learn", "spent learning", 157, "Largest: fewer algo.epochs or a larger algo.minibatch."
    ),
    _seconds(
        "eval", "spent evaluating", 158, "Largest: raise eval.every_steps, or eval.mode=async."
    ),
    _seconds("save", "spent saving", 159, "Largest: raise checkpoint.every_s."),
    _seconds("idle", "the rest: waiting and bookkeeping", 160),
)
