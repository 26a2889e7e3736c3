"""metrics.jsonl of a long run: small, quick to read, and true."""

import json
import math
import os
import random

import pytest

from spotter.rundir import thinning
from spotter.rundir.files import LineWriter, StorageError, cut_lines
from spotter.rundir.history import History
from spotter.rundir.lines import read_lines
from spotter.sinks.base import Row
from spotter.sinks.jsonl import Jsonl


@pytest.fixture
def short(monkeypatch):
    """The same rule with smaller numbers."""
    monkeypatch.setattr(thinning, "RECENT", 400)
    monkeypatch.setattr(thinning, "EVERY", 200)
    monkeypatch.setattr(thinning, "STRETCHES", 4)
    monkeypatch.setattr(thinning, "_SHORTEST", 16)
    monkeypatch.setattr(thinning, "_TOGETHER", 32)


def row(update: int) -> dict:
    """Depends on nothing but the number of its update."""
    draw = random.Random(update)
    data = {"update": update, "env_steps": 8 * update, "vector_steps": update}
    data |= {f"m/{name}": draw.gauss(0, 1) for name in "abcd"}
    if update % 37 == 0:
        data["eval/score"] = draw.gauss(0, 1)
    if update == 333:
        data["m/a"] = math.nan
    if update % 50 < 20:
        data["alerts"] = ["A-1"] if update % 3 else ["A-1", "B-2"]
    return data


def write(path, first: int, last: int) -> None:
    lines = LineWriter(path)
    for update in range(first, last + 1):
        lines.write(row(update))
        if thinning.is_due(update):
            with lines.paused():
                thinning.thin(path, update)
    lines.close()


def extremes(rows) -> dict:
    found: dict = {}
    for one in rows:
        for key, value in one.items():
            if isinstance(value, int | float) and math.isfinite(value):
                low, high = found.get(key, (value, value))
                found[key] = min(low, value), max(high, value)
    return found


def test_recent_rows_are_complete_and_old_ones_keep_their_extremes(tmp_path, short):
    path = tmp_path / "metrics.jsonl"
    write(path, 1, 5000)
    kept = list(read_lines(path))
    whole = [row(update) for update in range(1, 5001)]
    assert [one["update"] for one in kept if one["update"] > 4600] == list(range(4601, 5001))
    assert len(kept) < 500
    assert extremes(kept) == extremes(whole)
    for one in kept:
        one = dict(one)
        one.pop("thinned", None)
        assert json.dumps(one) == json.dumps(whole[one["update"] - 1]), "whole, as it was written"
    length = thinning.stretch(4600)
    for start in range(0, 4600, length):
        stretch = range(max(1, start), min(4600, start + length - 1) + 1)
        there = [one for one in kept if one["update"] in stretch]
        assert extremes(there) == extremes(whole[update - 1] for update in stretch)
    assert any(math.isnan(one.get("m/a", 0)) for one in kept), "what broke is an extreme, too"


def test_what_was_left_out_is_counted(tmp_path, short):
    path = tmp_path / "metrics.jsonl"
    write(path, 1, 3000)
    kept = list(read_lines(path))
    assert sum(map(thinning.updates, kept)) == 3000
    counts = sum(map(thinning.held, kept), start=type(thinning.held({}))())
    whole = [name for update in range(1, 3001) for name in row(update).get("alerts", ())]
    assert counts == {name: whole.count(name) for name in ("A-1", "B-2")}


@pytest.mark.parametrize("back_to", [4990, 4700, 4590, 1234])
def test_a_resumed_run_ends_with_the_same_file(tmp_path, short, back_to):
    through, cut = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(through, 1, 6000)
    write(cut, 1, 5000)
    if back_to > 4600:
        cut_lines(cut, lambda one: one["env_steps"] <= 8 * back_to)
        write(cut, back_to + 1, 6000)
        assert cut.read_bytes() == through.read_bytes()
        return
    # older than the complete rows: what is left is thinned already, and no row is there twice
    cut_lines(cut, lambda one: one["env_steps"] <= 8 * back_to)
    write(cut, back_to + 1, 6000)
    updates = [one["update"] for one in read_lines(cut)]
    assert updates == sorted(set(updates)) and updates[-1] == 6000
    assert set(range(5601, 6001)) <= set(updates)


def test_many_metrics_make_stretches_longer(tmp_path, short, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    monkeypatch.setattr(thinning, "MOST_BYTES", 6000)
    monkeypatch.setattr(thinning, "FEWEST_STRETCHES", 1)
    write(path, 1, 3000)
    old = [one for one in read_lines(path) if one["update"] <= 2600]
    assert sum(len(json.dumps(one)) for one in old) < 8000
    assert extremes(old) == extremes(row(update) for update in range(1, 2601))


def test_followers_notice(tmp_path, short):
    path = tmp_path / "metrics.jsonl"
    write(path, 1, 599)
    history = History(path).refresh()
    assert history.rows == 599
    write(path, 600, 601)
    assert history.refresh().rows == len(list(read_lines(path))) < 500
    assert history.column("update")[-1] == 601
    version = history.version
    assert history.refresh().version == version, "and only once"


def test_damaged_lines_do_not_stop_it(tmp_path, short):
    path = tmp_path / "metrics.jsonl"
    write(path, 1, 599)
    data = path.read_bytes().splitlines(keepends=True)
    data[100:100] = [b"\x00\xff\n", b"[1]\n", b'{"update": "x"}\n', b'{"update": 1e3}\n', b"\n"]
    path.write_bytes(b"".join(data))
    write(path, 600, 600)
    assert sum(map(thinning.updates, read_lines(path))) == 600


def test_a_disk_that_is_full_keeps_the_file(tmp_path, short, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    write(path, 1, 599)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        thinning.thin(path, 599)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.jsonl"]


def as_row(update: int) -> Row:
    return Row(update, 8 * update, update, {"m/a": float(update)})


def test_a_run_thins_its_rows_while_it_trains(make_run, short):
    run = make_run(status="running")
    sink = Jsonl(run)
    sink.open(None)
    remarks = [sink.row(as_row(update)) for update in range(1, 1301)]
    sink.close(None)
    assert not any(remarks)
    assert len(list(run.metrics())) < 600
    assert History(run.metrics_path).refresh().updates == 1300
    assert sum(map(thinning.updates, run.metrics())) == 1300


def test_a_file_that_is_deleted_is_said_once_and_begun_again(make_run):
    run = make_run(status="running")
    sink = Jsonl(run)
    sink.open(None)
    remarks = [sink.row(as_row(update)) for update in (1, 2)]
    run.metrics_path.unlink()
    remarks += [sink.row(as_row(update)) for update in (3, 4)]
    run.metrics_path.unlink()
    remarks += [sink.row(as_row(5))]
    sink.close(None)
    assert remarks == [
        None,
        None,
        "metrics.jsonl was deleted or replaced while training: earlier rows are gone, and a new "
        "file begins with update 3",
        None,
        None,
    ]
    assert [one["update"] for one in run.metrics()] == [5]


def test_a_thinning_that_fails_is_said_once_and_training_goes_on(make_run, short, monkeypatch):
    def full(path, newest):
        raise StorageError("cannot write metrics.jsonl: No space left on device")

    monkeypatch.setattr(thinning, "thin", full)
    run = make_run(status="running")
    sink = Jsonl(run)
    sink.open(None)
    remarks = list(filter(None, (sink.row(as_row(update)) for update in range(1, 1301))))
    sink.close(None)
    assert remarks == [
        "older rows could not be thinned: cannot write metrics.jsonl: No space left on device"
    ]
    assert len(list(run.metrics())) == 1300


def test_run_json_deleted_under_a_run_is_written_again(make_run):
    run = make_run(status="running")
    run.update(env_steps=5)
    (run.folder / "run.json").unlink()
    run.update(env_steps=6)
    assert run.info()["env_steps"] == 6
    (run.folder / "run.json").write_bytes(b"\x00\x00")
    run.finish("finished", score=1.0)
    assert run.info()["score"] == 1.0 and run.info()["created"]
    notes = [event["text"] for event in run.events() if event["event"] == "note"]
    assert notes == ["run.json was deleted or damaged, and is written again"] * 2
