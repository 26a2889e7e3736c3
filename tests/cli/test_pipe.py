"""Output that nobody reads any more: real processes, and pipes that are really closed."""

import os
import re
import subprocess
import sys

import pytest

from spotter.cli.pipe import READER_GONE
from spotter.rundir.run import Run
from tests.rundir.making import maker

SPOTTER = (sys.executable, "-c", "from spotter.cli.main import main; main()")
TRAIN = ("train", "CartPole-v1:ppo", "budget.env_steps=3000", "eval.episodes=2", "video.when=null")
posix = pytest.mark.skipif(os.name == "nt", reason="exit codes of signals are POSIX")


def closed_after(lines: int, *args: str, both: bool = False, **settings: str) -> tuple[int, str]:
    """The exit code of a command whose reader leaves after so many lines, and its stderr."""
    with subprocess.Popen(
        [*SPOTTER, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if both else subprocess.PIPE,
        env={**os.environ, **settings},
        encoding="utf-8",
    ) as process:
        for _ in range(lines):
            assert process.stdout.readline()
        process.stdout.close()
        told = "" if both else process.stderr.read()
    return process.returncode, told


@pytest.mark.parametrize(
    ("lines", "extra", "both"),
    [(2, (), False), (0, ("--quiet",), False), (1, (), True)],
    ids=["head", "quiet", "stderr-too"],
)
def test_a_training_goes_on_without_its_reader(tmp_path, lines, extra, both):
    home = tmp_path / "home"
    code, told = closed_after(lines, *TRAIN, *extra, both=both, SPOTTER_RUNS=str(home))
    assert (code, told) == (0, "")
    (log,) = home.glob("*/run.log")
    assert re.search(r"env steps +3,072\n", log.read_text(encoding="utf-8"))
    assert list(log.parent.glob("checkpoints/step-*"))
    assert Run(log.parent).info()["status"] == "finished"


def test_a_script_that_trains_goes_on_without_its_reader(tmp_path):
    """The console alone, without the command line around it."""
    done = tmp_path / "done"
    script = (
        "from pathlib import Path\n"
        "from spotter.config import resolve\n"
        "from spotter.sinks.console import Console\n"
        "from spotter.training import train\n"
        f"config = resolve('CartPole-v1:ppo', {list(TRAIN[2:])!r}).config\n"
        "result = train(config, (Console(),))\n"
        f"Path({str(done)!r}).write_text(str(result.env_steps))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        process.stdout.readline()
        process.stdout.close()
    assert done.read_text() == "3072"


@posix
@pytest.mark.parametrize(
    "args",
    [("list",), ("config", "CartPole-v1:ppo"), ("--help",), ("runs",), ("digest", "@last")],
    ids=" ".join,
)
def test_any_other_command_ends_in_silence(make_config, args):
    maker(make_config)()
    assert closed_after(0, *args) == (READER_GONE, "")


@posix
def test_a_mistake_that_nobody_reads_is_silent_too():
    assert closed_after(0, "show", "nothing", both=True) == (READER_GONE, "")
