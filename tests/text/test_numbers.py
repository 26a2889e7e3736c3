"""Numbers in narrow columns."""

import math

import pytest

from spotter.text.numbers import amount, change, score, share, short, stopwatch


@pytest.mark.parametrize(
    ("value", "precision", "text"),
    [
        (12.345, 2, "12.35"),
        (-0.5, 3, "-0.500"),
        (7, 0, "7"),
        (9999.4, 0, "9,999"),
        (12_345, 0, "12.35k"),
        (-1_234_567, 3, "-1.235M"),
        (2.5e9, 3, "2.5B"),
        (1e18, 3, "1e+18"),
        (0.0, 3, "0.000"),
        (-0.0, 3, "0.000"),
        (3e-4, 3, "0.0003"),
        (2.5e-7, 3, "2.5e-07"),
        (math.nan, 3, "nan"),
        (math.inf, 3, "inf"),
        (-math.inf, 0, "-inf"),
    ],
)
def test_amount(value, precision, text):
    assert amount(value, precision) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (1.0, 1.5, "+0.500"),
        (1.5, 1.0, "-0.500"),
        (1.0, 1.0, "0"),
        (1.0, 1.0001, "0"),
        (3e-4, 2e-4, "-0.0001"),
        (0, 20_000, "+20k"),
        (math.nan, 1.0, ""),
        (1.0, math.nan, ""),
        (math.inf, math.inf, ""),
    ],
)
def test_change_has_a_sign(before, after, text):
    assert change(before, after, 3) == text


def test_other_words():
    assert [stopwatch(7.9), stopwatch(3661), stopwatch(94_200)] == [
        "0:00:07",
        "1:01:01",
        "26:10:00",
    ]
    assert [stopwatch(math.inf), stopwatch(math.nan)] == ["?:??:??"] * 2
    assert [share(0.0), share(0.004), share(0.256), share(1.0)] == ["0 %", "<1 %", "26 %", "100 %"]
    assert [score(500.0), score(-12.34), score(0.7)] == ["500.0", "-12.3", "0.700"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123456, "0.01235"), (497.512, "497.5"), (12_400.0, "12.4k"), (-0.0, "0"), (1e-9, "1e-09")],
)
def test_numbers_are_short(value, text):
    assert short(value) == text
