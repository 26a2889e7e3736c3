"""A full disk ends a run with one sentence and damages nothing that was saved."""

import subprocess
import sys

import pytest

from spotter.rundir.run import Run
from spotter.training import checkpoint
from tests.faults.processes import finish, spotter


@pytest.fixture
def small_disk(tmp_path):
    """A file system of three megabytes; needs the right to mount one."""
    place = tmp_path / "small"
    place.mkdir()
    if sys.platform != "linux":
        pytest.skip("tmpfs is Linux's")
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount a small disk here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_stops_with_a_sentence_and_damages_nothing(small_disk):
    process = spotter(
        "train", "CartPole-v1:ppo", "policy.hidden=[128,128]", "budget.env_steps=1e6",
        "eval.stop_when_solved=false", "eval.episodes=2", "eval.every_steps=1000",
        "checkpoint.keep=null", "video.when=null", "--quiet",
        home=small_disk,
    )  # fmt: skip
    code, _, err = finish(process)
    assert code == 1, err
    assert "Traceback" not in err
    assert "No space left on device" in err
    (path,) = small_disk.glob("*/run.json")
    run = Run(path.parent)
    assert run.info()["id"] == run.id
    rows = [row["update"] for row in run.metrics()]
    assert rows == list(range(1, len(rows) + 1))
    steps = sorted((run.folder / "checkpoints").glob("step-*"))
    assert steps, "some were saved before the disk was full"
    for step in steps:
        checkpoint.read(step)
    assert checkpoint.find_in(run, "@latest") in steps
