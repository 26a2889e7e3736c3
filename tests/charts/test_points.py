"""Fewer points: nothing gets lost in thinning."""

import numpy as np
import pytest

from spotter.charts.points import downsample, smooth, thinned


def test_thinning_keeps_every_extreme_and_both_ends():
    x = np.arange(5000.0)
    y = np.sin(x / 300)
    y[1234], y[4321] = 50.0, -50.0
    thin_x, thin_y = downsample(x, y, 400)
    assert len(thin_x) <= 400
    assert thin_y.max() == 50.0 and thin_y.min() == -50.0
    assert thin_x[thin_y.argmax()] == 1234  # where it was, not where its stretch begins
    assert (thin_x[0], thin_x[-1]) == (0.0, 4999.0)
    assert (np.diff(thin_x) > 0).all()


def test_short_curves_are_left_alone():
    x = np.arange(10.0)
    assert downsample(x, x, 400)[0] is x


@pytest.mark.parametrize("x", [np.zeros(1000), np.repeat([0.0, 1e12], 500)])
def test_thinning_copes_with_an_axis_that_stands_still(x):
    thin_x, thin_y = downsample(x, np.arange(1000.0), 100)
    assert len(thin_x) <= 100
    assert thin_y.max() == 999.0 and thin_y.min() == 0.0


def test_smoothing_is_unbiased_from_the_start():
    assert np.allclose(smooth(np.full(50, 7.0), 0.9), 7.0)
    noisy = np.random.default_rng(0).normal(size=2000)
    assert smooth(noisy, 0.98).std() < 0.3
    assert smooth(noisy, 0.0) is noisy


def test_a_window_gets_the_points():
    x = np.arange(10_000.0)
    y = np.sin(x)
    y[5050], y[9000] = 50.0, -50.0
    steps, values = thinned(x, y, 100, (5000.0, 5100.0))
    assert set(range(5000, 5100)) <= set(steps.astype(int)), "all of them are there"
    assert {50.0, -50.0} <= set(values), "and spikes elsewhere"
    assert len(steps) < 300
    assert (np.diff(steps) > 0).all()
    assert len(thinned(x, y, 100, None)[0]) <= 101
    assert len(thinned(x, y, 100, (-5.0, 1e9))[0]) <= 101
    assert len(thinned(x, y, 100, (2e9, 3e9))[0]) > 50, "nothing there: what is before"
