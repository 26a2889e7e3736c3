"""A disk that is really full: clear words, and nothing that was there is damaged."""

import os
import shutil
import subprocess
import sys

import pytest

from spotter.rundir.archive import export_run, import_run
from spotter.rundir.files import LineWriter, StorageError, cut_lines, read_json
from spotter.rundir.lines import read_lines
from spotter.rundir.run import Run, all_runs
from spotter.types import UserError


@pytest.fixture
def small_disk(tmp_path):
    """256 kB of memory as a disk."""
    if not (hasattr(os, "geteuid") and os.geteuid() == 0 and sys.platform == "linux"):
        pytest.skip("mounting a small disk takes root on Linux")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place) -> None:
    """Until not a single byte fits."""
    with (place / "filler").open("ab", buffering=0) as filler:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while filler.write(b"x" * size):
                    pass
            except OSError:
                continue


def test_training_files_on_a_full_disk(small_disk, make_config, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(small_disk))
    run = Run.create(make_config("CartPole-v1"), "CartPole-v1:ppo")
    with LineWriter(run.metrics_path) as rows:
        written = 0
        with pytest.raises(StorageError) as caught:
            while True:
                rows.write({"env_steps": written, "text": "x" * 300})
                written += 1
        assert str(caught.value) == f"cannot write {run.metrics_path}: No space left on device"
        assert [row["env_steps"] for row in read_lines(run.metrics_path)] == list(range(written))
        assert run.metrics_path.read_bytes().endswith(b"\n"), "the half line was taken back"
        fill(small_disk)

        before = read_json(run.folder / "run.json")
        with pytest.raises(StorageError, match=r"run.json: No space left on device"):
            run.update(env_steps=7)
        assert read_json(run.folder / "run.json") == before

        # Going back needs no room, and makes some.
        cut_lines(run.metrics_path, lambda row: row["env_steps"] < 10)
        rows.write({"env_steps": 10})
    assert [row["env_steps"] for row in run.metrics()] == list(range(11))
    run.finish("failed")
    assert not [path for path in run.folder.iterdir() if path.name.startswith(".")], "no litter"


def test_a_new_run_on_a_full_disk_leaves_nothing(small_disk, make_config, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(small_disk))
    fill(small_disk)
    with pytest.raises((StorageError, UserError), match="No space left"):
        Run.create(make_config("CartPole-v1"), "CartPole-v1:ppo")
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_archives_on_a_full_disk(small_disk, make_run, tmp_path, monkeypatch):
    run = make_run()
    (run.folder / "run.log").write_bytes(os.urandom(300_000))
    with pytest.raises(StorageError, match="No space left"):
        export_run(run, small_disk / "x.zip")
    assert list(small_disk.iterdir()) == []
    export_run(run, tmp_path / "x.zip")
    monkeypatch.setenv("SPOTTER_RUNS", str(small_disk / "runs"))
    with pytest.raises(UserError, match=r"has .* left"):
        import_run(tmp_path / "x.zip")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 10**9))
    with pytest.raises(StorageError, match="No space left"):
        import_run(tmp_path / "x.zip")
    assert list((small_disk / "runs").iterdir()) == []
    assert all_runs() == []


LIMITED = """
import resource, sys
from pathlib import Path
from spotter.rundir.files import LineWriter, StorageError, write_atomic
path = Path(sys.argv[1])
write_atomic(path.with_name("x.json"), "old")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with LineWriter(path) as lines:
    try:
        while True:
            lines.write({"text": "x" * 287})  # 300 bytes a line
    except StorageError as error:
        print(error)
try:
    write_atomic(path.with_name("x.json"), "y" * 2000)
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_a_file_that_may_not_grow_keeps_whole_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    assert path.stat().st_size == 900, "the fourth line was begun and taken back"
    assert len(list(read_lines(path))) == 3
    assert (tmp_path / "x.json").read_text() == "old"
    assert ran.stdout.splitlines() == [
        f"cannot write {path}: File too large",
        f"cannot write {tmp_path / 'x.json'}: File too large",
    ]
