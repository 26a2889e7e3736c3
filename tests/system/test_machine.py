"""Cores and memory are those of this process, not of the machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.system import machine

SOURCE = Path(machine.__file__).parents[1]


def test_cores_follow_affinity(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {5, 2}, raising=False)
    assert machine.core_ids() == [2, 5]
    assert machine.cores() == 2


@pytest.mark.parametrize(("counted", "expected"), [(3, 3), (None, 1)])
def test_cores_without_affinity(monkeypatch, counted, expected):
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.delattr("os.process_cpu_count", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: counted)
    assert machine.cores() == expected


def test_nobody_else_counts_cores():
    counting = re.compile(r"cpu_count|sched_getaffinity")
    files = [path for path in SOURCE.rglob("*.py") if path != Path(machine.__file__)]
    assert [path.name for path in files if counting.search(path.read_text("utf-8"))] == []


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_pinned_process_counts_its_own_core():
    program = (
        "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from spotter.system import machine; print(machine.cores())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "1", done.stderr


def test_memory_is_the_least_of_all_limits(monkeypatch, tmp_path):
    real = machine.memory_bytes()
    assert real is not None and real > 10**8
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("1048576\n")
    monkeypatch.setattr(machine, "_CGROUPS", (tmp_path / "max", tmp_path / "none"))
    assert machine.memory_bytes() >= real
    monkeypatch.setattr(machine, "_CGROUPS", (tmp_path / "max", tmp_path / "limit"))
    assert machine.memory_bytes() == 1048576
