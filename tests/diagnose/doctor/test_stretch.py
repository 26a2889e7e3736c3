"""Stretches of a curve are shares of env steps, however many rows stand for them."""

import numpy as np
import pytest

from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.stretch import parts, stretch
from spotter.rundir.view import RunView


def curve(steps):
    return np.array(steps, dtype=float), np.array(steps, dtype=float)


def test_a_stretch_of_even_rows():
    even = curve(range(1, 101))
    assert stretch(even, 0.0, 0.25).tolist() == list(range(1, 26))
    assert stretch(even, 0.75, 1.0).tolist() == list(range(76, 101))
    assert [len(part) for part in parts(even, 10)] == [10] * 10


def test_a_stretch_of_rows_that_were_thinned():
    thinned = curve([*range(10, 80, 10), *range(80, 101)])
    assert stretch(thinned, 0.0, 0.25).tolist() == [10, 20]
    assert stretch(thinned, 0.5, 0.75).tolist() == [60, 70]
    assert stretch(thinned, 0.75, 1.0).tolist() == list(range(80, 101))


@pytest.mark.parametrize("steps", [[5], [5, 900], [0, 5, 900]])
def test_a_stretch_of_few_rows_is_not_empty(steps):
    few = curve(steps)
    assert all(len(stretch(few, at / 4, (at + 1) / 4)) for at in range(4))
    assert not len(stretch(curve([]), 0.0, 0.5)) and parts(curve([]), 10) == []


def test_numbers_of_a_run_do_not_change_where_old_rows_are_thinned(made):
    """Every tenth row of the first 80 %, as thinning leaves them."""
    whole = made("failed-lr-too-low", columns={"policy/entropy": lambda at: 1.0 - at})
    before = Case(RunView(whole))
    lines = whole.metrics_path.read_text().splitlines(keepends=True)
    old = len(lines) * 4 // 5
    kept = [line for i, line in enumerate(lines) if i >= old or i % 10 == 0]
    early, late = before.early("policy/entropy"), before.late("policy/entropy")
    whole.metrics_path.write_text("".join(kept))
    after = Case(RunView(whole))
    assert after.late("policy/entropy") == pytest.approx(late, abs=0.02)
    assert after.early("policy/entropy") == pytest.approx(early, abs=0.04)
    assert after.gain == pytest.approx(before.gain, abs=2.0)
