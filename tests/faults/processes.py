"""Real `spotter` processes, and how hard this run of the tests should try."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SOAK = bool(os.environ.get("SPOTTER_SOAK"))
"""Set by `make soak`: hours of the day instead of seconds."""


def spotter(*args: str, home: Path, **options) -> subprocess.Popen:
    command = [sys.executable, "-c", "from spotter.cli.main import main; main()", *args]
    return subprocess.Popen(
        command,
        env={**os.environ, "SPOTTER_RUNS": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen, timeout: float = 120) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def wait_for(condition, process: subprocess.Popen, timeout: float = 60) -> None:
    """Until something is true, or the process that should make it true is gone."""
    end = time.monotonic() + timeout
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def interrupt(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGINT)
