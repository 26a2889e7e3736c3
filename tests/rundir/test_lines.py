"""Lines of JSON, within limits, whatever the file holds."""

import os
import random
import time
from itertools import pairwise

import pytest

from spotter.rundir import files, lines
from spotter.rundir.files import cut_lines, read_json
from spotter.rundir.history import History
from spotter.rundir.lines import Tail, read_lines

GOOD = b'{"n": 1}\n'


def read(path):
    problems = []
    return [row["n"] for row in read_lines(path, problems)], problems


def looked(tail):
    again, blocks = tail.read()
    return again, b"".join(blocks)


def test_a_whole_file_is_no_problem(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + b'\n{"n": "inf"}\n{"n": 3')
    assert read(path) == ([1, float("inf")], []), "the last line may be in the making"
    assert read(tmp_path / "none.jsonl") == ([], [])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (b"\x00\n", "x.jsonl has 1 line that is no JSON object; the others were read"),
        (b"[1]\n{\n", "x.jsonl has 2 lines that are no JSON object; the others were read"),
        (
            b"[" * 100_000 + b"\n",
            "x.jsonl has 1 line that is no JSON object; the others were read",
        ),
        (
            b'{"n": NaN}\n',
            "x.jsonl has 1 line that is no JSON object; the others were read",
        ),
    ],
)
def test_damage_costs_its_line_and_is_told(tmp_path, damage, sentence):
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + damage + GOOD)
    assert read(path) == ([1, 1], [sentence])
    history = History(path).refresh()
    assert (history.rows, history.problem) == (2, sentence)


def test_what_is_no_file_is_told(tmp_path):
    (tmp_path / "x.jsonl").mkdir()
    assert read(tmp_path / "x.jsonl") == (
        [],
        ["x.jsonl cannot be read: x.jsonl is no ordinary file"],
    )
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
        assert read(tmp_path / "pipe")[0] == []
        with pytest.raises(OSError, match="no ordinary file"):
            read_json(tmp_path / "pipe")


def test_a_gigabyte_of_nothing_is_given_up_at_once(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD)
    os.truncate(path, 1_000_000_000)
    start = time.process_time()
    sentence = "x.jsonl holds much that is no JSON; it was not read to its end"
    assert read(path) == ([1], [sentence])
    history = History(path)
    for _ in range(20):
        history.refresh()
    assert (history.rows, history.problem) == (1, sentence)
    assert time.process_time() - start < 5


def test_much_garbage_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_NONSENSE", 50_000)
    path = tmp_path / "x.jsonl"
    garbage = random.Random(0).randbytes(3_000_000)
    path.write_bytes(GOOD + garbage + b"\n" + GOOD)
    rows, problems = read(path)
    assert rows == [1] and len(problems) == 1
    history = History(path).refresh()
    assert history.rows == 1 and history.problem == problems[0]


def test_a_line_longer_than_any_of_ours_is_passed_over(tmp_path, monkeypatch):
    for module in (lines, files):
        monkeypatch.setattr(module, "MOST_LINE", 1000)
        monkeypatch.setattr(module, "_BLOCK", 300)
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + b'{"n": 2, "x": "' + b"y" * 5000 + b'"}\n{"n": 3}\n{"n": 4}\n')
    assert read(path)[0] == [1, 3, 4]
    cut_lines(path, lambda row: row["n"] <= 3)
    assert read(path)[0] == [1, 3]


def test_a_very_large_file_is_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BYTES", 64_000)
    monkeypatch.setattr(lines, "_PARTS", 64)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(100_000)))
    rows, (sentence,) = read(path)
    assert sentence == "x.jsonl has 1 MB; 0 MB of it were read, in 64 evenly spaced parts"
    assert rows[0] == 0 and rows[-1] == 99_999
    assert rows == sorted(set(rows))
    gaps = [after - before for before, after in pairwise(rows)]
    assert max(gaps) < 2000 and 3000 < len(rows) < 7000
    tail = Tail(path)
    looked(tail)
    with path.open("ab") as file:
        file.write(GOOD)
    assert looked(tail) == (False, GOOD), "and followed from its end"


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 20])
def test_blocks_end_with_lines(tmp_path, monkeypatch, block):
    monkeypatch.setattr(lines, "_BLOCK", block)
    monkeypatch.setattr(files, "_BLOCK", block)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\n\n{"n": 22}\n{"n": 333}\n{"n"')
    assert read(path)[0] == [1, 22, 333]
    assert cut_lines(path, lambda row: row["n"] < 100) == len(b'{"n": 333}\n{"n"')
    assert read(path)[0] == [1, 22]
    cut_lines(path, lambda row: False)
    assert path.read_bytes() == b""


def test_a_file_that_vanishes_reads_as_empty(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"env_steps": 5}\n')
    tail = Tail(path)
    assert looked(tail) == (False, b'{"env_steps": 5}\n')
    path.unlink()
    assert looked(tail) == (True, b"")
    assert looked(tail) == (False, b"")


def test_a_file_of_the_same_bytes_that_was_replaced_is_read_again(tmp_path):
    path, other = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    path.write_bytes(GOOD)
    tail = Tail(path)
    looked(tail)
    other.write_bytes(GOOD + GOOD)
    other.replace(path)
    assert looked(tail) == (True, GOOD + GOOD)


def test_a_file_of_json_has_a_size(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"text": "' + "x" * 2_000_000 + '"}')
    assert read_json(path)["text"]
    with pytest.raises(ValueError, match=r"x\.json has more than 1 MB"):
        read_json(path, most=1_000_000)


def test_columns_without_end_are_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr("spotter.rundir.history._MOST_NUMBERS", 5000)
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"env_steps": {n}, "k{n}": 1}}\n' for n in range(1000)))
    history = History(path).refresh()
    assert history.rows == 1000 and len(history.column("env_steps")) == 1000
    assert len(history.keys) < 150
