"""The alert rules as data: id, level, who judges, when, how long it must last, what to try.

Each id is a heading in docs/troubleshooting.md. Advice names settings of the config, most
promising first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from spotter.metrics import judges
from spotter.metrics.evidence import Clock, Evidence
from spotter.metrics.facts import Facts
from spotter.metrics.judges import Seen

Level = Literal["info", "warning", "critical"]
_LEVELS: Final = ("critical", "warning", "info")


def urgency(level: str) -> int:
    """0 for the most serious level; an unknown one comes last."""
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _always(facts: Facts) -> bool:
    return True


def _starts_uniform(facts: Facts) -> bool:
    """Whether the first policy should be uniform over its choices, or centred in its bounds."""
    return facts.fresh and not facts.masked


def _moves_by_clipping(facts: Facts) -> bool:
    return facts.clips and not facts.single_step


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can go wrong."""

    id: str
    level: Level
    judge: Callable[[Evidence], Seen | None]
    advice: str
    clock: Clock = "block"
    """When it is judged."""
    rise: int = 2
    """Judgements in a row before it speaks."""
    fall: int = 2
    """Fine ones in a row before it is silent again."""
    lasting_s: float = 0.0
    """Seconds it must have been so before it speaks."""
    applies: Callable[[Facts], bool] = _always


RULES: Final = (
    Rule(
        "not-finite",
        "critical",
        judges.not_finite,
        "go back to the last good checkpoint with a lower algo.lr; set algo.max_grad_norm; look "
        "for NaN or huge numbers in observations and rewards",
        clock="row",
        rise=1,
        fall=1,
    ),
    Rule(
        "out-of-bounds",
        "critical",
        judges.out_of_bounds,
        "this is a bug in the environment, a plug-in or Spotter, not in your settings: report it",
        clock="row",
        rise=1,
        fall=1,
    ),
    Rule(
        "stuck-counter",
        "critical",
        judges.stuck_counter,
        "this is a bug in the environment back-end or in Spotter: try env.backend=sync and report "
        "it",
        clock="row",
        rise=1,
        fall=1,
    ),
    Rule(
        "samples-lost",
        "warning",
        judges.samples_lost,
        "read the faults in events.jsonl and mend the environment; raise env.timeout_s if it is "
        "only slow",
    ),
    Rule(
        "initial-action-mean",
        "warning",
        judges.initial_action_mean,
        "lower policy.policy_gain, keep policy.orthogonal on, set policy.normalize_obs",
        clock="row",
        rise=1,
        fall=10,
        applies=_starts_uniform,
    ),
    Rule(
        "initial-action-std",
        "warning",
        judges.initial_action_std,
        "lower policy.policy_gain, keep policy.orthogonal on, set policy.normalize_obs",
        clock="row",
        rise=1,
        fall=10,
        applies=_starts_uniform,
    ),
    Rule(
        "score-falling",
        "warning",
        judges.score_falling,
        "lower algo.lr or let it fade by a schedule; set algo.target_kl; fewer algo.epochs",
        clock="curve",
        rise=3,
    ),
    Rule(
        "score-flat",
        "info",
        judges.score_flat,
        "look at the other alerts first; then raise algo.entropy, algo.gamma or env.count, or "
        "shape the reward",
        clock="curve",
        rise=3,
    ),
    Rule(
        "reward-without-score",
        "warning",
        judges.reward_without_score,
        "lower the weight in reward.signals, let it fade by a schedule, or pay it as a potential",
        clock="curve",
        rise=3,
        applies=lambda facts: facts.shaped,
    ),
    Rule(
        "eval-below-train",
        "warning",
        judges.eval_below_train,
        "set eval.deterministic=false; if that helps, lower algo.entropy towards the end",
        clock="evaluation",
        rise=1,
        fall=1,
    ),
    Rule(
        "greedy-loop",
        "warning",
        judges.greedy_loop,
        "set eval.deterministic=false, or train longer; a score of games that were cut says little",
        clock="evaluation",
        fall=1,
        applies=lambda facts: facts.greedy,
    ),
    Rule(
        "entropy-collapse",
        "warning",
        judges.entropy_collapse,
        "raise algo.entropy, lower algo.lr, or set algo.target_kl",
    ),
    Rule(
        "action-std-collapse",
        "warning",
        judges.action_std_collapse,
        "raise algo.entropy, lower algo.lr, or set reward.normalize",
        applies=lambda facts: facts.action_kind == "box",
    ),
    Rule(
        "action-std-explosion",
        "warning",
        judges.action_std_explosion,
        "lower algo.entropy and algo.lr; lower policy.log_std, or set policy.squash",
        applies=lambda facts: facts.action_kind == "box",
    ),
    Rule(
        "kl-high",
        "warning",
        judges.kl_high,
        "lower algo.lr, set algo.target_kl, or take fewer algo.epochs",
    ),
    Rule(
        "kl-low",
        "warning",
        judges.kl_low,
        "raise algo.lr; if grad/norm is far above algo.max_grad_norm, set reward.scale or "
        "policy.normalize_values",
        rise=3,
        applies=_moves_by_clipping,
    ),
    Rule(
        "kl-disagreement",
        "info",
        judges.kl_disagreement,
        "lower algo.lr: a few samples carry most of the update",
        rise=3,
        applies=lambda facts: facts.clips,
    ),
    Rule(
        "clip-high",
        "warning",
        judges.clip_high,
        "lower algo.lr, take fewer algo.epochs, or set algo.target_kl",
        rise=3,
        applies=lambda facts: facts.clips,
    ),
    Rule(
        "clip-low",
        "info",
        judges.clip_low,
        "raise algo.lr or algo.epochs",
        rise=3,
        applies=_moves_by_clipping,
    ),
    Rule(
        "explained-variance-low",
        "warning",
        judges.explained_variance_low,
        "set reward.scale or policy.normalize_values; raise algo.critic_lr; check algo.gamma",
        rise=12,
        applies=lambda facts: facts.critic,
    ),
    Rule(
        "gradient-explosion",
        "warning",
        judges.gradient_explosion,
        "set reward.scale, reward.normalize or policy.normalize_values; lower algo.lr; keep "
        "algo.max_grad_norm on",
    ),
    Rule(
        "dead-units",
        "warning",
        judges.dead_units,
        "lower algo.lr; set policy.activation=tanh, or policy.norm=layer",
        rise=3,
    ),
    Rule(
        "fps-drop",
        "warning",
        judges.fps_drop,
        "see what else runs on the machine; look which of the time/*_s metrics has grown",
        lasting_s=60.0,
    ),
)

IDS: Final = tuple(rule.id for rule in RULES)


def unknown_ids(ids: Iterable[str]) -> list[str]:
    """Those that are no alert's id."""
    return [name for name in ids if name not in IDS]
