"""How long a user waits: commands, the first update, and the way out after Ctrl-C.

    python benchmarks/startup.py [--runs 5]

Prints medians in seconds. Every run is a process of its own in a scratch folder.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

PROGRAM: Final = str(Path(sys.executable).with_name("spotter"))
LONG: Final = ("train", "CartPole-v1:ppo", "budget.env_steps=1e8", "eval.every_steps=null")


def start(*arguments: str, folder: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    variables = {**os.environ, "SPOTTER_RUNS": folder}
    return subprocess.Popen([PROGRAM, *arguments], env=variables, stdout=quiet, stderr=quiet)


def command(*arguments: str) -> float:
    """From typing a command to its end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        start(*arguments, folder=folder).wait()
        return time.perf_counter() - began


def training() -> tuple[float, float]:
    """From the command to the first update; from Ctrl-C to the prompt."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = start(*LONG, folder=folder)
        while not any(path.stat().st_size for path in Path(folder).glob("*/metrics.jsonl")):
            time.sleep(0.005)
        first = time.perf_counter() - began
        time.sleep(1)
        asked = time.perf_counter()
        process.send_signal(signal.SIGINT)
        process.wait()
        return first, time.perf_counter() - asked


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = range(parser.parse_args().runs)
    print(f"spotter --help   {statistics.median(command('--help') for _ in runs):.2f}")
    print(f"spotter runs     {statistics.median(command('runs') for _ in runs):.2f}")
    first, leaving = zip(*(training() for _ in runs), strict=True)
    print(f"first update     {statistics.median(first):.2f}")
    print(f"after Ctrl-C     {statistics.median(leaving):.2f}")


if __name__ == "__main__":
    main()
