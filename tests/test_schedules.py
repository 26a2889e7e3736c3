"""Schedules: the values people expect, and sentences for those nobody could."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from spotter.schedules import Schedule, constant, within
from spotter.types import Progress

BUDGET = 1000


def schedule(data: object) -> Schedule:
    return TypeAdapter(Schedule).validate_python(data, by_alias=True, by_name=False)


def values(data: object, *steps: int, budget: int | None = BUDGET) -> list[float]:
    made = schedule(data)
    return [made.at(Progress(step, budget)) for step in steps]


def test_constant():
    assert values(0.3, 0, 500, 5000) == [0.3, 0.3, 0.3]
    assert values(3, 0, budget=None) == [3.0]
    assert constant(0.3) == schedule(0.3)


def test_linear():
    line = {"shape": "linear", "start": 1, "end": 0}
    assert values(line, 0, 250, 500, 1000, 2000) == pytest.approx([1, 0.75, 0.5, 0, 0])
    assert schedule({"start": 1}) == schedule(line)
    assert values({"start": 0.1, "end": 0.3}, 1000) == [0.3], "exactly the end, no rounding"


def test_cosine():
    wave = {"shape": "cosine", "start": 1, "end": 0.5}
    assert values(wave, 0, 500, 1000) == pytest.approx([1, 0.75, 0.5])
    assert values(wave, 250)[0] > 0.875, "slow at first"


def test_exponential():
    assert values({"shape": "exponential", "start": 1, "end": 0.01}, 0, 500, 1000) == (
        pytest.approx([1, 0.1, 0.01])
    )


def test_break_points():
    points = {"points": [[0, 1], [0.5, 1], [1, 0]]}
    assert values(points, 0, 250, 500, 750, 1000, 2000) == pytest.approx([1, 1, 1, 0.5, 0, 0])
    jump = {"points": [[0, 1], [100, 1], [100, 5], [200, 6]]}
    assert values(jump, 0, 99, 100, 150, 900, budget=None) == pytest.approx([1, 1, 5, 5.5, 6])
    late = {"points": [[0.5, 2], [1, 4]]}
    assert values(late, 0, 500, 750) == pytest.approx([2, 2, 3])


@pytest.mark.parametrize("window", [{"from": 0.25, "to": 0.75}, {"from": 250, "to": 750}])
def test_window_in_fractions_and_in_env_steps(window):
    line = {"start": 1, "end": 0, **window}
    assert values(line, 0, 250, 500, 750, 1000) == pytest.approx([1, 1, 0.5, 0, 0])


def test_window_in_mixed_units():
    assert values({"start": 1, "end": 0, "from": 0.5, "to": 750}, 500, 625, 750) == (
        pytest.approx([1, 0.5, 0])
    )


def test_floor():
    assert values({"start": 1, "end": 0, "floor": 0.4}, 0, 500, 700, 1000) == (
        pytest.approx([1, 0.5, 0.4, 0.4])
    )


def test_warm_up_rises_to_the_start_and_then_the_decay_takes_over():
    line = {"start": 1, "end": 0, "warmup": 0.2}
    assert values(line, 0, 100, 200, 600, 1000) == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert values({**line, "floor": 0.5}, 0, 100, 200) == pytest.approx([0.5, 0.75, 1])


def test_warm_up_comes_first_even_when_the_window_is_late():
    line = {"start": 1, "end": 0, "warmup": 100, "from": 0.5}
    assert values(line, 0, 50, 100, 500, 750, 1000) == pytest.approx([0, 0.5, 1, 1, 0.5, 0])


def test_a_constant_can_warm_up():
    data = {"shape": "constant", "start": 2, "warmup": 100}
    assert values(data, 0, 50, 100, 900) == pytest.approx([0, 1, 2, 2])
    assert schedule(data).model_dump() == data


@pytest.mark.parametrize(
    ("data", "needs"),
    [
        (3, False),
        ({"start": 1}, True),
        ({"start": 1, "to": 500}, False),
        ({"start": 1, "to": 500, "warmup": 0.1}, True),
        ({"start": 1, "to": 500, "from": 0.1}, True),
        ({"shape": "constant", "start": 1, "warmup": 0.1}, True),
        ({"shape": "constant", "start": 1, "warmup": 50}, False),
        ({"points": [[0, 1], [1, 0]]}, True),
        ({"points": [[0, 1], [500, 0]]}, False),
    ],
)
def test_what_needs_a_budget(data, needs):
    assert schedule(data).needs_budget is needs


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("fast", "should be a number or a schedule such as"),
        (True, "should be a number or a schedule such as"),
        (None, "should be a number or a schedule such as"),
        (math.inf, "should be a finite number"),
        ({"start": math.nan}, "finite number"),
        ({"start": "1"}, "valid number"),
        ({}, "needs `start`, such as {shape: linear, start: 1, end: 0}, or `points`"),
        ({"end": 0}, "needs `start`"),
        ({"start": 1, "stop": 0}, "Extra inputs are not permitted"),
        ({"start": 1, "from_": 0}, "Extra inputs are not permitted"),
        ({"shape": "cubic", "start": 1}, "'constant', 'linear', 'cosine'"),
        ({"shape": "exponential", "start": 1, "end": 0}, "above 0 to be exponential"),
        ({"shape": "constant", "start": 1, "end": 0}, "cannot use `end` with shape constant"),
        ({"shape": "constant", "start": 1, "floor": 0}, "cannot use `floor` with shape constant"),
        ({"points": [[0, 1], [1, 0]], "floor": 0}, "cannot use `floor` with shape piecewise"),
        ({"shape": "linear", "points": [[0, 1], [1, 0]]}, "needs `start`"),
        ({"shape": "piecewise", "start": 1}, "cannot use `start` with shape piecewise"),
        ({"points": [[0, 1]]}, "needs at least two `points`"),
        ({"points": [[1, 0], [0, 1]]}, "needs its `points` in ascending order"),
        ({"points": [[-1, 0], [0, 1]]}, "needs its `points` in ascending order, from 0 on"),
        ({"points": [[0.5, 0], [100, 1]]}, "all as fractions or all as env steps"),
        ({"start": 1, "from": 0.5, "to": 0.5}, "needs `from` (0.5) to be before `to` (0.5)"),
        ({"start": 1, "warmup": 200, "to": 100}, "needs `warmup` (200) to be before `to` (100)"),
        ({"start": 1, "from": -1}, "greater than or equal to 0"),
        ({"start": 1, "floor": 2}, "needs a `floor` (2) below its largest value"),
    ],
)
def test_bad_ones_get_a_sentence(data, sentence):
    with pytest.raises(ValidationError) as caught:
        schedule(data)
    assert sentence in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("check", "bad", "sentence"),
    [
        (within(0, 1), {"start": 0.5, "end": 1.5}, "should stay between 0 and 1"),
        (within(0), -1, "should stay at 0 or above"),
        (within(0, open_low=True), {"start": 1, "end": 0}, "should stay above 0"),
        (within(0, open_low=True), {"start": 1, "end": 1, "warmup": 0.5}, "should stay above 0"),
    ],
)
def test_ranges(check, bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        check.func(schedule(bad))


def test_a_floor_keeps_a_schedule_in_range():
    safe = schedule({"start": 1, "end": 0, "warmup": 0.1, "floor": 0.2})
    assert within(0, open_low=True).func(safe) is safe


SIZES = st.floats(1e-3, 1e3)
PLACES = st.floats(0, 1) | st.floats(2, 2000)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    kind = draw(st.sampled_from(["number", "points", "linear", "cosine", "exponential"]))
    if kind == "number":
        return schedule(draw(SIZES))
    if kind == "points":
        at = sorted(draw(st.lists(st.floats(0, 1), min_size=2, max_size=5)))
        return schedule({"points": [[place, draw(SIZES)] for place in at]})
    data = {"shape": kind, "start": draw(SIZES), "end": draw(SIZES)}
    for key, strategy in (("from", PLACES), ("to", PLACES), ("warmup", PLACES), ("floor", SIZES)):
        if draw(st.booleans()):
            data[key] = draw(strategy)
    try:
        return schedule(data)
    except ValidationError:
        assume(False)
        raise


@given(schedules(), st.integers(0, 3000), st.integers(1, 2000))
def test_values_stay_within_the_extremes(made, step, budget):
    value = made.at(Progress(step, budget))
    slack = 1e-9 * max(map(abs, made.values()))
    assert min(made.values()) - slack <= value <= max(made.values()) + slack


@given(schedules())
def test_what_is_dumped_is_read_back(made):
    data = TypeAdapter(Schedule).dump_python(made, mode="json")
    again = schedule(data)
    assert TypeAdapter(Schedule).dump_python(again, mode="json") == data
    for step in (0, 1, 333, 999, 1000, 5000):
        assert again.at(Progress(step, BUDGET)) == made.at(Progress(step, BUDGET))
