"""Files that survive a crash."""

import math
import os
import subprocess
import sys
import time

import pytest

from spotter.rundir.files import LineWriter, read_json, read_lines, write_atomic, write_json


def test_numbers_keep_their_precision_and_strange_ones_come_back(tmp_path):
    data = {"a": 0.1 + 0.2, "b": math.nan, "c": [math.inf, -math.inf], "d": "nan?", "e": None}
    write_json(tmp_path / "x.json", data)
    back = read_json(tmp_path / "x.json")
    assert back["a"] == 0.1 + 0.2
    assert math.isnan(back["b"])
    assert back["c"] == [math.inf, -math.inf]
    assert back["d"] == "nan?"
    text = (tmp_path / "x.json").read_text()
    assert "NaN" not in text, "other readers of JSON must not choke"


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomic(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


def test_a_torn_last_line_is_passed_over_and_not_written_to(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n{"n": 3')
    assert [row["n"] for row in read_lines(path)] == [1, 2]
    with LineWriter(path) as lines:
        lines.write({"n": 4})
    assert [row["n"] for row in read_lines(path)] == [1, 2, 4]
    assert list(read_lines(tmp_path / "none.jsonl")) == []


WRITER = """
import sys
from pathlib import Path
from spotter.rundir.files import LineWriter, write_json
folder = Path(sys.argv[1])
with LineWriter(folder / "x.jsonl") as lines:
    for n in range(10**9):
        lines.write({"n": n, "text": "x" * 200})
        write_json(folder / "x.json", {"n": n, "text": "y" * 5000})
"""


def test_kill_at_any_moment_tears_nothing(tmp_path):
    path = tmp_path / "x.jsonl"
    path.touch()
    for attempt in range(5):
        before = path.stat().st_size
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)])
        while path.stat().st_size <= before:
            time.sleep(0.01)
        time.sleep(0.05 + 0.037 * attempt)
        writer.kill()
        writer.wait()
        rows = list(read_lines(tmp_path / "x.jsonl"))
        assert all(len(row["text"]) == 200 for row in rows)
        assert len(read_json(tmp_path / "x.json")["text"]) == 5000
    numbers = [row["n"] for row in rows]
    assert numbers.count(0) == 5, "each writer continued where the last one was killed"
