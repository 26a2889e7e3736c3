"""Curves over seeds: grouped by settings, an interval only where there are seeds for one."""

import numpy as np
import pytest

from spotter.rundir import curves as compared
from spotter.rundir.curves import Curve, Group, advice, band, groups
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    return maker(make_config)


def curve(steps, values):
    return Curve(np.array(steps, dtype=float), np.array(values, dtype=float))


def rising(slope, steps=(0, 50, 100)):
    return curve(steps, [slope * at for at in steps])


# --- groups ---------------------------------------------------------------------------------------


def test_seeds_of_the_same_settings_are_one_group(make_run):
    runs = [make_run(config={"seed": seed}) for seed in (1, 2, 3)]
    other = make_run(config={"seed": 1, "algo": {"name": "ppo", "lr": 1e-5}})
    found = groups([runs[0], other, *runs[1:]])
    assert [group.runs for group in found] == [tuple(runs), (other,)]
    assert found[0].seeds == (1, 2, 3)
    assert found[1].label.startswith(other.id), "a run on its own goes by its id"


def test_groups_of_the_same_recipe_have_names_of_their_own(make_run):
    slow = {"algo": {"name": "ppo", "lr": 1e-5}}
    runs = [make_run(config={"seed": s, **more}) for more in ({}, slow) for s in (1, 2)]
    first, second = groups(runs)
    assert first.label != second.label
    assert second.label.endswith("ppo lr 1e-05")


def test_too_few_seeds_is_said_aloud():
    one, two, three = (Group(f"X{count}", (), tuple(range(count))) for count in (1, 2, 3))
    few, alone = advice([one, two, three])
    assert few == "Not enough seeds for an interval of X2: 2 of at least 3."
    assert alone.startswith("Not enough seeds of X1: ")
    assert advice([three]) == []


def test_many_single_runs_are_one_sentence():
    (said,) = advice([Group(f"run{number}", (), (1,)) for number in range(20)])
    assert "run3 and 16 more" in said


def test_p37_one_seed_trained_three_times_is_still_one_seed():
    group = Group("X", (), (5, 5, 5))
    assert "Not enough seeds" in advice([group])[0]
    found = band([rising(1), rising(2), rising(3)], group.seeds)
    assert found is not None
    assert found.seeds == 1
    assert found.low is None


# --- bands ----------------------------------------------------------------------------------------


def test_the_median_over_seeds_on_a_common_grid():
    curves = [rising(1), rising(2, (0, 10, 100)), rising(9, (0, 100))]
    found = band(curves, [1, 2, 3])
    assert found.env_steps[0] == 0
    assert found.env_steps[-1] == 100
    np.testing.assert_allclose(found.middle, 2 * found.env_steps)
    assert found.seeds == 3


def test_the_interquartile_mean_leaves_extremes_out():
    curves = [rising(slope) for slope in (-1000, 1, 2, 3, 4, 1000, 2, 3)]
    found = band(curves, range(8), "iqm")
    np.testing.assert_allclose(found.middle, 2.5 * found.env_steps)


def test_an_interval_holds_the_middle_and_every_seed_bounds_it():
    curves = [rising(slope) for slope in (1, 2, 3, 4, 5)]
    for middle in ("median", "iqm"):
        found = band(curves, range(5), middle)
        assert (found.low <= found.middle).all()
        assert (found.middle <= found.high).all()
        assert (found.low >= found.env_steps).all()
        assert (found.high <= 5 * found.env_steps).all()
        assert found.low[-1] < found.middle[-1] < found.high[-1]


def test_more_seeds_make_it_narrower_and_more_points_do_not():
    draw = np.random.default_rng(1)
    widths = []
    for seeds in (4, 40):
        curves = [curve([0, 100], [0, value]) for value in draw.normal(10, 1, seeds)]
        found = band(curves, range(seeds), "iqm")
        widths.append(found.high[-1] - found.low[-1])
    assert widths[1] < widths[0] / 2


def test_the_same_visit_gives_the_same_interval():
    curves = [rising(slope) for slope in (1, 2, 3)]
    first, second = band(curves, range(3)), band(curves, range(3))
    assert first.high.tobytes() == second.high.tobytes()


def test_nothing_is_drawn_beyond_the_shortest_seed():
    """Else the seeds that are left, the slow or the lucky ones, would be taken for all."""
    found = band([rising(1), rising(1), rising(5, (0, 400))], range(3))
    assert found.env_steps[-1] == 100


def test_values_that_are_no_numbers_are_passed_over():
    broken = curve([0, 50, 100], [0, np.nan, 100])
    found = band([broken, curve([0], [np.inf])], [1, 2])
    assert found.seeds == 1
    assert np.isfinite(found.middle).all()
    assert band([curve([0], [np.nan])], [1]) is None
    assert band([], []) is None


def test_seeds_that_never_overlap_give_no_band():
    assert band([rising(1, (0, 10)), rising(1, (20, 30))], [1, 2]) is None


def test_many_seeds_are_resampled_in_blocks(monkeypatch):
    curves = [rising(slope, tuple(range(0, 200))) for slope in range(1, 6)]
    whole = band(curves, range(5))
    monkeypatch.setattr(compared, "_BLOCK", 30_000)
    np.testing.assert_array_equal(band(curves, range(5)).high, whole.high)


# --- settings and family --------------------------------------------------------------------------


def test_only_settings_that_differ_are_listed(make_run):
    runs = [make_run(config={"seed": 1, "algo": {"name": "ppo", "lr": lr}}) for lr in (1e-3, 1e-5)]
    differ = compared.settings_that_differ(runs)
    assert list(differ) == ["algo.lr"]
    assert len(differ["algo.lr"]) == 2
    assert compared.settings_that_differ(runs[:1]) == {}
