"""Curves: nothing gets lost in thinning, files are followed, and it is quick enough."""

import math
import threading
import time

import numpy as np
import orjson
import pytest

from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.rundir.files import LineWriter, cut_lines
from spotter.rundir.history import History, downsample, smooth
from spotter.rundir.view import RunView
from spotter.studio import told
from spotter.studio.charts import ALERT, CHANGE, Chart, Mark, View, groups, options
from spotter.studio.series import Histories, pairs, sparkline
from spotter.studio.zoom import thinned
from tests.studio.making import make_run, rows


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


def test_twenty_runs_of_five_thousand_points_are_quick():
    x = np.arange(5000.0)
    y = np.random.default_rng(0).normal(size=5000)
    start = time.process_time()
    points = sum(len(pairs(*downsample(x, y))) for _ in range(20))
    assert time.process_time() - start < 1.0
    assert points <= 20 * 500


def test_smoothing_is_unbiased_from_the_start():
    assert np.allclose(smooth(np.full(50, 7.0), 0.9), 7.0)
    noisy = np.random.default_rng(0).normal(size=2000)
    assert smooth(noisy, 0.98).std() < 0.3
    assert smooth(noisy, 0.0) is noisy


def test_a_growing_file_is_read_on(tmp_path):
    path = tmp_path / "metrics.jsonl"
    history = History(path)
    assert history.refresh().rows == 0
    with LineWriter(path) as lines:
        for row in rows(3):
            lines.write(row)
        assert history.refresh().rows == 3
        version = history.version
        assert history.refresh().version == version
        lines.write({"update": 4, "env_steps": 1024, "new/metric": 1.0})
    assert history.refresh().rows == 4
    assert math.isnan(history.column("new/metric")[0]) and history.column("new/metric")[3] == 1.0
    assert len(history.curve("train/score")[0]) == 3


def test_a_torn_line_waits_for_its_end(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"env_steps": 1}\n{"env_st')
    history = History(path).refresh()
    assert history.rows == 1
    with path.open("ab") as file:
        file.write(b'eps": 2}\n')
    assert history.refresh().column("env_steps").tolist() == [1.0, 2.0]


def test_a_file_cut_by_a_resume_is_read_anew(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with LineWriter(path) as lines:
        for row in rows(10):
            lines.write(row)
    history = History(path).refresh()
    cut_lines(path, lambda row: row["env_steps"] <= 256 * 4)
    with LineWriter(path) as lines:  # it grows past the old end before anybody looks
        for row in rows(30, level=900.0)[4:]:
            lines.write(row)
    assert history.refresh().rows == 30
    assert history.column("env_steps").tolist() == [256.0 * n for n in range(1, 31)]


def test_what_is_not_finite_is_broken_not_missing(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with LineWriter(path) as lines:
        for steps, loss in ((1, 0.5), (2, math.nan), (3, math.inf)):
            lines.write({"env_steps": steps, "loss/policy": loss})
    history = History(path).refresh()
    assert history.broken("loss/policy").tolist() == [2.0, 3.0]
    assert history.curve("loss/policy")[0].tolist() == [1.0]


def test_nonsense_lines_are_passed_over(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'nonsense\n[1]\n{"env_steps": 5, "alerts": ["x"], "a": null}\n\xff\n')
    history = History(path).refresh()
    assert history.keys == ["env_steps"] and history.rows == 1


def test_five_thousand_updates_are_read_in_half_a_second(tmp_path):
    run = make_run(tmp_path, updates=5000)
    start = time.process_time()
    history = Histories().of(run)
    assert history.rows == 5000
    assert time.process_time() - start < 0.5


def test_a_glance_at_fifty_runs_is_quick(tmp_path):
    runs = [make_run(tmp_path, updates=200) for _ in range(10)]
    histories = Histories()
    for run in runs:
        glance = histories.glance(run)
        assert len(glance.scores) == 200 and glance.fps == 9000.0
    start = time.process_time()
    for _ in range(5):
        for run in runs:
            histories.glance(run)
    assert time.process_time() - start < 0.5


def test_a_sparkline_stays_in_its_box():
    dots = [
        tuple(map(float, dot.split(","))) for dot in sparkline(np.array([1.0, 9.0, 4.0])).split()
    ]
    assert [x for x, _ in dots] == [0.0, 50.0, 100.0]
    assert all(0 <= y <= 24 for _, y in dots)
    assert dots[1][1] < dots[0][1]  # higher is further up
    assert sparkline(np.array([1.0])) == ""


def test_reading_while_another_thread_adds(tmp_path):
    """Pages draw in the event loop while files are read beside it."""
    path = tmp_path / "metrics.jsonl"
    path.touch()
    history = History(path)
    stop = threading.Event()
    failures = []

    def write():
        try:
            with path.open("a") as file:
                for i in range(400):
                    file.write("".join(f'{{"env_steps": {i}, "k{j}": 1.0}}\n' for j in range(20)))
                    file.flush()
                    history.refresh()
        except Exception as error:
            failures.append(error)
        stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not stop.is_set():
        x, y = history.curve("k3")
        assert len(x) == len(y)
    writer.join()
    assert failures == []
    assert len(history.curve("k3")[0]) == 400


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
    drawn = options(Chart("Actions", keys, "shares"), history, View(window=window))["series"]
    places = {tuple(x for x, _ in line["data"]) for line in drawn}
    assert len(drawn) == 4 and len(places) == 1 and 200 < len(places.pop()) < 500
    heights = np.sum([[y for _, y in line["data"]] for line in drawn], axis=0)
    np.testing.assert_allclose(heights, 1, atol=1e-5)


def test_changed_settings_are_marked_in_every_chart_and_alerts_in_theirs(tmp_path):
    run = make_run(tmp_path)
    run.event("resume", {"env_steps": 5120, "changes": {"algo.lr": [1, 2], "algo.clip": [3, 4]}})
    run.event("resume", {"env_steps": 6400, "changes": {}})
    run.event("change", {"setting": "algo.lr", "before": 2, "after": 1e-4, "env_steps": 7680})
    run.event("change", {"setting": "algo.lr", "before": 2, "after": 1e-4})  # older: nobody knows
    changes = told.changes(RunView(run))
    assert [each.env_steps for each in changes] == [5120, 7680]
    assert [each.text for each in changes] == ["algo.lr = 2, 1 more", "algo.lr = 0.0001"]
    history = History(run.metrics_path).refresh()
    marks = [Mark(each.env_steps, each.text, everywhere=True, colour=CHANGE) for each in changes]
    marks.append(Mark(6000, "policy.entropy", "policy/entropy"))
    found = {}
    for title, key in (("Score", "train/score"), ("e", "policy/entropy"), ("l", "loss/value")):
        drawn = options(Chart(title, (key,)), history, View(), marks)["series"][-1]["markLine"]
        found[title] = [(line["xAxis"], line["lineStyle"]["color"]) for line in drawn["data"]]
    assert found["l"] == [(5120.0, CHANGE), (7680.0, CHANGE)]
    assert found["Score"] == found["e"] == sorted([*found["l"], (6000.0, ALERT)])


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
