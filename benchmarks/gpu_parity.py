"""Do the GPU's fast paths learn as the plain one does? Several seeds of Pong, side by side.

    python benchmarks/gpu_parity.py [--seeds 5] [--env-steps 1_000_000] [--at-once 4] [--json FILE]

Each path trains `ALE/Pong-v5:rgb_fast` for the same number of env steps. Compared are the mean
score of the episodes in the second half and the env steps until the last 100 episodes average
`--level` (the whole run where they never do), by exact permutation tests against the plain path.
Runs share the machine, so times mean nothing here.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from parity import difference

PATHS: Final = {
    "plain torch": ["policy.engine=torch"],
    "recorded": [],
    "recorded, bfloat16": ["policy.precision=bfloat16"],
    "recorded, overlap": ["algo.overlap=true"],
}
_EPISODES: Final = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recipe", default="ALE/Pong-v5:rgb_fast")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--env-steps", type=int, default=1_000_000)
    parser.add_argument("--level", type=float, default=15.0)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--json", type=Path, help="append every run to this file")
    parser.add_argument("--one", nargs=2, metavar=("PATH", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options, options.one[0], int(options.one[1]))))
        return
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [(path, seed) for seed in seeds for path in PATHS]
    with ThreadPoolExecutor(options.at_once) as pool:
        rows = list(pool.map(lambda job: _elsewhere(options, *job), jobs))
    if options.json:  # with those of earlier sittings
        rows = [json.loads(line) for line in options.json.read_text().splitlines()]
    print("| path | score, second half | p | env steps to the level | p |\n|---|---|---|---|---|")
    plain = [row for row in rows if row["path"] == "plain torch"]
    for path in PATHS:
        print(_line(path, [row for row in rows if row["path"] == path], plain))


def _line(path: str, rows: list[dict[str, Any]], plain: list[dict[str, Any]]) -> str:
    cells = []
    for key, form in (("score", "{:.2f}"), ("steps", "{:,.0f}")):
        mine, theirs = ([float(row[key]) for row in some] for some in (rows, plain))
        p = "" if rows is plain or path == "plain torch" else f"{difference(mine, theirs):.2f}"
        cells += [form.format(statistics.fmean(mine)), p]
    return f"| {path} | {' | '.join(cells)} |"


def _elsewhere(options: argparse.Namespace, path: str, seed: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--recipe", options.recipe, "--level", str(options.level)]
    command += ["--env-steps", str(options.env_steps), "--one", path, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        raise SystemExit(f"{path}, seed {seed}: {done.stderr.strip()[-2000:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(row, flush=True)
    if options.json:
        with options.json.open("a") as file:
            file.write(json.dumps(row) + "\n")
    return row


def one(options: argparse.Namespace, path: str, seed: int) -> dict[str, Any]:
    from spotter.config import resolve
    from spotter.training.training import Training

    settings = [*PATHS[path], f"seed={seed}", f"budget.env_steps={options.env_steps}"]
    recent: deque[float] = deque(maxlen=_EPISODES)
    late: list[float] = []
    reached = options.env_steps
    with Training(resolve(options.recipe, settings).config) as training:
        while training.env_steps < options.env_steps:
            update = training.step()
            recent.extend(episode.score for episode in update.episodes)
            if update.env_steps > options.env_steps / 2:
                late += [episode.score for episode in update.episodes]
            is_there = len(recent) == _EPISODES and statistics.fmean(recent) >= options.level
            if is_there and reached == options.env_steps:
                reached = update.env_steps
    return {
        "path": path,
        "seed": seed,
        "score": statistics.fmean(late),
        "last": statistics.fmean(recent),
        "steps": reached,
    }


if __name__ == "__main__":
    main()
