"""Where a run's time went, and which settings would make it faster. Hints, never faults."""

import math

from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import to, whole
from spotter.diagnose.doctor.found import Found
from spotter.system import machine

_FEWEST_SECONDS = 2.0


def _share(case: Case, part: str) -> float:
    """Of the wall time; 0 where too little was measured to say."""
    if case.history.last("time/elapsed_s") < _FEWEST_SECONDS:
        return 0.0
    return case.times.get(part, 0.0)


def slow_evaluation(case: Case) -> Found | None:
    share = _share(case, "eval")
    every = case.number("eval.every_steps")
    if share < 0.3 or case.setting("eval.every_steps") is None:
        return None
    if not math.isfinite(every):
        return Found(
            f"Evaluation takes {share:.0%} of the time.",
            (f"eval.every_steps=auto, eval.share={case.number('eval.share'):g}",),
            (to("eval.share", case.number("eval.share") / 2),),
            then="The share counts env steps; here a step of evaluation costs more than one of "
            "training. eval.mode=async evaluates in a process of its own, where a core is free.",
        )
    budget = case.number("budget.env_steps", 10 * every)
    rarer = whole(max(2 * every, min(every * share / 0.1, budget / 5)))
    return Found(
        f"Evaluation takes {share:.0%} of the time.",
        (f"eval.every_steps={every:g}, eval.episodes={case.setting('eval.episodes')}, "
         f"eval.mode={case.setting('eval.mode')}",),
        (to("eval.every_steps", rarer),),
        then="eval.mode=async evaluates in a process of its own, where a core is free.",
    )  # fmt: skip


def slow_environment(case: Case) -> Found | None:
    share, cores = _share(case, "env"), machine.cores()
    if share < 0.6:
        return None
    backend = case.setting("env.backend")
    can_spread = backend in ("sync", "auto") and cores > 2
    return Found(
        f"Stepping the environment takes {share:.0%} of the time.",
        (f"env.backend={backend}, env.count={case.number('env.count'):g}, {cores} cores here",),
        (to("env.backend", "process"),) if can_spread else (),
        then="spotter bench tries back-ends and counts on this machine; rendering or a wrapper may "
        "be what is slow.",
    )  # fmt: skip


def slow_policy(case: Case) -> Found | None:
    share, count = _share(case, "policy"), case.number("env.count")
    steps = case.number("algo.steps")
    if share < 0.4 or not count < 64 or not math.isfinite(steps):
        return None
    more = 2 if steps % 2 == 0 else 1
    if more == 1:
        return None
    return Found(
        f"Choosing actions takes {share:.0%} of the time, one small batch after another.",
        (f"env.count={count:g}, algo.steps={steps:g}",),
        (to("env.count", whole(count * more)), to("algo.steps", whole(steps / more))),
        then="The rollout stays as large; single decisions get cheaper.",
    )


def slow_learning(case: Case) -> Found | None:
    share, size = _share(case, "learn"), case.minibatch
    if share < 0.6 or not case.is_clipped or not size < case.rollout / 2:
        return None
    larger = whole(size * 2)
    fits = case.rollout % larger == 0
    return Found(
        f"Learning takes {share:.0%} of the time.",
        (f"{case.gradient_steps:,.0f} gradient steps per update: "
         f"algo.epochs={case.number('algo.epochs'):g}, minibatches of {size:.0f}",),
        (to("algo.minibatch", larger),) if fits else (),
        then="Fewer algo.epochs also help; on a GPU, images pay off only with large minibatches.",
    )  # fmt: skip


def slow_saving(case: Case) -> Found | None:
    share, every = _share(case, "save"), case.number("checkpoint.every_s", 60.0)
    if share < 0.2:
        return None
    return Found(
        f"Saving takes {share:.0%} of the time.",
        (f"checkpoint.every_s={every:g}, eval.every_steps={case.setting('eval.every_steps')}",),
        (to("checkpoint.every_s", every * 5),),
        then="Every evaluation saves too: raise eval.every_steps.",
    )


def slow_waiting(case: Case) -> Found | None:
    share = _share(case, "idle")
    if share < 0.4 or case.history.last("time/elapsed_s") < 10:
        return None
    return Found(
        f"{share:.0%} of the time goes into waiting and bookkeeping.",
        (f"{case.history.updates:,} updates of {case.rollout:,.0f} samples",),
        then="Larger rollouts (algo.steps, env.count) mean less of it; see what else runs on the "
        "machine.",
    )
