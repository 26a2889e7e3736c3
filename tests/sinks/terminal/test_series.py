"""One metric over a run: exact statistics, bounded memory, a trend that keeps its shape."""

import math
import random
import statistics

import pytest

from spotter.charts.terminal import sparkline
from spotter.sinks.terminal.series import POINTS, Series


def series_of(*batches):
    series = Series()
    for batch in batches:
        series.extend(batch)
    return series


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_statistics_do_not_depend_on_batches(size):
    draw = random.Random(3)
    values = [draw.gauss(1e6, 0.5) for _ in range(1000)]
    series = series_of(*(values[at : at + size] for at in range(0, 1000, size)))
    assert (series.low, series.high, series.last) == (min(values), max(values), values[-1])
    assert series.mean == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert series.std == pytest.approx(statistics.pstdev(values), rel=1e-6)


def test_only_finite_values_count():
    series = series_of([1.0, math.nan, 3.0], [math.inf], [math.nan])
    assert (series.low, series.high, series.mean, series.std) == (1.0, 3.0, 2.0, 1.0)
    assert math.isnan(series.last)
    only_nan = series_of([math.nan])
    assert math.isnan(only_nan.mean)
    assert math.isnan(only_nan.std)
    assert only_nan.sparkline(10) == " "


def test_a_constant_is_flat_whatever_rounding_leaves():
    series = series_of(*([0.3] for _ in range(1700)))
    assert series.std == 0.0
    assert series.sparkline(5) == "▁▁▁▁▁"


def test_huge_values_do_not_break_it():
    series = series_of([1e300, -1e300, 1e308, -1e308], [5e-324, 0.0])
    line = series.sparkline(10)
    assert (len(line), line[2:4]) == (6, "█▁")
    assert series.high == 1e308


@pytest.mark.parametrize("size", [1, 3, 700])
def test_memory_is_bounded_however_long_the_run(size):
    series = Series()
    for at in range(0, 6_000, size):
        series.extend([float(value) for value in range(at, at + size)])
        assert len(series._points) < POINTS
    assert len(series._points) >= POINTS // 2 - 1
    assert len(series._open) < series._each
    # a straight line is still one, from the first value to the last
    assert series.sparkline(8) == "▁▂▃▄▅▆▇█"


def test_thinning_keeps_every_value():
    values = [random.Random(5).random() for _ in range(3000)]
    series = series_of(*([value] for value in values))
    kept = sum(series._points) * series._each + sum(series._open)
    assert kept == pytest.approx(sum(values))


def test_a_sparkline_grows_until_it_is_full():
    series = Series()
    assert series.is_empty
    assert series.sparkline(4) == ""
    for value, line in ((0, "▁"), (7, "▁█"), (0, "▁█▁")):
        series.extend([float(value)])
        assert series.sparkline(4) == line
    series.extend([0.0] * 5)
    assert series.sparkline(4) == "█▁▁▁"
    assert series.sparkline(0) == ""


def test_a_sparkline_has_gaps_where_nothing_was_finite():
    assert sparkline([0.0, math.nan, 1.0, math.inf]) == "▁ █ "
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([]) == ""


def test_change_is_since_what_was_seen():
    series = series_of([1.0])
    series.show()
    assert math.isnan(series.previous)
    series.extend([2.0, 5.0])
    series.show()
    assert (series.previous, series.last) == (1.0, 5.0)
    series.show()  # nothing new: the change stays to be read
    assert (series.previous, series.last) == (1.0, 5.0)
