"""How the doctor recognises what became of a run, and a task that cannot be learnt as it is.

Whether it crashed, fell silent or broke; whether there is anything to learn from; whether it was
only too short. All from the run's files.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np

from spotter.diagnose.doctor.case import FEWEST_ROWS, WELL, Case
from spotter.diagnose.doctor.changes import more_entropy, number, power, scaled, to, whole
from spotter.diagnose.doctor.found import Found, Level, at_steps

_CEILING_EVALUATIONS = 3
_LONGEST_BUDGET = 10
_MUCH_LOST = 0.1
_LATE = 0.5
"""Share of a run after which the first success comes late."""


def crashed(case: Case) -> Found | None:
    if case.info.get("status") != "failed":
        return None
    evidence = [f"{case.info.get('reason')}, at {case.env_steps:,} env steps"]
    faults = [event for event in case.view.events if event.get("event") == "fault"]
    for fault in faults[-2:]:
        folder = fault.get("folder")
        replay = f"; play it again: spotter blackbox {folder}" if folder else ""
        evidence.append(f"env {fault.get('copy')}: {fault.get('text')}{replay}")
    if faults:
        sentence = "The environment failed and ended the run; the fault is not in your settings."
        then = "Fix the environment; run.log has the whole error."
    else:
        sentence = "The run ended with an error."
        then = "Read run.log for the whole error; if the settings did not cause it, report it."
    return Found(sentence, tuple(evidence), level=_once_solved(case), then=then)


def _once_solved(case: Case) -> Level | None:
    """What ended a run does not make worthless what it had reached."""
    return "warning" if case.solved else None


def silent(case: Case) -> Found | None:
    if case.info.get("status") != "silent":
        return None
    return Found(
        "It never ended but no process trains it: the process was killed or is unreachable.",
        (f"last heard of at {case.info.get('heartbeat')}, at {case.env_steps:,} env steps",
         f"process {case.info.get('pid')} on {case.info.get('host')}"),
        level=_once_solved(case),
        then=f"Resume it: spotter train --resume {case.view.id}; if it was killed for memory, "
        "lower env.count first.",
    )  # fmt: skip


def not_finite(case: Case) -> Found | None:
    broken = {key: case.history.broken(key) for key in case.history.keys}
    first = {key: float(at[0]) for key, at in broken.items() if len(at)}
    if not first:
        return None
    key = min(first, key=lambda name: first[name])
    others = len(first) - 1
    fed = [name for name in first if name.startswith(("obs/", "rollout/"))]
    of_the_game = bool(fed) and min(first[name] for name in fed) <= first[key]
    lr = case.lr
    change = ""
    if of_the_game:
        change = to("reward.clip", 10.0)
    elif lr > 1:
        change = to("algo.lr", 1e-3)
    elif lr > 0:
        change = scaled(case, "algo.lr", power(min(0.1, 1e-3 / lr)))
    source = "observations or rewards" if of_the_game else "the weights"
    return Found(
        f"Numbers broke: {source} became infinite or no number at all.",
        (f"{key} is not finite from {first[key]:,.0f} env steps on"
         + (f", and {others} more metrics" if others else ""),
         f"algo.lr={lr:g}, algo.max_grad_norm={case.setting('algo.max_grad_norm')}"),
        (change,),
    )  # fmt: skip


def weights_blew_up(case: Case) -> Found | None:
    """Finite still, but of a size that no training has."""
    size = max((case.highest(key) for key in ("grad/norm", "loss/value")), default=math.nan)
    mean = abs(case.late("value/mean"))
    returns = abs(case.late("return/mean")) + case.late("return/std")
    if not (mean > 1e4 * max(1.0, returns) or size > 1e12):
        return None
    lr = case.lr
    return Found(
        "The weights have blown up: the network's outputs are astronomically large.",
        (f"value/mean {mean:.3g} against returns of {returns:.3g}, grad/norm up to {size:.3g}",
         f"algo.lr={lr:g}"),
        (to("algo.lr", 1e-3) if lr > 1e-2 else scaled(case, "algo.lr", 0.1),),
    )  # fmt: skip


def frozen(case: Case) -> Found | None:
    """Observations never change, and every episode has the same return."""
    if not case.constant or not case.has("obs/std"):
        return None
    if case.highest("obs/std") > 1e-9 or case.highest("rollout/reward_std") > 1e-9:
        return None
    return Found(
        "The environment is frozen: observation and reward are the same for every action.",
        (f"obs/std is 0 and rollout/reward_std is 0 in all {case.history.rows} rows",
         f"every episode scored {case.last:.4g} over {case.env_steps:,} env steps"),
        then="Look at the environment: spotter play, or spotter doctor on its address. Does step() "
        "use the action? Does it return a new observation?",
    )  # fmt: skip


def episodes_never_end(case: Case) -> Found | None:
    if case.has("train/score") or case.env_steps < 50_000 or not case.history.rows:
        return None
    return Found(
        "No training episode has ever ended, so there is no score to judge by.",
        (f"train/episodes is 0 after {case.env_steps:,} env steps, "
         f"{case.env_steps / max(1.0, case.number('env.count', 1)):,.0f} per env",),
        (to("env.time_limit", 1000),),
        then="Does step() ever return terminated or truncated?",
    )  # fmt: skip


def time_limit_too_short(case: Case) -> Found | None:
    """A configured limit cuts nearly every episode, and with it what can be scored."""
    limit, length = case.number("env.time_limit"), case.late("train/length")
    if not math.isfinite(limit) or not length >= 0.98 * limit or case.threshold is None:
        return None
    capped = case.late("rollout/reward_mean") > 0  # else it only ends what was going nowhere
    if not capped and limit > 100:
        return None
    return Found(
        "The time limit cuts nearly every episode, before the threshold can be scored.",
        (f"train/length {length:g} at the end, env.time_limit={limit:g}",
         f"score {at_steps(case, 'train/score')}, threshold {case.threshold:g}"),
        (to("env.time_limit", None),),
        then="null takes the environment's own limit; or lower env.threshold.",
    )  # fmt: skip


def threshold_too_low(case: Case) -> Found | None:
    """Reached before anything was learnt."""
    scores = case.values("train/score")
    if case.threshold is None or case.info.get("parent") or not len(scores):
        return None
    if not float(scores[0]) >= case.threshold or not case.solved:
        return None
    return Found(
        "The threshold is reached without any learning, so being solved means nothing here.",
        (f"train/score {float(scores[0]):.4g} on the very first row, threshold "
         f"{case.threshold:g}", f"env.time_limit={case.setting('env.time_limit')}"),
        (to("env.time_limit", None),) if case.setting("env.time_limit") else (),
        then="Raise env.threshold, or fix what changed the scale of the score: a time limit, a "
        "wrapper.",
    )  # fmt: skip


def unreachable_threshold(case: Case) -> Found | None:
    """At a ceiling: evaluation after evaluation, every episode scores the same, and lasts longest.

    A score that is stuck because an episode never ends well looks the same, but is negative.
    """
    last = case.evaluations[-_CEILING_EVALUATIONS:]
    if case.threshold is None or case.solved or len(last) < _CEILING_EVALUATIONS:
        return None
    best = max(max(one.scores) for one in case.evaluations)
    reached = [one for one in case.evaluations if min(one.scores) >= best > case.start]
    paid = case.late("rollout/reward_mean") > 0
    if len(reached) < 2 or not paid or not best < case.threshold:
        return None
    return Found(
        "The threshold is out of reach: the policy scores the most there seems to be.",
        (f"{len(reached)} evaluations in which every episode scored {best:g}",
         f"threshold {case.threshold:g}"),
        (to("env.threshold", number(best * 0.95)),),
        then="Is the score cut by a time limit or by a wrapper that clips rewards?",
    )  # fmt: skip


def reward_never_found(case: Case) -> Found | None:
    """Observations change, but all episodes have the same return: no action had any effect, or
    it took most of the run until one did."""
    scores, last = case.values("train/score"), case.values("train/score_last")
    stuck = min(len(scores), len(last)) >= FEWEST_ROWS and bool(
        np.ptp(case.part("train/score_last", 0.75, 1.0)) == 0
        and abs(scores[-1] - last[-1]) <= 0.02 * max(1.0, abs(float(last[-1])))
    )
    unpaid = case.late("rollout/reward_mean") <= 0
    found_after = _share_at_floor(case)
    late = found_after >= _LATE and not case.rising
    if not (case.constant or (unpaid and (stuck or late))) or case.highest("obs/std") <= 1e-9:
        return None
    since = "in all of the run" if case.constant else "in the last quarter"
    if late and not case.constant and not stuck:
        since = f"in the first {found_after:.0%} of the run"
    signals = case.setting("reward.signals")
    change = more_entropy(case)
    if "reward.signals" in case.recipe.overridden:
        change = case.recipe.overridden["reward.signals"].change
    elif case.countable and not signals:
        change = "reward.signals=[{name: novelty, source: state_count, weight: 1.0}]"
    return Found(
        "Every episode has the same return: exploration never finds the reward."
        if case.constant or stuck
        else "Most episodes have the same return: exploration finds the reward too late.",
        (f"every episode scored {float(scores[0 if late else -1]):.4g} {since} "
         f"(train/length {case.late('train/length'):g})",
         f"policy/entropy {case.late('policy/entropy'):.2g} nats at the end"),
        (change,),
    )  # fmt: skip


def _share_at_floor(case: Case) -> float:
    """Share of the env steps before a training score left the one it began with."""
    steps, scores = case.history.curve("train/score")
    if len(scores) < FEWEST_ROWS:
        return 0.0
    away = np.flatnonzero(np.abs(scores - scores[0]) > 0.005 * max(1.0, abs(float(scores[0]))))
    return float(steps[away[0]] / steps[-1]) if len(away) else 1.0


def forgotten(case: Case) -> Found | None:
    """It could do much better once."""
    gained, lost = case.best - case.start, case.best - case.last
    if not lost > max(0.5 * gained, 3 * case.spread) or not gained > 2 * case.spread:
        return None
    lr = case.number("algo.lr")
    fading = {"shape": "linear", "start": number(lr), "end": 0.0}
    fades = isinstance(case.settings.get("algo", {}).get("lr"), dict)
    change = scaled(case, "algo.lr", 0.3) if fades else to("algo.lr", fading)
    return Found(
        "It has forgotten what it could do: the score was much better before.",
        (f"train/score {case.best:.4g} at its best, {at_steps(case, 'train/score')}",),
        (change,),
        then=f"The best weights are kept: {case.view.id}/@best. Also try algo.target_kl=0.02.",
    )


def start_lost(case: Case) -> Found | None:
    """A fork that scores worse than the weights it began with."""
    parent, first, last = case.view.parent, case.view.at_start, case.view.at_end
    if not parent or first is None or last is None or last.env_steps == 0:
        return None
    lost = first.mean - last.mean
    chance = math.hypot(*(_standard_error(one.scores) for one in (first, last)))
    if not lost > max(3 * chance, _MUCH_LOST * abs(first.mean)):
        return None
    return Found(
        "It has lost what it began with: the weights it was given scored better.",
        (f"score {first.mean:.4g} before the first update, {last.mean:.4g} at "
         f"{last.env_steps:,} env steps",),
        (scaled(case, "algo.lr", 0.1),),
        then=f"What it began with is still there: {parent['run']}. A schedule restarts in a "
        "fork: give it the value the other run ended with.",
    )  # fmt: skip


def _standard_error(scores: Sequence[float]) -> float:
    return float(np.std(scores) / math.sqrt(len(scores)))


def _threshold(case: Case) -> str:
    return "unknown" if case.threshold is None else f"{case.threshold:g}"


def budget_too_small(case: Case) -> Found | None:
    budget = case.number("budget.env_steps")
    if case.info.get("reason") != "budget" or not case.rising or not math.isfinite(budget):
        return None
    quarter = max(1e-9, case.gain)
    left = (case.threshold or case.last) - case.last
    times = min(_LONGEST_BUDGET, max(2.0, 1 + 1.5 * left / quarter / 4))
    return Found(
        "It was still getting better when the budget ran out.",
        (f"train/score {at_steps(case, 'train/score')}, {case.gain:.3g} more than in the quarter "
         "before", f"budget.env_steps={budget:,.0f}, threshold {_threshold(case)}"),
        (to("budget.env_steps", whole(math.ceil(budget * times / 1000) * 1000)),),
        then=f"spotter train --resume {case.view.id} with the same change resumes instead of "
        "starting over.",
    )  # fmt: skip


def plateau(case: Case) -> Found | None:
    """No better, not solved, and no other rule explains it."""
    if case.rising or case.threshold is None or case.info.get("status") == "running":
        return None
    if case.history.rows < FEWEST_ROWS or case.env_steps < 20_000:
        return None
    way = case.way(case.last)
    return Found(
        "The score has stopped rising below the threshold.",
        (
            f"train/score {at_steps(case, 'train/score')}, {way:.0%} of the way to "
            f"{case.threshold:g}; the last quarter gained {case.gain:.3g}",
        ),
        (more_entropy(case),),
    )


def overridden(case: Case, named: Collection[str] = ()) -> Found | None:
    """Settings that differ from a recipe expected to solve it; `named`: already reported."""
    if case.solved or not case.recipe.solves or case.history.updates < FEWEST_ROWS:
        return None
    suspects = [one for one in case.recipe.overridden.values() if one.teaches]
    rest = [one for one in suspects if one.path not in named]
    if not rest:
        return None
    paths = ", ".join(one.path for one in rest)
    also = "also overrides" if len(rest) < len(suspects) else "overrides"
    return Found(
        f"The run {also} {paths} of a recipe that is expected to solve it.",
        tuple(one.words for one in rest),
        tuple(one.change for one in rest),
        level="info" if len(rest) < len(suspects) else None,
    )


def far_from_threshold(case: Case) -> Found | None:
    """The last word: a run that ended below its threshold is not well."""
    if case.threshold is None or case.solved or case.info.get("reason") not in ("budget", "alert"):
        return None
    name, score = case.judged
    way = case.way(score)
    where, said = "without a score", f"no score, threshold {case.threshold:g}"
    if math.isfinite(way):
        where = f"at {max(0.0, way):.0%} of the way to the threshold"
        said = f"{name} {score:.4g}, threshold {case.threshold:g}; it began at {case.start:.4g}"
    budget = case.number("budget.env_steps")
    near = way >= WELL and math.isfinite(budget)
    return Found(
        f"It ended {where}; no rule names the cause.",
        (said,
         f"{case.history.updates} updates in {case.env_steps:,} env steps"),
        (to("budget.env_steps", whole(math.ceil(budget * 1.5 / 1000) * 1000)),) if near else (),
    )  # fmt: skip


def stopped_early(case: Case) -> Found | None:
    """Not a fault of its settings; what it would have reached is unknown."""
    stopped = case.info.get("status") == "interrupted"
    if case.threshold is None or case.solved or not stopped:
        return None
    name, score = case.judged
    budget = case.number("budget.env_steps")
    part = f", {case.env_steps / budget:.0%} of its budget" if math.isfinite(budget) else ""
    return Found(
        "It was stopped before it reached the threshold.",
        (f"at {case.env_steps:,} env steps{part}",
         f"{name} {score:.4g}, threshold {case.threshold:g}"),
        then=f"Resume it: spotter train --resume {case.view.id}.",
    )  # fmt: skip
