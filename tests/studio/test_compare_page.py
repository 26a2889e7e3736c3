"""The compare page in a real browser: curves of runs and of seeds, what differs, who is kin."""

import json

import numpy as np
import pytest

from spotter.charts.echarts import drawn
from spotter.config import validate
from spotter.rundir.curves import Group
from spotter.rundir.files import LineWriter
from spotter.rundir.history import Curve
from spotter.rundir.run import Run
from spotter.studio import compare_charts
from spotter.studio.groups import LineageNode
from tests.studio.drawn import texts_of
from tests.studio.making import make_run, rows

OPTIONS = """() =>
  getElement(Number(document.querySelector('.compare-line').id.slice(1))).options"""


def seeded(home, seed, level):
    """A run of settings of its own, which only the seed tells apart from the others."""
    config = validate(
        {
            "env": {"id": "CartPole-v1", "family": "gymnasium", "count": 8},
            "algo": {"name": "a2c"},
            "budget": {"env_steps": 25_600},
            "seed": seed,
        }
    )
    run = Run.create(config, "CartPole-v1:a2c", ["spotter"], home=home)
    with LineWriter(run.metrics_path) as lines:
        for row in rows(60, level):
            lines.write(row)
    scores = {"seeds": "test", "env_steps": 100, "score": level, "scores": [level, level + 2]}
    run.event("evaluation", scores)
    run.finish("finished", env_steps=25_600, score=level)
    return run


@pytest.fixture(scope="module")
def seeds(studio_runs):
    return [seeded(studio_runs, seed, 100.0 * seed) for seed in (1, 2, 3)]


@pytest.fixture
def visit(page, studio):
    def go(runs, query=""):
        page.goto(f"{studio.url}compare?runs={','.join(run.id for run in runs)}{query}")
        page.wait_for_selector(".compare-family")
        page.wait_for_selector(".compare-line canvas")

    return go


def series(page):
    """What ECharts was given."""
    return page.evaluate(OPTIONS)["series"]


def test_two_runs_are_two_curves_and_a_table_of_what_differs(page, visit, studio_runs):
    runs = [make_run(studio_runs, level=level, lr=lr) for level, lr in ((90, 1e-3), (50, 2e-3))]
    visit(runs)
    drawn = series(page)
    assert [line["name"] for line in drawn] == [f"{runs[0].id} lr 0.001", f"{runs[1].id} lr 0.002"]
    assert all(len(line["data"]) > 50 for line in drawn)
    (title,) = texts_of(page, ".compare-line", "env steps")
    assert title["bottom"] <= title["height"], "the axis title is cut"
    table = page.inner_text(".compare-diff")
    assert "algo.lr" in table
    assert "algo.gamma" not in table
    assert "Not enough seeds" in page.inner_text(".compare-advice")
    assert page.errors == []


def test_three_seeds_are_one_curve_with_an_interval(page, visit, seeds):
    visit(seeds)
    drawn = series(page)
    assert {line["name"] for line in drawn} == {"CartPole-v1:a2c (3 seeds)"}
    assert len(drawn) == 1 + 2 + 3, "the middle, both ends of the band, each seed"
    assert [line.get("stack") is not None for line in drawn[1:3]] == [True, True]
    assert page.locator(".compare-advice").inner_text() == ""
    assert "3 seeds together" in page.inner_text(".compare-scores")
    assert "differ in nothing but the seed" in page.inner_text(".compare-diff")


def test_groups_by_name_have_a_column_of_settings_each(page, studio, studio_runs):
    runs = [
        make_run(studio_runs, group=group, seed=seed, level=50.0 + seed, lr=lr)
        for group, lr in (("slow-group", 1e-5), ("fast-group", 1e-4)) for seed in (1, 2, 3)
    ]  # fmt: skip
    page.goto(f"{studio.url}compare?runs=slow-group,{runs[3].id},fast-group")
    page.wait_for_selector(".compare-line canvas")
    names = [f"CartPole-v1:ppo lr {lr}" for lr in ("1e-05", "0.0001")]
    assert {line["name"] for line in series(page)} == {f"{name} (3 seeds)" for name in names}
    assert page.locator(".compare-diff th").all_inner_texts() == ["setting", *names]
    rows = page.locator(".compare-diff tr").all_inner_texts()
    assert [row.split() for row in rows[1:]] == [["algo.lr", "1e-05", "0.0001"]]
    assert page.errors == []


def test_two_seeds_are_not_enough_and_it_is_said(page, visit, seeds):
    visit(seeds[:2])
    assert "Not enough seeds for an interval" in page.inner_text(".compare-advice")
    assert "an interval needs 3 seeds" in page.inner_text(".compare-scores")
    assert len(series(page)) == 1 + 2, "no band"


def test_another_metric_and_seeds_apart(page, visit, seeds):
    visit(seeds, "&metric=policy/entropy&middle=iqm")
    assert "policy/entropy" in page.inner_text(".studio-chart-about >> nth=0")
    assert series(page)[0]["data"][-1][1] < 0.05
    page.get_by_text("Seeds together", exact=True).click()
    page.wait_for_function(f"({OPTIONS})().series.length === 3")
    assert [line["name"] for line in series(page)] == [run.id for run in seeds]


def test_unlike_games_are_warned_about(page, visit, seeds, studio_runs):
    visit([seeds[0], make_run(studio_runs, "MountainCar-v0", level=90.0)])
    assert "different environments" in page.inner_text(".compare-warnings")


def test_a_fork_is_drawn_with_its_parent(page, visit, studio_runs, seeds):
    parent = {"run": seeds[0].id, "checkpoint": "", "env_steps": 640, "kind": "fork"}
    child = make_run(studio_runs, parent=parent)
    visit([child])
    page.wait_for_selector(".compare-tree canvas")
    visit([seeds[1]])
    assert "began with another one's policy" in page.inner_text(".compare-family")


def test_a_run_is_taken_off_and_another_put_on(page, visit, seeds):
    visit(seeds[:2])
    page.locator(".compare-runs .q-chip__icon--remove").first.click()
    page.wait_for_url(f"**runs={seeds[1].id}")
    page.wait_for_selector(".compare-line canvas")
    page.locator(".compare-runs input").click()
    page.locator(".compare-runs input").fill(seeds[2].id)
    page.get_by_role("option", name=seeds[2].id).click()
    page.keyboard.press("Escape")
    page.wait_for_url(f"**runs={seeds[1].id},{seeds[2].id}")


def test_nothing_chosen_and_nobody_there(page, studio):
    page.goto(f"{studio.url}compare")
    assert "Choose the runs to compare" in page.inner_text(".studio-empty")
    page.goto(f"{studio.url}compare?runs=nobody,../../etc")
    assert "there is no run nobody" in page.inner_text("[role=alert]")


def test_a_metric_nobody_wrote_is_a_sentence(page, visit, seeds):
    visit(seeds, "&metric=no/such")
    assert "none of these runs has written no/such" in page.inner_text("[role=alert]")


# --- charts ---------------------------------------------------------------------------------------


class Many:
    """Five thousand updates."""

    version = 1
    names = ("train/score",)
    curve = Curve(np.arange(5000.0) * 256, np.sin(np.arange(5000.0) / 39))


def test_twenty_runs_of_five_thousand_updates_stay_light(tmp_path):
    runs = [Run(tmp_path / str(number)) for number in range(20)]
    curves = compare_charts.Curves("train/score", {run: Many() for run in runs})
    apart = [Group(run.id, (run,), (1,)) for run in runs]
    together = [Group("seeds", tuple(runs), tuple(range(20)))]
    for groups in (apart, together):
        options = drawn(compare_charts.panel(groups, curves, "iqm"))
        assert sum(len(line["data"]) for line in options["series"]) < 9000
        assert len(json.dumps(options)) < 400_000
    styles = [(one["itemStyle"]["color"], one["lineStyle"]["type"]) for one in
              drawn(compare_charts.panel(apart, curves, "iqm"))["series"]]  # fmt: skip
    assert len(set(styles)) == 20, "no two look alike"


def test_a_band_below_zero_is_stacked_rightly(tmp_path):
    runs = [Run(tmp_path / str(number)) for number in range(3)]
    values = iter((-10.0, -20.0, -30.0))
    lines = {run: np.full(2, next(values)) for run in runs}

    class Low(Many):
        def __init__(self, run):
            self.curve = Curve(np.array([0.0, 100.0]), lines[run])

    curves = compare_charts.Curves("x", {run: Low(run) for run in runs})
    group = Group("low", tuple(runs), (1, 2, 3))
    middle, low, height, *_ = drawn(compare_charts.panel([group], curves, "median"))["series"]
    assert middle["data"][0][1] == -20
    assert low["data"][0][1] + height["data"][0][1] <= -10
    assert low["stackStrategy"] == height["stackStrategy"] == "all"


def test_a_tree_has_no_circles():
    kin = [
        LineageNode("a", "b", "", {}),
        LineageNode("b", "a", "", {}),
        LineageNode("c", "a", "fork", None),
    ]
    options, height = compare_charts.tree(
        [LineageNode(one.id, one.parent, one.how, None) for one in kin], ["a"]
    )
    json.dumps(options)  # a circle could not be written
    assert height > 0
