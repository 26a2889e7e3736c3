"""Which weights a run keeps as its best, by evaluation on held-out seeds.

The higher mean score wins. Where the 95 % intervals of candidate and best overlap, both play fresh
episodes of the `confirm` seeds first: among many noisy evaluations the highest is often luck.
Weights that solved the test seeds give way only to others that did. Weights are scored in a copy of
the policy, so training may run on meanwhile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Final

from torch import Tensor

from spotter.config import RunConfig
from spotter.intervals import Interval, interval
from spotter.policy.actor_critic import Policy
from spotter.training import checkpoint
from spotter.training.cadence import Plan
from spotter.training.evaluate import Evaluator, joined
from spotter.types import Evaluation, SeedSet

Weights = dict[str, Tensor]

_MOST_ROUNDS: Final = 32
"""Of one confirmation; with 20 episodes each, differences of 0.1 standard deviations show."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Some weights, and what they scored on each set of seeds."""

    env_steps: int
    """Of training, when it had these weights."""
    weights: Weights
    evaluation: Evaluation | None = None
    """None where a run is only tested at its end."""
    confirmation: Evaluation | None = None
    test: Evaluation | None = None

    @property
    def scores(self) -> tuple[float, ...]:
        """Of every episode that may rank weights: never those of the test."""
        evaluations = filter(None, (self.evaluation, self.confirmation))
        return tuple(score for one in evaluations for score in one.scores)

    @property
    def interval(self) -> Interval | None:
        return interval(self.scores) if self.scores else None

    @property
    def is_solved(self) -> bool:
        return self.test is not None and self.test.solved

    @property
    def parts(self) -> int:
        """Rounds of the confirm seeds it has played."""
        return self.confirmation.parts if self.confirmation else 0

    def evaluations(self) -> list[Evaluation]:
        return [one for one in (self.evaluation, self.confirmation, self.test) if one]

    def pointer(self) -> dict[str, object]:
        """What best.json says about it; ranked by `eval` seeds, or `test` where there are none."""
        ranked = self.interval or (self.test.interval if self.test else None)
        assert ranked is not None, "a candidate was scored"
        return {
            "score": ranked.mean,
            "interval": ranked.half,
            "episodes": ranked.count,
            "seeds": "eval" if self.evaluation else "test",
            "solved": self.is_solved,
        }

    def facts(self) -> dict[str, object]:
        """What run.json says about the weights that are kept."""
        ranked, test = self.interval, self.test
        return {
            "best": ranked.mean if ranked else None,
            "best_interval": ranked.half if ranked else None,
            "best_episodes": ranked.count if ranked else None,
            "best_env_steps": self.env_steps,
            "score": test.score if test else None,
            "score_interval": test.interval.half if test else None,
            "score_episodes": len(test.scores) if test else None,
            "score_env_steps": test.env_steps if test else None,
            "solved": test.solved if test else None,
        }


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of a candidate."""

    candidate: Candidate
    is_best: bool
    plan: Plan
    rival: Candidate | None = None
    """The best before it, if that had to play again."""
    lengths: tuple[int, ...] = ()
    """Of all episodes that were played beside the confirmation."""
    confirm_steps: int = 0
    """Env steps played for the confirmation, by both."""
    seconds: float = 0.0
    """Of everything that was played."""


def snapshot(policy: Policy) -> Weights:
    """Weights and statistics that no later update changes."""
    return {name: value.detach().cpu().clone() for name, value in policy.state_dict().items()}


def read_candidate(step: Path) -> Candidate:
    """A scored checkpoint as a candidate again."""
    with checkpoint.reading(step):
        saved, scores = checkpoint.read(step), checkpoint.read_scores(step)
        played = {seeds: Evaluation.from_certificate(each) for seeds, each in scores.items()}
        return Candidate(
            saved.env_steps,
            dict(saved.weights),
            played.get("eval"),
            played.get("confirm"),
            played.get("test"),
        )


class Selection:
    """Scores candidates one after another and knows the best so far."""

    def __init__(
        self, config: RunConfig, policy: Policy, stop: Callable[[], bool] = lambda: False
    ) -> None:
        """`policy` acts with the weights that are scored; it must not be used elsewhere."""
        self._config = config.eval
        self._policy = policy
        self._evaluator = Evaluator(config, stop)
        self._plan = Plan(config.eval.most_episodes)
        self.best: Candidate | None = None

    def consider(self, weights: Mapping[str, Tensor], env_steps: int, plan: Plan) -> Scored:
        """Evaluate weights and rank them.

        Raises `Stopped` when asked to stop meanwhile; the ranking is as it was then.
        """
        began, self._plan = perf_counter(), plan
        candidate = Candidate(env_steps, dict(weights))
        candidate = replace(candidate, evaluation=self._play(candidate, "eval"))
        best = self._on_same_terms(candidate)
        assert candidate.evaluation is not None
        if candidate.evaluation.solved and (
            self._config.stop_when_solved or (best and best.is_solved)
        ):
            # one lucky set of seeds ends no run
            candidate = self._tested(candidate)
        scored = self._rank(candidate, best)
        self.best = scored.candidate if scored.is_best else scored.rival or best
        played = filter(None, (candidate.evaluation, candidate.test))
        lengths = tuple(length for one in played for length in one.lengths)
        return replace(scored, lengths=lengths, seconds=perf_counter() - began)

    def test(self, weights: Mapping[str, Tensor], env_steps: int, plan: Plan) -> Candidate:
        """The best on the test seeds; `weights` where nothing was evaluated before."""
        self._plan = plan
        best = self.best or Candidate(env_steps, dict(weights))
        if best.test is None:
            best = self._tested(best)
        self.best = best
        return best

    def close(self) -> None:
        self._evaluator.close()

    def _tested(self, candidate: Candidate) -> Candidate:
        parts = [self._play(candidate, "test", part) for part in range(self._plan.test_parts)]
        while (test := joined(parts)).solved and len(test.scores) < self._plan.claim:
            parts.append(self._play(candidate, "test", len(parts)))  # few may be lucky
        return replace(candidate, test=test)

    def _rank(self, candidate: Candidate, best: Candidate | None) -> Scored:
        if best is None or candidate.is_solved != best.is_solved:
            return Scored(candidate, best is None or candidate.is_solved, self._plan)
        ours, theirs = candidate.interval, best.interval
        if ours is None or theirs is None:  # weights that were only tested rank below all others
            return Scored(candidate, theirs is None, self._plan)
        is_clear = ours.mean <= theirs.mean or not ours.overlaps(theirs)
        if is_clear or not self._affords_confirmation(candidate, best):
            return Scored(candidate, ours.mean > theirs.mean, self._plan)
        return self._confirm(candidate, best)

    def _affords_confirmation(self, candidate: Candidate, best: Candidate) -> bool:
        """Whether a first round, as long as the evaluation was, is within the steps left for it."""
        new = [one.evaluation for one in (candidate, best) if one.evaluation and not one.parts]
        steps = sum(length for evaluation in new for length in evaluation.lengths)
        return self._plan.must_confirm or steps <= self._plan.confirm_steps

    def _confirm(self, candidate: Candidate, best: Candidate) -> Scored:
        """Both play the same fresh episodes until one is clearly better or the steps are spent."""
        before = _confirm_steps(best)
        for rounds in range(1, _MOST_ROUNDS + 1):
            candidate, best = self._play_up_to(candidate, rounds), self._play_up_to(best, rounds)
            spent = _confirm_steps(candidate) + _confirm_steps(best) - before
            lead = interval(_lead(candidate, best))
            with_another = spent + spent / rounds
            if lead.low > 0 or lead.high < 0 or with_another > self._plan.confirm_steps:
                break
        return Scored(candidate, lead.mean > 0, self._plan, best, confirm_steps=spent)

    def _play_up_to(self, candidate: Candidate, rounds: int) -> Candidate:
        played = [candidate.confirmation] if candidate.confirmation else []
        played += [
            self._play(candidate, "confirm", part) for part in range(candidate.parts, rounds)
        ]
        return replace(candidate, confirmation=joined(played)) if played else candidate

    def _on_same_terms(self, candidate: Candidate) -> Candidate | None:
        """The best, evaluated again where a resume changed what evaluations are."""
        best, now = self.best, candidate.evaluation
        assert now is not None
        if best is None or best.evaluation is None or _compares_with(best.evaluation, now):
            return best
        again = replace(best, evaluation=None, confirmation=None)
        return replace(again, evaluation=self._play(again, "eval"))

    def _play(self, candidate: Candidate, seeds: SeedSet, part: int = 0) -> Evaluation:
        self._policy.load_state_dict(candidate.weights)
        episodes = self._plan.episodes
        return self._evaluator.run(self._policy, candidate.env_steps, seeds, part, episodes)


def _compares_with(best: Evaluation, now: Evaluation) -> bool:
    """Whether both played the same game alike, and the best all episodes that `now` has."""
    played = len(now.scores)
    ours = (best.fingerprint, best.deterministic, best.env_seeds[:played])
    return len(best.scores) >= played and ours == (
        now.fingerprint,
        now.deterministic,
        now.env_seeds,
    )


def _confirm_steps(candidate: Candidate) -> int:
    return sum(candidate.confirmation.lengths) if candidate.confirmation else 0


def _lead(candidate: Candidate, best: Candidate) -> list[float]:
    """Score by score on the seeds both have played; the best may have played more of them."""
    return [a - b for a, b in zip(candidate.scores, best.scores, strict=False)]
