"""How each alert looks at the evidence: it returns what it saw, or None where all is well.

Numbers that are merely unusual are left alone. Where a sign has harmless explanations (a solved
task, a learning rate that was meant to fade), the judge asks for them first: a false alarm costs
more trust than silence.
"""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from spotter.diagnose import thresholds as limits
from spotter.diagnose.evidence import Evidence
from spotter.diagnose.facts import BOX_WIDEST, Component

_NEARLY_OVER: Final = 0.9
_ALWAYS: Final = 0.995
"""Share of one choice from which a component counts as never varied."""


class Seen(NamedTuple):
    """What a judge objects to."""

    metric: str
    text: str


def not_finite(e: Evidence) -> Seen | None:
    if not e.unfinite:
        return None
    key, *others = e.unfinite
    more = f", and {len(others)} more metrics like it" if others else ""
    return Seen(key, f"{key} = {e.metrics[key]}{more}")


def out_of_bounds(e: Evidence) -> Seen | None:
    found = e.bounds.outside()
    if not found:
        return None
    key, mean, (low, high) = found[0]
    more = f", and {len(found) - 1} more metrics like it" if len(found) > 1 else ""
    return Seen(key, f"{key} at {mean:.4g}, which cannot leave {low:.4g} … {high:.4g}{more}")


def stuck_counter(e: Evidence) -> Seen | None:
    if e.before is None or e.env_steps > e.before:
        return None
    return Seen("", f"{e.env_steps:,} env steps after {e.before:,} on the row before")


def initial_action_mean(e: Evidence) -> Seen | None:
    """Judged for every component by itself: two that lean to opposite sides have a fine mean."""
    for part, key, mean in _at_first(e, "action/mean"):
        std = e.metrics.get(f"action/std{part.suffix}", 0.0)
        low, high = part.usual_mean(e.env_steps, std)
        if not low <= mean <= high:
            text = f"a mean of {mean:.3g} for {part.words} from the fresh policy, where a uniform"
            return Seen(key, f"{text} one has {(low + high) / 2:.3g}")
    return None


def initial_action_std(e: Evidence) -> Seen | None:
    for part, key, std in _at_first(e, "action/std"):
        low, high = part.usual_std(e.env_steps)
        if low <= std <= high:
            continue
        text = f"a standard deviation of {std:.3g} for {part.words} from the fresh policy, where"
        if part.choices is None:
            return Seen(key, f"{text} bounds are ±1")
        return Seen(key, f"{text} a uniform one has {(low + high) / 2:.3g}")
    return None


def _at_first(e: Evidence, name: str) -> Iterator[tuple[Component, str, float]]:
    """What the first row says about each component that has bounds."""
    for part in e.facts.components() if e.is_first else ():
        key = f"{name}{part.suffix}"
        if part.bounded and part.choices != 1 and key in e.metrics:
            yield part, key, e.metrics[key]


def entropy_collapse(e: Evidence) -> Seen | None:
    if e.promising:
        return None
    entropy, start = e.recent("policy/entropy"), e.first("policy/entropy")
    if entropy is not None and start is not None and _is_collapsed(e):
        start = max(start, _most_entropy(e))
        return Seen("policy/entropy", f"entropy at {entropy:.3g} nats, down from {start:.3g}")
    return _always_the_same(e)


def _always_the_same(e: Evidence) -> Seen | None:
    """One component that is never varied any more, which the entropy of all of them hides."""
    for part in e.facts.components():
        if not part.suffix or part.choices is None or part.choices < 2:
            continue
        for choice in range(part.choices):
            key = f"action/share{part.suffix}/{choice}"
            share, start = e.recent(key), e.first(key)
            if share is not None and start is not None and share > _ALWAYS > start:
                text = f"{part.words} of the action at {choice} in {share:.1%} of all samples"
                return Seen(key, f"{text}, {start:.0%} at the start")
    return None


def _is_collapsed(e: Evidence) -> bool:
    entropy, start = e.recent("policy/entropy"), e.first("policy/entropy")
    if entropy is None or start is None:
        return False
    numbers = e.facts.action_dims if e.facts.action_kind == "box" else 0
    return limits.is_collapsed(entropy, start, _most_entropy(e), numbers)


def _most_entropy(e: Evidence) -> float:
    """Of a fresh policy; the first row may come too late to see it."""
    facts = e.facts
    if facts.action_count is None or facts.masked or not facts.fresh:
        return -math.inf
    return math.log(facts.action_count)


def action_std_collapse(e: Evidence) -> Seen | None:
    if e.promising:
        return None
    for part, key, std, start in _spreads(e):
        if std <= limits.STD_COLLAPSED * start:
            return Seen(key, f"a std of {std:.3g} for {part.words}, down from {start:.3g}")
    return None


def action_std_explosion(e: Evidence) -> Seen | None:
    """By the bounds where there are any, however wide it began; else by what it began with."""
    if e.reached:
        return None
    for part, key, std, start in _spreads(e):
        limit = BOX_WIDEST if part.bounded else max(BOX_WIDEST, 2.5 * start)
        if std >= limit:
            where = "where bounds are ±1" if part.bounded else f"up from {start:.3g}"
            return Seen(key, f"a std of {std:.3g} for {part.words}, {where}")
    return None


def _spreads(e: Evidence) -> Iterator[tuple[Component, str, float, float]]:
    """The noise of each number of a Box action, or of all: its metric, recently, at the start."""
    parts = list(e.facts.components())
    if all(e.first(f"policy/std{part.suffix}") is None for part in parts):  # too many of them
        parts = [Component("", None, all(part.bounded for part in parts))]
    for part in parts:
        key = f"policy/std{part.suffix}"
        std, start = e.recent(key), e.first(key)
        if std is not None and start is not None:
            yield part, key, std, start


def kl_high(e: Evidence) -> Seen | None:
    kl, limit = e.recent("policy/approx_kl"), limits.kl_limit(e.facts.clips, _target_kl(e))
    if kl is None or kl <= limit:
        return None
    return Seen("policy/approx_kl", f"a mean KL of {kl:.3g} per update, above {limit:.3g}")


def kl_low(e: Evidence) -> Seen | None:
    kl, limit = e.recent("policy/approx_kl"), limits.kl_floor(_target_kl(e))
    if kl is None or kl >= limit or _is_still_on_purpose(e):
        return None
    return Seen("policy/approx_kl", f"a mean KL of {kl:.3g} per update, below {limit:.3g}")


def _target_kl(e: Evidence) -> float | None:
    return e.metrics.get("hp/algo.target_kl", e.facts.target_kl)


def _is_still_on_purpose(e: Evidence) -> bool:
    """A policy that hardly moves: because it need not, was set up so, or no longer can."""
    lr, peak = e.recent("hp/algo.lr"), e.facts.lr_peak or e.peak("hp/algo.lr")
    faded = lr is not None and peak is not None and lr < limits.FADED * peak
    return faded or e.promising or _is_collapsed(e)


def kl_disagreement(e: Evidence) -> Seen | None:
    k1, k3 = e.recent("policy/kl"), e.recent("policy/approx_kl")
    if k1 is None or k3 is None:
        return None
    small, large = sorted((abs(k1), abs(k3)))
    if large < 0.02 or large <= 2 * small:
        return None
    return Seen("policy/kl", f"two estimates of the same KL that differ: {k1:.3g} and {k3:.3g}")


def clip_high(e: Evidence) -> Seen | None:
    fraction, clip = e.recent("policy/clip_fraction"), e.recent("hp/algo.clip")
    peak = e.peak("hp/algo.clip")
    narrowed = clip is not None and peak is not None and clip < 0.5 * peak
    if fraction is None or fraction <= limits.CLIPPED_HIGH or narrowed:
        return None
    return Seen("policy/clip_fraction", f"{fraction:.0%} of the samples outside the clip range")


def clip_low(e: Evidence) -> Seen | None:
    fraction = e.recent("policy/clip_fraction")
    if fraction is None or fraction >= limits.CLIPPED_LOW or _is_still_on_purpose(e):
        return None
    return Seen("policy/clip_fraction", f"{fraction:.2%} of the samples outside the clip range")


def explained_variance_low(e: Evidence) -> Seen | None:
    explained = e.recent("value/explained_variance")
    if explained is None or explained >= limits.EXPLAINS_NOTHING:
        return None
    if e.promising or not _returns_vary(e):
        return None
    key = "value/explained_variance"
    return Seen(key, f"a critic that explains {explained:.3g} of the returns' variance")


def _returns_vary(e: Evidence) -> bool:
    """Of returns that are all alike there is nothing to explain."""
    mean, std = e.recent("return/mean"), e.recent("return/std")
    return mean is None or std is None or std > max(0.02 * abs(mean), 1e-6)


def gradient_explosion(e: Evidence) -> Seen | None:
    norm, usual = e.recent("grad/norm"), e.usual("grad/norm")
    limit = e.metrics.get("hp/algo.max_grad_norm")
    if norm is None:
        return None
    if limit is not None and norm > limits.GRADIENT_TIMES * limit:
        text = f"gradients of norm {norm:.3g}, cut to algo.max_grad_norm = {limit:.3g}"
        return Seen("grad/norm", text)
    if usual is not None and norm > max(10.0, 50 * usual):
        return Seen("grad/norm", f"gradients of norm {norm:.3g}, against {usual:.3g} as a rule")
    return None


def dead_units(e: Evidence) -> Seen | None:
    dead, start = e.recent("net/dead_units"), e.first("net/dead_units")
    if dead is None or start is None or e.metrics.get("obs/std", 1.0) == 0:
        return None
    # In images much never changes, so that a large share at the start means nothing.
    too_many = dead > limits.DEAD and not e.facts.images and start < 0.999
    if not too_many and dead < start + 0.25:
        return None
    return Seen("net/dead_units", f"{dead:.0%} of the units dead, {start:.0%} at the start")


def samples_lost(e: Evidence) -> Seen | None:
    lost = e.recent("rollout/lost")
    if lost is None or lost < 0.05:
        return None
    return Seen("rollout/lost", f"{lost:.0%} of the samples lost to failing environments")


def intrinsic_dominates(e: Evidence) -> Seen | None:
    """Where the environment has rewarded something, and the score does not rise.

    A share of 1 says that nothing was found yet, which is what such a reward is for.
    """
    shares = {name: e.recent(f"intrinsic/{name}/share") for name in e.facts.intrinsic}
    for name, share in shares.items():
        if share is not None and limits.INTRINSIC_MOST < share < 1 and not e.promising:
            text = f"{share:.1%} of the reward's size from {name}, and a score that does not rise"
            return Seen(f"intrinsic/{name}/share", text)
    return None


def counts_exhausted(e: Evidence) -> Seen | None:
    for name in e.facts.counted:
        now, peak = e.recent(f"reward/{name}"), e.peak(f"reward/{name}")
        if now is None or not peak or now > limits.EXHAUSTED * peak or e.promising:
            continue
        text = f"{name} at {now:.3g} an episode, {peak:.3g} at its peak, and a score that does not"
        return Seen(f"reward/{name}", f"{text} rise")
    return None


def core_saturated(e: Evidence) -> Seen | None:
    share = e.recent("core/saturated")
    if share is None or share <= limits.SATURATED or e.promising:
        return None
    return Seen("core/saturated", f"{share:.0%} of what the core remembers at its bounds")


def fps_drop(e: Evidence) -> Seen | None:
    usual, now = e.usual("time/fps"), e.recent("time/fps")
    if usual is None or now is None or now >= 0.5 * usual:
        return None
    return Seen("time/fps", f"{now:,.0f} env steps/s, against {usual:,.0f} as a rule")


def score_flat(e: Evidence) -> Seen | None:
    early = e.env_steps < 20_000 or e.metrics.get("run/progress", 1.0) < 0.2
    if e.curve.quarters is None or e.reached or early:
        return None
    before, last = e.curve.quarters
    spread, by_chance = max(before.std, last.std), math.hypot(before.error, last.error)
    gain = last.mean - before.mean
    if not -max(0.1 * spread, 3 * by_chance) <= gain <= min(0.1 * spread, 2 * by_chance):
        return None
    text = f"a score of {last.mean:.4g} in the last quarter of the run, {before.mean:.4g} in the"
    return Seen("train/score", f"{text} one before")


def score_falling(e: Evidence) -> Seen | None:
    start, best, recent = e.curve.start, e.curve.best, e.curve.recent
    if start is None or best is None or recent is None or e.reached:
        return None
    drop, gain = best.mean - recent.mean, best.mean - start.mean
    if drop < 4 * math.hypot(best.error, recent.error) or drop <= 0:
        return None
    lost_half = gain >= start.std and drop >= 0.5 * gain
    if not lost_half and drop < max(best.std, recent.std):
        return None
    return Seen("train/score", f"a score of {recent.mean:.4g}, down from {best.mean:.4g}")


def reward_without_score(e: Evidence) -> Seen | None:
    if e.curve.quarters is None or e.curve.reward_quarters is None or e.reached:
        return None
    (score, score_now), (reward, reward_now) = e.curve.quarters, e.curve.reward_quarters
    falls = score.mean - score_now.mean
    rises = reward_now.mean - reward.mean
    if falls <= max(0.2 * score.std, 3 * math.hypot(score.error, score_now.error)):
        return None
    if rises <= max(0.2 * reward.std, 3 * math.hypot(reward.error, reward_now.error)):
        return None
    text = f"the learner's return up from {reward.mean:.4g} to {reward_now.mean:.4g} while the"
    return Seen("train/reward", f"{text} score fell from {score.mean:.4g} to {score_now.mean:.4g}")


def eval_below_train(e: Evidence) -> Seen | None:
    recent = e.curve.recent
    if recent is None or e.reached or not e.evaluations:
        return None
    by_chance = recent.std * math.sqrt(1 / e.facts.eval_episodes + 1 / recent.n)
    gap = max(recent.std, 3 * by_chance, 0.05 * abs(recent.mean))
    if len(e.evaluations) < 3:
        if e.metrics.get("run/progress", 0.0) < _NEARLY_OVER:
            return None  # there will be more to judge by
        gap *= 2
    if any(trained - scored <= gap for scored, trained in e.evaluations):
        return None
    scored, trained = e.evaluations[-1]
    return Seen("eval/score", f"an evaluation score of {scored:.4g}, {trained:.4g} in training")


def greedy_loop(e: Evidence) -> Seen | None:
    """Evaluation episodes that end by the time limit where training's end by themselves."""
    stalled, cut = e.metrics.get("eval/stalled"), e.metrics.get("train/truncated")
    recent = e.curve.recent
    if stalled is None or cut is None or recent is None or not e.evaluations:
        return None
    scored, trained = e.evaluations[-1]
    is_told_apart = abs(scored - trained) > max(0.5 * recent.std, 0.05 * abs(trained))
    if not limits.is_looping(stalled, cut) or not is_told_apart:
        return None
    text = f"{stalled:.0%} of the evaluation episodes cut by the time limit without reward in"
    return Seen("eval/stalled", f"{text} their second half, {cut:.0%} cut in training")
