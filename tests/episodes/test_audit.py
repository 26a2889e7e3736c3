"""The reward audit: what each part really paid."""

import numpy as np
import pytest

from spotter.episodes.audit import TOTAL, audit
from tests.episodes.making import trace


def paid(env, bonus, **fields):
    both = np.stack([np.float64(env), np.float64(bonus)], axis=1)
    return trace(
        reward=env,
        parts=("env", "bonus"),
        columns={"part": both, "training_reward": both.sum(axis=1)},
        **fields,
    )


def test_every_part_by_its_numbers():
    one = paid([1, 1, 1, 1], [0, 0, 0, 4])
    other = paid([1, 1], [-4, 0])
    env, bonus, total = audit([one, other])
    assert [env.name, bonus.name, total.name] == ["env", "bonus", TOTAL]
    assert (env.mean, env.std, env.minimum, env.maximum, env.steps_paid) == (1, 0, 1, 1, 1)
    assert bonus.steps == 6
    assert bonus.mean == 0
    assert bonus.steps_paid == pytest.approx(2 / 6)
    assert (bonus.minimum, bonus.maximum) == (-4, 4)
    assert env.total == 3, "per episode"
    assert env.share == pytest.approx(6 / 14)
    assert bonus.share == pytest.approx(8 / 14)
    assert total.total == 3
    assert sum(bonus.counts) == 6
    assert len(bonus.edges) == len(bonus.counts) + 1
    assert bonus.edges[0] == -4 and bonus.edges[-1] == 4


def test_a_step_that_pays_far_more_than_usual_is_found():
    quiet = [0.5, 0.6] * 20
    loud = [*quiet, 25.0, 0.0]
    bonus = audit([paid([0] * 40, quiet), paid([0] * 42, loud)])[1]
    assert [(o.trace, o.step, o.value) for o in bonus.outliers] == [(1, 40, 25.0)]


def test_rare_pay_is_no_outlier_because_nothing_is_paid_elsewhere():
    """A sparse reward of 1 is what this part pays, though nearly all steps have 0."""
    reward = np.zeros(500)
    reward[::50] = 1.0
    assert audit([paid(reward, np.zeros(500))])[0].outliers == ()


def test_a_part_that_always_pays_the_same_shows_the_exception():
    env = np.ones(50)
    env[7] = -100
    assert audit([paid(env, np.zeros(50))])[0].outliers[0].step == 7


def test_parts_that_only_some_traces_have_count_as_nothing_elsewhere():
    env, bonus, _ = audit([trace(reward=(1, 1)), paid([1, 1], [2, 2])])
    assert env.steps_paid == 1
    assert bonus.steps_paid == 0.5
    assert bonus.mean == 1


def test_no_traces_no_parts():
    assert audit([]) == []
