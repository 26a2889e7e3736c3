"""Alerts and doctor judge by one table."""

import inspect
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spotter.diagnose import judges, rules, thresholds
from spotter.diagnose.doctor import learning
from spotter.rundir.history import Curve
from tests.diagnose.rows import BOX, CATALOGUE, DISCRETE, Feed

NUMBER = re.compile(r"^_?[A-Z_]*(KL|COLLAPSED|DEAD|FADED)[A-Z_]*$")


def test_no_second_table():
    for module in (judges, learning):
        own = {name for name, value in vars(module).items() if isinstance(value, float)}
        assert not [name for name in own if NUMBER.match(name)], module.__name__


def test_limit_of_kl():
    assert thresholds.kl_limit(clips=True, target=None) == thresholds.KL_HIGH
    assert thresholds.kl_limit(clips=False, target=None) == thresholds.KL_HIGH_UNCLIPPED
    assert thresholds.kl_limit(clips=True, target=0.02) == 0.04


def test_a_small_target_lowers_what_counts_as_hardly_moving():
    assert thresholds.kl_floor(None) == thresholds.kl_floor(1.0) == thresholds.KL_LOW
    assert thresholds.kl_floor(1e-3) == 1e-4
    case = SimpleNamespace(
        is_clipped=True, gradient_steps=40, number=lambda path: 1e-3, highest=lambda key: 2e-4
    )
    assert not learning._hardly_moves(case), "a fifth of its target is no standstill"


@pytest.mark.parametrize(("drop", "collapsed"), [(8.0, False), (10.0, True)])
def test_entropy_of_three_numbers_collapses_for_alert_and_doctor_alike(drop, collapsed):
    """Three nats for each number of a Box action, not for all of them together."""
    box = replace(BOX, action_dims=3)
    feed = Feed(box).rows(1, {"policy/entropy": 4.0}).rows(60, {"policy/entropy": 4.0 - drop})
    assert ("entropy-collapse" in feed.fired) == collapsed
    curve = Curve(np.array([1.0, 2.0]), np.array([4.0, 4.0 - drop]))
    case = SimpleNamespace(
        late=lambda key: 4.0 - drop, values=lambda key: curve.values, actions=None,
        action_numbers=3, number=lambda path, default=0.0: default,
        history=SimpleNamespace(curve=lambda key: curve), knows=lambda path: False,
        setting=lambda path: None, settings={}, config=None,
    )  # fmt: skip
    assert (learning.entropy_collapse(case) is not None) == collapsed


def test_every_metric_that_an_alert_follows_is_declared_and_read():
    """A row of the table says what its judge looks at; no other metric is kept block by block."""
    for id, alert in rules.ALERTS.items():
        assert all(CATALOGUE.find(key) for key in alert.reads), id
    source = inspect.getsource(judges)
    assert [key for key in rules.FOLLOWED if f'"{key}' not in source] == []


def test_an_alert_about_small_steps_begins_where_the_doctor_does():
    still = {"policy/approx_kl": 0.99 * thresholds.KL_LOW, "policy/kl": 0.0}
    assert "kl-low" in Feed().rows(30, still).active
    moves = {"policy/approx_kl": 1.01 * thresholds.KL_LOW, "policy/kl": 0.0}
    assert "kl-low" not in Feed().rows(30, moves).fired


def test_a_single_step_has_no_kl_to_judge_by():
    once = replace(DISCRETE, single_step=True)
    nothing = {"policy/approx_kl": 0.0, "policy/kl": 0.0, "policy/clip_fraction": 0.0}
    assert not Feed(once).rows(30, nothing).fired & {"kl-low", "clip-low"}
    assert {"kl-low", "clip-low"} <= Feed().rows(30, nothing).fired
