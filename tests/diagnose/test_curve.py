"""A whole run's scores in a few buckets: nothing is lost but detail."""

import json
import math
import random
import statistics

import pytest

from spotter.diagnose.curve import ScoreCurve
from spotter.types import Episode


def filled(scores: list[float], per_row: int = 3) -> ScoreCurve:
    curve = ScoreCurve()
    for i in range(0, len(scores), per_row):
        curve.add(
            [Episode(0, s, 1, True, 2 * s) for s in scores[i : i + per_row]], (i + per_row) * 10
        )
    return curve


def test_figures_match_the_plain_ones():
    draw = random.Random(1)
    scores = [1e6 + draw.gauss(0, 1) for _ in range(4096)]
    curve = filled(scores, per_row=4)
    assert curve.start.n >= 20
    assert curve.start.mean == pytest.approx(statistics.fmean(scores[: curve.start.n]))
    before, last = curve.quarters
    assert before.n + last.n == pytest.approx(2048, abs=200)
    closed = sum(bucket[1] for bucket in curve.state()["buckets"])
    tail = scores[closed - last.n : closed]
    assert last.mean == pytest.approx(statistics.fmean(tail), abs=1e-6)
    assert last.std == pytest.approx(statistics.pstdev(tail), rel=1e-6)
    rewards = curve.reward_quarters[1]
    assert rewards.mean == pytest.approx(2 * last.mean)
    assert rewards.std == pytest.approx(2 * last.std, rel=1e-6)


def test_the_best_is_remembered():
    curve = filled([10.0] * 100 + [90.0] * 100 + [10.0] * 100)
    assert curve.best.mean == pytest.approx(90.0)
    assert curve.recent.mean == pytest.approx(10.0)
    assert curve.start.mean == pytest.approx(10.0)


def test_too_few_episodes_give_no_figures():
    assert filled([1.0] * 9).start is None
    curve = filled([1.0] * 45)
    assert curve.start is not None
    assert curve.recent is None
    assert filled([1.0] * 150).quarters is None


def test_scores_that_are_not_finite_are_left_out():
    curve = filled([math.nan, math.inf, 5.0] * 100)
    assert curve.recent.mean == pytest.approx(5.0)
    assert not ScoreCurve().add([Episode(0, math.nan, 1, True)], 1)


def test_memory_is_bounded():
    curve = filled([float(i % 7) for i in range(30_000)])
    assert len(curve.state()["buckets"]) <= 64


def test_restored_it_goes_on_as_if_never_stopped():
    scores = [float(i % 13 + i / 50) for i in range(1200)]
    whole, first, second = filled(scores), filled(scores[:600]), ScoreCurve()
    second.restore(json.loads(json.dumps(first.state())))
    assert second.recent == first.recent
    assert second.quarters == first.quarters
    for i in range(600, 1200, 3):
        second.add([Episode(0, s, 1, True, 2 * s) for s in scores[i : i + 3]], (i + 3) * 10)
    assert second.state() == whole.state()
    assert (second.recent, second.quarters) == (whole.recent, whole.quarters)
