"""Alerts and doctor judge by one table."""

import re
from dataclasses import replace

from spotter.doctor import learning
from spotter.metrics import judges, thresholds
from tests.metrics.rows import DISCRETE, Feed

NUMBER = re.compile(r"^_?[A-Z_]*(KL|COLLAPSED|DEAD|FADED)[A-Z_]*$")


def test_no_second_table():
    for module in (judges, learning):
        own = {name for name, value in vars(module).items() if isinstance(value, float)}
        assert not [name for name in own if NUMBER.match(name)], module.__name__


def test_limit_of_kl():
    assert thresholds.kl_limit(clips=True, target=None) == thresholds.KL_HIGH
    assert thresholds.kl_limit(clips=False, target=None) == thresholds.KL_HIGH_UNCLIPPED
    assert thresholds.kl_limit(clips=True, target=0.02) == 0.04


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
