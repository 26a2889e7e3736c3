"""Curves as text."""

import numpy as np
import pytest

from spotter.charts.terminal import plot, spark


def test_a_sparkline_keeps_its_extremes():
    y = np.zeros(20_000)
    y[7_000] = 100.0
    line = spark(y, 40)
    assert len(line) == 40
    assert line.count("█") == 1
    assert line.index("█") == 14
    assert set(line) == {"▁", "█"}


def test_a_sparkline_is_as_long_as_its_values_and_leaves_gaps():
    assert spark(np.array([])) == ""
    assert spark(np.array([1.0, np.nan, 3.0])) == "▁ █"
    assert spark(np.array([np.nan, np.inf])) == "  "
    assert spark(np.arange(8.0)) == "▁▂▃▄▅▆▇█"


def test_a_chart_has_axes_with_numbers_and_fits_its_width():
    x = np.linspace(0, 1_000_000, 5000)
    text = plot(x, x / 2000, title="train/score", width=60, height=9)
    lines = text.splitlines()
    assert lines[0] == "train/score"
    assert len(lines) == 1 + 9 + 2
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("500 |")
    assert lines[9].split("|")[0].strip() == "0"
    assert lines[-1].split() == ["0", "500k", "env", "steps", "1M"]
    assert text.isascii()
    stars = [line.find("*") for line in lines[1:10]]
    assert stars == sorted(stars, reverse=True)


def test_a_chart_shows_a_spike_of_one_update():
    y = np.zeros(5000)
    y[2500] = 10.0
    lines = plot(np.arange(5000.0), y, height=8).splitlines()
    assert lines[0].count(":") == 1


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [([], [], "(no finite value)"), ([1.0], [np.nan], "(no finite value)"), ([5.0], [7.0], "7 |*")],
    ids=["empty", "broken", "one point"],
)
def test_charts_of_almost_nothing(x, y, said):
    assert said in plot(np.array(x), np.array(y))


def test_a_chart_of_huge_values_is_drawn():
    assert "*" in plot(np.arange(3.0), np.array([-1.5e308, 0.0, 1.5e308]))
