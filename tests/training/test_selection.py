"""Which weights are kept: by evaluation, by fresh episodes where it is close, solved before all."""

from dataclasses import replace

import pytest

from spotter.training.cadence import Plan
from spotter.training.evaluate import Stopped
from spotter.training.selection import Candidate, Selection, snapshot
from spotter.training.training import Training
from spotter.types import Evaluation

N = 4
PLAN = Plan(N)


class Scripted(Selection):
    """Weights are one number: the mean score; each seed set adds its own luck per weights."""

    def __init__(self, config, luck, threshold=None):
        self._config = config.eval
        self._luck, self._threshold = luck, threshold
        self.best = None
        self.played = []

    def _play(self, candidate, seeds, part=0):
        (mean,) = candidate.weights.values()
        mean += self._luck.get((candidate.env_steps, seeds), 0.0)
        self.played.append((candidate.env_steps, seeds, part))
        scores = tuple(mean + spread for spread in (-3.0, -1.0, 1.0, 3.0))
        return Evaluation(
            candidate.env_steps, scores, (10,) * N, self._threshold, seeds, True, parts=1
        )


@pytest.fixture
def select(make_config):
    def make(luck=None, threshold=None, **settings):
        config = make_config("CartPole-v1", eval={"episodes": N, **settings})
        return Scripted(config, luck or {}, threshold)

    return make


def test_a_clear_winner_replaces_the_best_at_once(select):
    selection = select()
    assert selection.consider({"w": 10.0}, 100, PLAN).is_best
    scored = selection.consider({"w": 50.0}, 200, PLAN)
    assert scored.is_best and scored.rival is None
    assert [seeds for _, seeds, _ in selection.played] == ["eval", "eval"]
    assert not selection.consider({"w": 20.0}, 300, PLAN).is_best
    assert selection.best.env_steps == 200


def test_a_lucky_candidate_does_not_replace_a_better_policy(select):
    """Lucky on the evaluation seeds, worse on fresh ones."""
    selection = select(luck={(200, "eval"): 3.0})
    selection.consider({"w": 10.0}, 100, PLAN)
    scored = selection.consider({"w": 8.0}, 200, PLAN)
    assert scored.candidate.evaluation.score > 10.0
    assert not scored.is_best
    assert selection.best.env_steps == 100
    assert selection.best.interval.count == 2 * N, "what it played for this counts from now on"
    assert scored.confirm_steps == 2 * N * 10


def test_both_play_the_same_fresh_episodes_until_it_is_clear(select):
    """Differences seed by seed are constant here, so that one round is enough."""
    selection = select()
    selection.consider({"w": 10.0}, 100, PLAN)
    assert selection.consider({"w": 11.0}, 200, Plan(N, 10_000)).is_best
    assert selection.played[2:] == [(200, "confirm", 0), (100, "confirm", 0)]


def test_what_the_best_has_played_is_not_played_again(select):
    selection = select()
    for steps, score in ((100, 10.0), (200, 11.0), (300, 12.0)):
        selection.consider({"w": score}, steps, PLAN)
    assert selection.played.count((200, "confirm", 0)) == 1


def test_confirmations_end_with_their_allowance(select):
    selection = select(luck={(200, "eval"): 2.0, (200, "confirm"): -1.0})
    selection.consider({"w": 10.0}, 100, PLAN)
    one = replace(selection.best)
    assert selection.consider({"w": 10.0}, 200, PLAN).confirm_steps == 2 * N * 10
    more = select(luck={(200, "eval"): 2.0, (200, "confirm"): -1.0})
    more.best = one
    assert more.consider({"w": 10.0}, 200, Plan(N, 500)).confirm_steps > 2 * N * 10


def test_a_confirmation_that_the_share_has_no_room_for_is_not_begun(select):
    """Greedy episodes may be ten times as long as those the evaluation was planned by."""
    round_steps = 2 * N * 10
    for room, played in ((round_steps - 1, 0), (round_steps, round_steps)):
        selection = select()
        selection.consider({"w": 10.0}, 100, PLAN)
        plan = Plan(N, room, must_confirm=False)
        scored = selection.consider({"w": 11.0}, 200, plan)
        assert (scored.confirm_steps, scored.is_best) == (played, True)
    assert selection.consider({"w": 5.0}, 300, plan).candidate.env_steps == 300
    assert selection.best.env_steps == 200, "the higher mean stays"


def test_solved_once_is_solved(select):
    """Of two that pass the evaluation, only the first passes the test."""
    luck = {(200, "test"): -20.0}
    selection = select(luck, threshold=10.0, stop_when_solved=False)
    selection.best = Candidate(
        100,
        {"w": 10.0},
        Evaluation(100, (10.0,) * N, (10,) * N, 10.0, "eval", True),
        None,
        Evaluation(100, (11.0,) * N, (10,) * N, 10.0, "test", True),
    )
    assert not selection.consider({"w": 20.0}, 200, PLAN).is_best
    assert selection.best.is_solved
    assert selection.consider({"w": 30.0}, 300, PLAN).is_best, "solved, and better"
    assert selection.best.env_steps == 300


def test_solved_is_said_after_enough_episodes(select):
    plan = Plan(N, claim=10)
    solved = select(threshold=40.0)
    assert len(solved.consider({"w": 50.0}, 100, plan).candidate.test.scores) == 12
    unsolved = select(threshold=40.0)
    unsolved.consider({"w": 10.0}, 100, plan)
    assert len(unsolved.test({"w": 10.0}, 100, plan).test.scores) == N, "nothing to confirm"
    lucky = select(luck={(100, "test"): -20.0}, threshold=40.0)
    assert len(lucky.consider({"w": 50.0}, 100, plan).candidate.test.scores) == N


def test_the_test_is_of_the_best_and_is_made_once(select):
    selection = select()
    selection.consider({"w": 50.0}, 100, PLAN)
    selection.consider({"w": 10.0}, 200, PLAN)
    tested = selection.test({"w": 10.0}, 200, PLAN)
    assert (tested.env_steps, tested.test.score) == (100, 50.0)
    selection.test({"w": 10.0}, 200, PLAN)
    assert [seeds for _, seeds, _ in selection.played].count("test") == 1


def test_without_evaluations_the_last_weights_are_tested(select):
    selection = select()
    assert selection.test({"w": 7.0}, 500, PLAN).test.score == 7.0
    assert selection.best.facts()["best"] is None
    assert selection.best.pointer()["seeds"] == "test"
    assert selection.consider({"w": 1.0}, 600, PLAN).is_best, "evaluated weights rank before those"


def test_other_terms_of_evaluation_have_the_best_evaluated_again(select):
    selection = select()
    selection.consider({"w": 10.0}, 100, PLAN)
    old = selection.best.evaluation
    selection.best = replace(selection.best, evaluation=replace(old, deterministic=False))
    selection.consider({"w": 1.0}, 200, PLAN)
    assert selection.played.count((100, "eval", 0)) == 2


def test_a_stop_leaves_the_ranking_as_it_was(make_config):
    config = make_config("CartPole-v1", eval={"episodes": N})
    with Training(config) as training:
        selection = Selection(config, training.policy, lambda: True)
        with pytest.raises(Stopped):
            selection.consider(snapshot(training.policy), 0, PLAN)
        assert selection.best is None
        selection.close()


def test_blackjack_keeps_the_better_policy(make_config):
    """Twenty episodes say little about Blackjack; the confirmation plays until it is clear."""
    import torch

    config = make_config("Blackjack-v1", eval={"episodes": 20})
    with Training(config) as training:
        good, bad = snapshot(training.policy), snapshot(training.policy)
        for weights in (good, bad):
            weights["policy_head.linear.weight"].zero_()
        good["policy_head.linear.bias"].copy_(torch.tensor([5.0, -5.0]))  # always stand
        bad["policy_head.linear.bias"].copy_(torch.tensor([-5.0, 5.0]))  # always hit
        selection = Selection(config, training.policy)
        selection.consider(bad, 1000, Plan(20, 100))
        assert selection.consider(good, 2000, Plan(20, 200)).is_best
        assert not selection.consider(bad, 3000, Plan(20, 300)).is_best
        selection.close()
