"""Files that survive a crash."""

import math
import os
import subprocess
import sys
import time

import pytest

from spotter.rundir import files
from spotter.rundir.files import (
    LineWriter,
    StorageError,
    cut_lines,
    read_json,
    write_atomic,
    write_json,
)
from spotter.rundir.lines import read_lines


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


@pytest.mark.parametrize("text", ["[1]", "{", "", "[" * 100_000, '{"a": "\udcff"}'])
def test_what_is_no_json_object_is_a_value_error(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError):
        read_json(path)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomic(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError) as caught:
        write_atomic(path, "new")
    assert str(caught.value) == f"cannot write {path}: No space left on device"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


def test_writing_into_a_folder_that_is_gone_says_so(tmp_path):
    path = tmp_path / "gone" / "x.json"
    with pytest.raises(StorageError, match=r"cannot write .*x.json: No such file"):
        write_json(path, {})
    with pytest.raises(StorageError, match=r"cannot write .*x.json: No such file"):
        LineWriter(path)


def test_a_torn_last_line_is_passed_over_and_not_written_to(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n{"n": 3')
    assert [row["n"] for row in read_lines(path)] == [1, 2]
    with LineWriter(path) as lines:
        lines.write({"n": 4})
    assert [row["n"] for row in read_lines(path)] == [1, 2, 4]
    assert list(read_lines(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 16])
def test_a_torn_line_of_any_length_is_cut(tmp_path, monkeypatch, block):
    monkeypatch.setattr(files, "_BLOCK", block)
    for whole, torn in ((b'{"n": 1}\n', b'{"n": 22'), (b"", b"x" * 20), (b'{"n": 1}\n', b"")):
        path = tmp_path / "x.jsonl"
        path.write_bytes(whole + torn)
        LineWriter(path).close()
        assert path.read_bytes() == whole


def test_damage_in_the_middle_costs_one_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\n\x00\x00\x00\n{"n": "\xff"}\n[2]\n{"n": 3}\n')
    assert [row["n"] for row in read_lines(path)] == [1, 3]


def test_a_write_that_fails_half_way_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "x.jsonl"
    lines = LineWriter(path)
    lines.write({"n": 1})
    real = lines._file

    class Filling:
        """Takes five bytes, then no more."""

        calls = 0

        def write(self, data):
            self.calls += 1
            if self.calls > 1:
                raise OSError(28, "No space left on device")
            return real.write(data[:5])

        def __getattr__(self, name):
            return getattr(real, name)

    lines._file = Filling()
    with pytest.raises(StorageError, match="No space left"):
        lines.write({"n": 2})
    assert path.read_bytes() == b'{"n": 1}\n'
    lines._file = Filling()
    monkeypatch.setattr(Filling, "truncate", lambda *args: real.truncate(-1), raising=False)
    with pytest.raises(StorageError, match="No space left"):
        lines.write({"n": 3})
    lines._file = real  # room again, but five bytes of the third line are there
    lines.write({"n": 4})
    lines.close()
    assert [row["n"] for row in read_lines(path)] == [1, 4]


def test_cutting_keeps_what_comes_before_byte_for_byte(tmp_path):
    path = tmp_path / "x.jsonl"
    start = b'{"n":   1}\n\x00damaged\n{"n": 2, "x": 0.30000000000000004}\n'
    path.write_bytes(start + b'{"n": 3}\n{"n": 4}\n{"n": 5')
    assert cut_lines(path, lambda row: row["n"] <= 2) == len(b'{"n": 3}\n{"n": 4}\n{"n": 5')
    assert path.read_bytes() == start
    assert cut_lines(path, lambda row: True) == 0
    assert cut_lines(tmp_path / "none.jsonl", lambda row: True) == 0


def test_lines_reach_the_disk_every_few_seconds(tmp_path, monkeypatch):
    now, synced = [0.0], []
    monkeypatch.setattr(files, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(now[0]))
    with LineWriter(tmp_path / "x.jsonl") as lines:
        for second in range(12):
            now[0] = second
            lines.write({"n": second})
    assert synced == [5, 10]


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
        while path.stat().st_size <= before or not (tmp_path / "x.json").exists():
            time.sleep(0.01)
        time.sleep(0.05 + 0.037 * attempt)
        writer.kill()
        writer.wait()
        rows = list(read_lines(tmp_path / "x.jsonl"))
        assert all(len(row["text"]) == 200 for row in rows)
        assert len(read_json(tmp_path / "x.json")["text"]) == 5000
    numbers = [row["n"] for row in rows]
    assert numbers.count(0) == 5, "each writer continued where the last one was killed"


def test_what_is_no_text_is_still_saved(tmp_path):
    files.write_json(tmp_path / "a.json", {"why": "caf\udce9"})
    assert files.read_json(tmp_path / "a.json") == {"why": "caf?"}
