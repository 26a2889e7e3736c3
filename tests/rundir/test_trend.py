"""Curves whose course is known, told in numbers."""

import numpy as np
import pytest

from spotter.rundir.trend import trend

X = np.arange(1, 2001) * 512.0


def noise(seed: int, size: int = len(X)) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


def test_a_curve_without_a_finite_point_has_none():
    assert trend(np.array([]), np.array([])) is None
    assert trend(np.array([1.0, 2.0]), np.array([np.nan, np.inf])) is None


def test_extremes_and_ends_stand_where_they_were():
    y = np.array([3.0, np.nan, -5.0, 9.0, 4.0])
    found = trend(np.array([10.0, 20.0, 30.0, 40.0, 50.0]), y)
    assert found is not None
    assert (found.points, found.first, found.last) == (4, 3.0, 4.0)
    assert (found.least, found.least_at) == (-5.0, 30.0)
    assert (found.greatest, found.greatest_at) == (9.0, 40.0)


@pytest.mark.parametrize(("slope", "word"), [(0.002, "rising"), (-0.002, "falling")])
def test_a_ramp_keeps_its_slope_below_the_noise(slope, word):
    found = trend(X, slope * X / 1000 + 0.05 * noise(0))
    assert found is not None
    assert found.direction == word
    assert found.slope == pytest.approx(slope, rel=0.15)
    assert found.plateau_since is None


def test_slope_and_direction_are_about_the_last_quarter():
    end = X[-1]
    found = trend(X, np.where(0.75 * end > X, X, 1.5 * end - X))
    assert found is not None
    assert found.direction == "falling"
    assert found.slope == pytest.approx(-1000, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_no_direction_and_is_a_plateau_from_the_start(seed):
    found = trend(X, noise(seed))
    assert found is not None
    assert found.direction == "flat"
    assert found.plateau_since is not None
    assert found.plateau_since < 0.1 * X[-1]


def test_a_plateau_begins_where_the_rise_ends():
    knee = 0.4 * X[-1]
    found = trend(X, np.minimum(X, knee) / knee * 500 + 10 * noise(1))
    assert found is not None
    assert found.direction == "flat"
    assert found.plateau_since == pytest.approx(knee, rel=0.2)


def test_a_short_rest_is_no_plateau():
    knee = 0.9 * X[-1]
    found = trend(X, np.minimum(X, knee))
    assert found is not None
    assert found.plateau_since is None


def test_any_two_points_make_a_line_but_no_direction():
    found = trend(np.array([0.0, 1000.0]), np.array([1.0, 3.0]))
    assert found is not None
    assert (found.slope, found.direction, found.plateau_since) == (2.0, "flat", None)


def test_few_points_have_a_direction_where_they_lie_on_a_line():
    found = trend(np.arange(5) * 1000.0, np.array([1.0, 3.1, 4.9, 7.0, 9.2]))
    assert found is not None
    assert (found.direction, found.plateau_since) == ("rising", None)


@pytest.mark.parametrize("points", [3, 4, 8, 12, 16, 40])
def test_short_noise_has_no_direction_either(points):
    """Two late points lie on a line exactly, whatever they are."""
    x = np.arange(points) * 1000.0
    found = [trend(x, noise(seed, points)) for seed in range(300)]
    assert sum(each.direction != "flat" for each in found) <= 12


def test_a_single_point_is_flat():
    alone = trend(np.array([5.0]), np.array([7.0]))
    assert alone is not None
    assert (alone.slope, alone.direction, alone.plateau_since) == (0.0, "flat", None)


def test_huge_and_constant_values_are_no_trouble():
    huge = trend(X, 1e307 * (1 + X / X[-1]))
    assert huge is not None
    assert huge.direction == "rising"
    assert np.isfinite(huge.slope)
    still = trend(X, np.zeros_like(X))
    assert still is not None
    assert (still.direction, still.slope) == ("flat", 0.0)
    assert still.plateau_since is not None


def test_rows_at_one_place_have_no_slope():
    found = trend(np.full(20, 4.0), np.arange(20.0))
    assert found is not None
    assert (found.slope, found.direction) == (0.0, "flat")
