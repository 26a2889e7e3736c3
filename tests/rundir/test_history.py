"""metrics.jsonl as columns: followed by parsing and by search, quickly enough."""

import math
import threading
import time

import numpy as np

from spotter.rundir.files import LineWriter, cut_lines
from spotter.rundir.histories import Histories
from spotter.rundir.history import History, Search
from tests.studio.making import make_run, rows


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


# --- by search ------------------------------------------------------------------------------------


def test_a_search_finds_what_parsing_gives(tmp_path):
    run, histories = make_run(tmp_path, updates=150), Histories()
    history = histories.of(run)
    assert set(histories.search(run, "train/score").names) == set(history.keys)
    for key in ("train/score", "eval/score", "run/progress", "info/key39/mean", "no/such"):
        found = histories.search(run, key)
        for searched, parsed in zip(found.curve, history.curve(key), strict=True):
            np.testing.assert_array_equal(searched, parsed)
    assert found.curve.values.size == 0


def test_a_search_follows_a_run_and_passes_over_what_is_broken(tmp_path):
    run, histories = make_run(tmp_path, updates=3), Histories()
    found = histories.search(run, "train/score")
    before = found.version
    assert histories.search(run, "train/score") is found and found.version == before
    with run.metrics_path.open("ab") as file:
        file.write(b'{"update": 4, "env_steps": 9999, "train/score": "nan"}\nnonsense\n')
        file.write(b'{"update": 5, "env_steps": 10000, "train/score": -7.5}\n{"update": 6, "env')
    assert found.refresh().version > before
    assert (found.curve.env_steps[-1], found.curve.values[-1]) == (10000, -7.5)
    assert found.curve.values.size == 4 and found.last_row["update"] == 5
    run.metrics_path.unlink()
    assert histories.search(run, "train/score").curve.values.size == 0


def test_a_search_reads_a_file_once(tmp_path):
    """The list of runs asks every few seconds; only new bytes may be searched."""
    run = make_run(tmp_path, updates=3)
    search = Search(run.metrics_path, "train/score").refresh()
    read = []
    blocks = search._tail._blocks

    def counted(file):
        for block in blocks(file):
            read.append(len(block))
            yield block

    search._tail._blocks = counted
    row = b'{"update": 4, "env_steps": 9999, "train/score": 1.5}\n'
    with run.metrics_path.open("ab") as file:
        file.write(row)
    assert search.refresh().refresh().curve.values[-1] == 1.5
    assert read == [len(row)]
