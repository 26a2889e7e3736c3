"""Curves as the browser is given them."""

import time

import numpy as np
import orjson
import pytest

from spotter.charts.echarts import MARKS, drawn, pairs
from spotter.charts.points import downsample
from spotter.charts.svg import polyline
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.rundir.history import History
from spotter.rundir.view import RunView
from spotter.studio import run_view
from spotter.studio.charts import Event, Figure, View, groups, panel
from tests.studio.making import make_run


def test_twenty_runs_of_five_thousand_points_are_quick():
    x = np.arange(5000.0)
    y = np.random.default_rng(0).normal(size=5000)
    start = time.process_time()
    points = sum(len(pairs(*downsample(x, y))) for _ in range(20))
    assert time.process_time() - start < 1.0
    assert points <= 20 * 500


def test_a_sparkline_stays_in_its_box():
    dots = [
        tuple(map(float, dot.split(","))) for dot in polyline(np.array([1.0, 9.0, 4.0])).split()
    ]
    assert [x for x, _ in dots] == [0.0, 50.0, 100.0]
    assert all(0 <= y <= 24 for _, y in dots)
    assert dots[1][1] < dots[0][1]  # higher is further up
    assert polyline(np.array([1.0])) == ""


@pytest.mark.parametrize("window", [None, (10_000.0, 12_000.0)])
def test_shares_of_actions_fill_the_whole_at_every_point(tmp_path, window):
    """Stacked lines whose points were picked one by one would leave gaps."""
    shares = np.random.default_rng(3).dirichlet(np.ones(4), 3000)
    written = [
        {"env_steps": 16 * at, **{f"action/share/{k}": float(row[k]) for k in range(4)}}
        for at, row in enumerate(shares)
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, written)) + b"\n")
    history = History(path).refresh()
    keys = tuple(f"action/share/{k}" for k in range(4))
    series = drawn(panel(Figure("Actions", keys, "shares"), history, View(window=window)))["series"]
    places = {tuple(x for x, _ in line["data"]) for line in series}
    assert len(series) == 4 and len(places) == 1 and 200 < len(places.pop()) < 500
    heights = np.sum([[y for _, y in line["data"]] for line in series], axis=0)
    np.testing.assert_allclose(heights, 1, atol=1e-5)


def test_changed_settings_are_marked_in_every_chart_and_alerts_in_theirs(tmp_path):
    run = make_run(tmp_path)
    run.event("resume", {"env_steps": 5120, "changes": {"algo.lr": [1, 2], "algo.clip": [3, 4]}})
    run.event("resume", {"env_steps": 6400, "changes": {}})
    run.event("change", {"setting": "algo.lr", "before": 2, "after": 1e-4, "env_steps": 7680})
    run.event("change", {"setting": "algo.lr", "before": 2, "after": 1e-4})  # older: nobody knows
    changes = run_view.changes(RunView(run))
    assert [each.env_steps for each in changes] == [5120, 7680]
    assert [each.text for each in changes] == ["algo.lr = 2, 1 more", "algo.lr = 0.0001"]
    history = History(run.metrics_path).refresh()
    happened = [Event(one.env_steps, one.text, everywhere=True, kind="change") for one in changes]
    happened.append(Event(6000, "policy.entropy", "policy/entropy"))
    found = {}
    for title, key in (("Score", "train/score"), ("e", "policy/entropy"), ("l", "loss/value")):
        shown = drawn(panel(Figure(title, (key,)), history, View(), happened))["series"][-1]
        marks = shown["markLine"]["data"]
        found[title] = [(line["xAxis"], line["lineStyle"]["color"]) for line in marks]
    assert found["l"] == [(5120.0, MARKS["change"]), (7680.0, MARKS["change"])]
    assert found["Score"] == found["e"] == sorted([*found["l"], (6000.0, MARKS["alert"])])


def test_components_of_actions_share_a_chart():
    keys = [f"action/share/{i}/{j}" for i in (0, 1) for j in (0, 1)]
    keys += [f"{name}/{i}" for name in ("action/mean", "action/std") for i in (0, 1)]
    policy = groups(Catalogue(common.METRICS), keys)["Policy"]
    assert [(chart.title, len(chart.keys), chart.names) for chart in policy] == [
        ("Actions, component 0", 2, ("0", "1")),
        ("Actions, component 1", 2, ("0", "1")),
        ("Action means", 2, ("component 0", "component 1")),
        ("Action spread", 2, ("component 0", "component 1")),
    ]
