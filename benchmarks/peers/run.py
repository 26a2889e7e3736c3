"""Spotter and its peers on the same work, in turn, on this machine.

    python benchmarks/peers/run.py                            everything: hours on two cores
    python benchmarks/peers/run.py --work W1,W3 --runs 3      some works, fewer rounds
    python benchmarks/peers/run.py --only spotter,sb3         some contestants
    python benchmarks/peers/run.py --share 0.02 --runs 1 --no-write     does it all work?

Every turn is a process of its own with the threads the work asks for; the order is reversed every
round (A B B A …), so that drift favours none. Prints a table per work, writes the raw numbers to
benchmarks/results/ and the tables into docs/benchmarks.md. See benchmarks/README.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import report
from contestants import CONTESTANTS, HERE, Contestant, UnavailableError, environment
from meter import STARTED
from works import WORKS, Work

_ROOT = HERE.parent.parent
_PAGE = _ROOT / "docs" / "benchmarks.md"
_RESULTS = HERE.parent / "results"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def measure(
    contestant: Contestant, python: Path, work: Work, seed: int, share: float, timeout_s: float
) -> dict[str, Any]:
    """One turn; `UnavailableError` with the reason if it gave no result."""
    command = [str(python), str(contestant.script), work.name, "--seed", str(seed)]
    extra = dict.fromkeys(_THREADS, str(work.threads)) | {STARTED: repr(time.time())}
    try:
        with tempfile.TemporaryDirectory() as folder:  # some leave things where they are started
            done = subprocess.run(
                [*command, "--share", str(share)],
                cwd=folder,
                env=environment(extra),
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"no result after {timeout_s:g} s") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"work"')]
    if done.returncode or not lines:
        errors = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnavailableError(f"failed: {errors[-1]}")
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def take_turns(
    work: Work, contestants: Sequence[Contestant], rounds: int, share: float, timeout_s: float
) -> tuple[list[report.Run], dict[str, str]]:
    """All rounds of one work, and why some contestants are missing."""
    skipped: dict[str, str] = {}
    ready: list[tuple[Contestant, Path]] = []
    runs: list[report.Run] = []
    for contestant in contestants:
        try:
            ready.append((contestant, contestant.python()))
        except UnavailableError as reason:
            skipped[contestant.name] = str(reason)
            print(f"{work.name} {contestant.title}: left out, {reason}", file=sys.stderr)
    for index in range(rounds):
        for contestant, python in ready if index % 2 == 0 else reversed(ready):
            if contestant.name in skipped:
                continue
            try:
                result = measure(contestant, python, work, index + 1, share, timeout_s)
            except UnavailableError as reason:
                skipped[contestant.name] = str(reason)
                print(f"{work.name} {contestant.title}: {reason}", file=sys.stderr, flush=True)
                continue
            runs.append(report.Run(work.name, contestant.name, index, index + 1, result))
            print(_line(runs[-1]), file=sys.stderr, flush=True)
    return runs, skipped


def _line(run: report.Run) -> str:
    speed, to_score = run.speed(), run.result["to_score_s"]
    words = [f"{speed:,.0f} steps/s"] if speed is not None else []
    words += [f"{to_score:.1f} s to score"] if to_score is not None else []
    return f"{run.work} round {run.round + 1} {run.contestant}: {', '.join(words) or 'no score'}"


def chosen(given: str | None, known: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    names = given.split(",") if given else list(known)
    for name in names:
        if name not in known:
            parser.error(f"'{name}' is none of {', '.join(known)}")
    return names


def options() -> tuple[argparse.Namespace, list[str], list[str]]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--work", help="such as W1,W2; default: all")
    parser.add_argument("--only", help="contestants, such as spotter,sb3; default: all")
    parser.add_argument("--runs", type=int, default=5, help="rounds, each with its own seed")
    parser.add_argument("--share", type=float, default=1.0, help="of every work's env steps")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds per turn")
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    works = chosen(given.work, list(WORKS), parser)
    return given, works, chosen(given.only, [c.name for c in CONTESTANTS], parser)


def main() -> None:
    given, works, names = options()
    command = " ".join(["python benchmarks/peers/run.py", *sys.argv[1:]])
    everything: list[report.Run] = []
    missing: dict[str, dict[str, str]] = {}
    print(report.machine(), flush=True)
    for name in works:
        work = WORKS[name] if given.share == 1 else WORKS[name].shortened(given.share)
        takers = [c for c in CONTESTANTS if c.name in names and name in c.works]
        runs, skipped = take_turns(work, takers, given.runs, given.share, given.timeout)
        everything += runs
        missing[name] = skipped
        print(f"\n{name}: {work.title}\n{report.table(runs, name)}", flush=True)
        for contestant, reason in skipped.items():
            print(f"left out: {contestant}: {reason}", flush=True)
        if given.no_write:
            continue
        report.save(_RESULTS / f"{date.today()}.json", everything, missing)
        if runs:
            page = _PAGE.read_text(encoding="utf-8")
            text = report.section(runs, skipped, work, command)
            _PAGE.write_text(report.replace_section(page, name, text), encoding="utf-8")


if __name__ == "__main__":
    main()
