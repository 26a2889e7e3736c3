"""How the doctor recognises what keeps a run from learning; judged only where it did not succeed.

Each function looks at the whole history and says what it found with its numbers, or None. What
distinguishes causes with the same symptom stands beside the number that does it.
"""

import math

from spotter.diagnose import thresholds as limits
from spotter.diagnose.doctor.case import FEWEST_ROWS, Case
from spotter.diagnose.doctor.changes import more_entropy, number, power, scaled, to, whole
from spotter.diagnose.doctor.found import Found, at_steps

_LR_USUAL = 1e-3
_LR_HIGH = 4e-3
_LR_LOW = 5e-5
_LR_USUAL_SGD = 0.1
_MANY_GRADIENT_STEPS = 150
_KL = "policy/approx_kl"


def _target_kl(case: Case) -> float | None:
    target = case.number("algo.target_kl")
    return target if math.isfinite(target) else None


def _moves_too_far(case: Case) -> bool:
    return case.highest(_KL) > limits.kl_limit(case.is_clipped, _target_kl(case))


def _hardly_moves(case: Case) -> bool:
    """Of a single step KL is measured before it is made, and says nothing."""
    blind = case.is_clipped and case.gradient_steps <= 1
    return not blind and case.highest(_KL) < limits.kl_floor(_target_kl(case))


def _kl_words(case: Case) -> str:
    return f"policy/approx_kl at most {case.highest(_KL):.2g}, {case.late(_KL):.2g} at the end"


def _first(case: Case, key: str) -> float:
    values = case.values(key)
    return float(values[0]) if len(values) else math.nan


def starts_certain(case: Case) -> Found | None:
    """Certain before anything was learnt: no later number can be its cause."""
    entropy, gain = _first(case, "policy/entropy"), case.number("policy.policy_gain")
    fresh = not case.info.get("parent")
    if case.actions is None or not fresh or not entropy < 0.5 * math.log(max(2, case.actions)):
        return None
    if not gain > 0.1 and "initial-action-mean" not in case.alerts:
        return None
    most = math.log(case.actions)
    return Found(
        "The fresh policy is already certain of its actions, so it explores little from the start.",
        (f"policy/entropy {entropy:.2g} nats on the first row, where even chances have {most:.2g}",
         f"policy.policy_gain={gain:g}"),
        (to("policy.policy_gain", 0.01) if gain > 0.01 else to("policy.normalize_obs", "running"),),
    )  # fmt: skip


def lr_too_high(case: Case) -> Found | None:
    lr = case.whole("hp/algo.lr")  # as a rule: one peak at the start is another story
    sgd = case.setting("algo.optimizer") == "sgd"
    if not _moves_too_far(case) or not lr > 0 or not (lr >= _LR_HIGH or sgd):
        return None
    wished = min(lr / 10, _LR_USUAL) if not sgd else lr / 10
    evidence = [f"algo.lr at {lr:.2g}, where {_LR_USUAL:g} is a common upper end", _kl_words(case)]
    if case.late("policy/entropy") < limits.COLLAPSED * abs(_first(case, "policy/entropy")):
        evidence.append(f"policy/entropy {case.late('policy/entropy'):.2g} nats at the end")
    return Found(
        "The learning rate is too high: each update moves the policy further than its data allow.",
        tuple(evidence),
        (scaled(case, "algo.lr", wished / lr),),
    )


def epochs_too_many(case: Case) -> Found | None:
    """As a learning rate that is too high, where the rate itself is an ordinary one."""
    steps, lr = case.gradient_steps, case.lr
    if not _moves_too_far(case) or lr >= _LR_HIGH or steps < _MANY_GRADIENT_STEPS:
        return None
    epochs = case.number("algo.epochs", 1)
    fewer = whole(max(1.0, epochs * min(0.25, 60 / steps)))
    return Found(
        "Every rollout is learnt from too often: the policy fits old samples and overshoots.",
        (f"{steps:,.0f} gradient steps per update (algo.epochs={epochs:g}, "
         f"minibatches of {case.minibatch:,.0f} out of {case.rollout:,.0f})", _kl_words(case)),
        (to("algo.epochs", fewer),) if fewer < epochs else (),
    )  # fmt: skip


def clip_too_wide(case: Case) -> Found | None:
    clip = case.number("algo.clip")
    if not case.is_clipped or not clip > 0.5 or not _moves_too_far(case):
        return None
    return Found(
        "The clip range is so wide that nothing holds an update back.",
        (f"algo.clip={clip:g}, where 0.1 to 0.3 is usual", _kl_words(case)),
        (to("algo.clip", 0.2),),
    )


def clip_too_narrow(case: Case) -> Found | None:
    """Most samples are outside the range although the policy hardly moves."""
    clip, outside = case.number("algo.clip"), case.highest("policy/clip_fraction")
    if not case.is_clipped or not clip < 0.05 or not outside > 0.3 or _moves_too_far(case):
        return None
    return Found(
        "The clip range is so narrow that most samples teach nothing.",
        (f"algo.clip={clip:g}, where 0.1 to 0.3 is usual",
         f"policy/clip_fraction up to {outside:.0%} at a KL of only {case.highest(_KL):.2g}"),
        (to("algo.clip", 0.2),),
    )  # fmt: skip


def value_dominates(case: Case) -> Found | None:
    """In a shared trunk the critic's gradient drowns the policy's; returns are of ordinary size."""
    ratio = case.late("grad/value_head") / max(1e-12, case.late("grad/policy_head"))
    weight, shared = case.number("algo.value_weight"), case.setting("policy.shared")
    is_shared = shared or (shared is None and case.images)
    if not is_shared or not ratio > 100 or not weight > 1 or case.whole(_KL) > limits.KL_USUAL:
        return None
    return Found(
        "The critic takes over the shared network: next to its gradient the policy's is nothing.",
        (f"grad/value_head is {ratio:,.0f} times grad/policy_head at the end",
         f"algo.value_weight={weight:g}, loss/value {case.late('loss/value'):.3g}, "
         f"loss/policy {case.late('loss/policy'):.2g}"),
        (to("algo.value_weight", 0.5),),
    )  # fmt: skip


def reward_too_large(case: Case) -> Found | None:
    size = max(abs(case.late("return/mean")), case.late("return/std"))
    norm, limit = case.late("grad/norm"), case.number("algo.max_grad_norm")
    times = norm / (limit if math.isfinite(limit) else 5.0)
    blind = case.late("value/explained_variance") < 0.05
    enormous, large = size > 300 and times > 200, size > 50 and times > 500 and blind
    if case.setting("policy.normalize_values") or not (enormous or large):
        return None
    scale = case.number("reward.scale", 1.0)
    return Found(
        "Rewards are so large that the critic's errors use up the whole gradient.",
        (f"return/mean {case.late('return/mean'):,.4g} ± {case.late('return/std'):,.3g} at the end,"
         " where about ±10 is comfortable",
         f"grad/norm {norm:,.3g} against algo.max_grad_norm={limit:g}"),
        (to("reward.scale", power(scale * 10 / size)),),
    )  # fmt: skip


def reward_too_small(case: Case) -> Found | None:
    """Only where advantages are taken as they are; PPO brings them to one size."""
    normalizes = case.setting("algo.normalize_advantage")
    size = abs(case.late("rollout/reward_mean")) + case.late("rollout/reward_std")
    if normalizes or case.is_clipped or not size < 1e-3 or case.constant:
        return None
    if not size > 0:
        return None
    scale = case.number("reward.scale", 1.0)
    return Found(
        "Rewards are so small that next to noise in the critic they do not count.",
        (f"{size:.2g} per step as learnt from, advantage/std {case.late('advantage/std'):.2g}",
         f"reward.scale={scale:g}"),
        (to("reward.scale", power(scale / size)),),
    )  # fmt: skip


def observation_scale(case: Case) -> Found | None:
    mean, std = case.late("obs/mean"), case.late("obs/std")
    if not case.vector or case.setting("policy.normalize_obs"):
        return None
    if not max(abs(mean), std) > 50:
        return None
    return Found(
        "Observations are far too large for the network, whose units they saturate.",
        (f"obs/mean {mean:,.4g}, obs/std {std:,.4g}; the network works best near 0 ± 1",
         "policy.normalize_obs=null"),
        (to("policy.normalize_obs", "running"),),
    )  # fmt: skip


def not_normalised(case: Case) -> Found | None:
    """Continuous control on raw numbers, where no recipe shows that it can do without.

    Of all choices in PPO, normalised observations matter most (Andrychowicz et al., 2021).
    """
    if not (case.vector and case.continuous) or case.setting("policy.normalize_obs"):
        return None
    if case.recipe.solves or case.rising:
        return None
    raw = not case.setting("reward.normalize") and case.number("reward.scale", 1.0) == 1.0
    return Found(
        "The policy is given raw observations, whose numbers differ in size and meaning.",
        (f"policy.normalize_obs=null; obs/mean {case.late('obs/mean'):.3g}, obs/std "
         f"{case.late('obs/std'):.3g} over all numbers",
         f"reward.normalize={str(bool(case.setting('reward.normalize'))).lower()}; return/std "
         f"{_first(case, 'return/std'):.3g} at first, {case.late('return/std'):.3g} at the end"),
        (to("policy.normalize_obs", "running"), to("reward.normalize", True) if raw else ""),
    )  # fmt: skip


def gamma_too_low(case: Case) -> Found | None:
    gamma, length = case.number("algo.gamma"), case.highest("train/length")
    if not gamma < 1:
        return None
    horizon = 1 / (1 - gamma)
    if not (horizon < 10 and length > (3 if horizon < 3 else 5) * horizon):
        return None
    better = 1 - 1 / min(100.0, max(20.0, length))
    return Found(
        "The discount looks only a few steps ahead, while episodes are much longer.",
        (f"algo.gamma={gamma:g} looks {horizon:.3g} steps ahead; episodes last up to "
         f"{length:,.0f} (train/length)",),
        (to("algo.gamma", round(better, 3)),),
    )  # fmt: skip


def gamma_too_high(case: Case) -> Found | None:
    """Long returns are noise where the critic cannot explain them, or where they never settle."""
    gamma, explained = case.number("algo.gamma"), case.late("value/explained_variance")
    length = case.late("train/length")
    horizon = math.inf if gamma >= 1 else 1 / (1 - gamma)
    if not (horizon > 10 * length or gamma >= 1) or length < 20:
        return None
    if not explained < 0.2 and not _returns_run_away(case):
        return None
    return Found(
        "Returns reach further ahead than the critic can predict, so advantages are mostly noise.",
        (f"algo.gamma={gamma:g}, value/explained_variance {explained:.2g} at the end",
         f"return/mean {case.early('return/mean'):.3g} in the first quarter, "
         f"{case.late('return/mean'):.3g} in the last",
         f"episodes last {length:,.0f} steps"),
        (to("algo.gamma", 0.99),),
    )  # fmt: skip


def _returns_run_away(case: Case) -> bool:
    """Values are bootstrapped where a time limit cuts an episode: if it cuts them all and nothing
    is discounted, every target adds to the last one, and there is none they could settle at."""
    begin, end = abs(case.early("return/mean")), abs(case.late("return/mean"))
    return case.late("train/truncated") > 0.9 and end > 2 * begin


def batch_too_small(case: Case) -> Found | None:
    fewest = 64 if case.is_clipped else 16
    if not case.rollout < fewest or not math.isfinite(case.number("algo.steps")):
        return None
    count, steps = case.number("env.count", 1), case.number("algo.steps")
    more = max(steps, 32.0)
    overrides = [to("env.count", whole(max(count, 256 / more))), to("algo.steps", whole(more))]
    if case.is_clipped:
        overrides.append(to("algo.minibatch", 0.25))
    return Found(
        "Updates are made from too few samples: their direction is mostly chance.",
        (f"{case.rollout:.0f} samples per update (env.count={count:g} × algo.steps={steps:g}), "
         f"{case.minibatch:.0f} per gradient step",),
        tuple(overrides),
    )  # fmt: skip


def network_too_small(case: Case) -> Found | None:
    """No width at all is a choice, as in a table of states; a few units are a bottleneck."""
    hidden = case.setting("policy.hidden")
    if not hidden or not min(hidden) < 8:
        return None
    return Found(
        "The network is too small to distinguish situations.",
        (f"policy.hidden={hidden}, where [64, 64] is usual",
         f"value/explained_variance {case.late('value/explained_variance'):.2g} at the end"),
        (to("policy.hidden", None),),
    )  # fmt: skip


def updates_too_few(case: Case) -> Found | None:
    total = case.gradient_steps * case.history.updates
    if not total < 300 or case.env_steps < 5000 or case.rising or not case.rollout > 256:
        return None
    overrides = [to("algo.steps", whole(min(case.number("algo.steps", 128), 128)))]
    if case.is_clipped:
        overrides += [to("algo.minibatch", 0.25), to("algo.epochs", 10)]
    return Found(
        "Too few updates: the network has hardly been trained, however many steps were played.",
        (f"{total:,.0f} gradient steps in {case.env_steps:,} env steps "
         f"({case.history.updates:,} updates of {case.gradient_steps:g})",),
        tuple(overrides),
    )  # fmt: skip


def entropy_too_high(case: Case) -> Found | None:
    weight, bonus = case.number("algo.entropy"), abs(case.late("loss/entropy"))
    most = math.log(case.actions) if case.actions else math.nan
    uniform = case.late("policy/entropy") > 0.9 * most
    spread = case.late("policy/std") > 2 * _first(case, "policy/std")
    if not weight >= 0.05 or not (uniform or spread) or bonus < abs(case.late("loss/policy")):
        return None
    limit = f", of {most:.3g} at most" if case.actions else ""
    return Found(
        "The entropy bonus outweighs the reward: the policy is rewarded for staying random.",
        (f"algo.entropy={weight:g}, policy/entropy {case.late('policy/entropy'):.3g} nats at the "
         f"end{limit}",
         f"loss/entropy {case.late('loss/entropy'):.2g} against loss/policy "
         f"{case.late('loss/policy'):.2g}"),
        (to("algo.entropy", number(min(0.01, weight / 10))),),
    )  # fmt: skip


def lr_too_low(case: Case) -> Found | None:
    lr = case.lr
    sgd = case.setting("algo.optimizer") == "sgd"  # whose rate says nothing without its gradient
    if not _hardly_moves(case) or not (sgd or lr <= _LR_LOW) or case.history.rows < FEWEST_ROWS:
        return None
    kl = max(case.whole(_KL), 1e-12)
    factor = min(
        1000.0, max(3.0, math.sqrt(limits.KL_USUAL / kl))
    )  # KL grows with the rate squared
    usual = _LR_USUAL_SGD if sgd else _LR_USUAL
    change = to("algo.lr", usual)
    if lr > 0:
        change = scaled(case, "algo.lr", min(factor, max(3.0, usual / lr)))
    return Found(
        "The learning rate is too low: the policy hardly moves.",
        (f"algo.lr={lr:g}", f"{_kl_words(case)}; 0.003 to 0.03 is usual"),
        (change,),
    )


def actions_do_not_matter(case: Case) -> Found | None:
    """As random as at the start after long training at an ordinary rate, and nothing explained."""
    lr, explained = case.lr, case.late("value/explained_variance")
    most = math.log(case.actions) if case.actions else math.nan
    random = case.late("policy/entropy") > 0.95 * most
    if not random or not _hardly_moves(case) or not lr > _LR_LOW or case.env_steps < 15_000:
        return None
    if not abs(explained) < 0.02 or case.rising:
        return None
    return Found(
        "The policy's actions do not seem to change its reward.",
        (f"policy/entropy {case.late('policy/entropy'):.3g} nats after {case.env_steps:,} env "
         f"steps, of {most:.3g} at most, at algo.lr={lr:g}",
         f"value/explained_variance {explained:.2g}; {_kl_words(case)}"),
        then="Check the environment (spotter doctor without --no-environment): does step() use the "
        "action, and does the observation show what decides the reward?",
    )  # fmt: skip


def dead_units(case: Case) -> Found | None:
    dead, start = case.late("net/dead_units"), _first(case, "net/dead_units")
    alike = case.highest("obs/std") == 0 or case.late("return/std") < 1e-6
    if alike or not dead > limits.DEAD or case.images:
        return None
    activation = case.setting("policy.activation")
    first = to("policy.activation", "tanh") if activation == "relu" else to("policy.norm", "layer")
    return Found(
        "Most of the network is dead: its units give the same output whatever they see.",
        (f"net/dead_units {dead:.0%} at the end, {start:.0%} on the first row",
         f"policy.activation={activation or 'tanh'}, algo.lr up to {case.number('algo.lr'):g}"),
        (first,),
    )  # fmt: skip


def entropy_collapse(case: Case) -> Found | None:
    entropy, start = case.late("policy/entropy"), _first(case, "policy/entropy")
    most = math.log(case.actions) if case.actions else start
    if not limits.is_collapsed(entropy, start, most, case.action_numbers):
        return None
    weight = case.number("algo.entropy", 0.0)
    return Found(
        "The policy has become certain too early: what it does not try it cannot learn.",
        (f"policy/entropy {entropy:.2g} nats at the end, {start:.2g} on the first row",
         f"algo.entropy={weight:g}; score {at_steps(case, 'train/score')}"),
        (more_entropy(case),),
    )  # fmt: skip
