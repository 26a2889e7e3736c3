"""The test suite several times in a row beside processes that keep every core busy.

`make stress` runs it five times; a folder or file after it narrows what is run. Prints a table, and
fails if any run did; what a failed run printed goes to stderr. For a free machine: an hour or more
on two cores.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from spotter.system import machine

HOG = "while True: pass"


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Processes that compute for nothing."""
    busy = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(tests: list[str]) -> tuple[int, float, list[str]]:
    """Exit code, seconds, and the last line with the names of tests that failed."""
    workers = min(4, machine.cores() + 1)
    command = [sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile", *tests]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode:
        print(done.stdout, file=sys.stderr, flush=True)
    return done.returncode, time.monotonic() - began, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tests", nargs="*", help="folders or files; default: all")
    parser.add_argument("--runs", type=int, default=5, help="how often")
    parser.add_argument("--hogs", type=int, default=2, help="processes that only compute")
    args = parser.parse_args()
    print("| run | exit code | seconds | failed |\n|---|---|---|---|", flush=True)
    worst = 0
    with hogs(args.hogs):
        for number in range(1, args.runs + 1):
            code, seconds, failed = run(args.tests)
            worst = max(worst, code)
            print(
                f"| {number} | {code} | {seconds:.0f} | {'; '.join(failed) or 'none'} |", flush=True
            )
    return worst


if __name__ == "__main__":
    sys.exit(main())
