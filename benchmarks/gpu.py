"""Pixels on a GPU: how near training comes to what the emulator and the network allow.

    python benchmarks/gpu.py                       the table for ALE/Pong-v5:rgb_fast
    python benchmarks/gpu.py --set env.count=256 --set algo.minibatch=4096
    python benchmarks/gpu.py --solve 20            and train until the last 100 episodes average 20

`bound` is what no trainer that learns and collects in turn can pass: 1 / (1 / env + 1 / learn).
Runs on the CPU as well, slowly.
"""

import argparse
import json
import statistics
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spotter.collect.sources import Inline
from spotter.config import resolve
from spotter.envs.make import make_vector
from spotter.training.training import Training
from spotter.types import Update

_EPISODES = 100
_WARM_UP = 3  # updates before timing: libraries choose their kernels, graphs are recorded


def main() -> None:
    options = _options()
    config = resolve(options.recipe, [*options.set, f"seed={options.seed}"]).config
    rows: dict[str, Any] = {}
    if not options.solve_only:
        rows |= measure(config, options.seconds)
    if options.solve is not None:
        rows |= solve(config, options.solve, options.most_seconds)
    for name, value in rows.items():
        print(f"{name:28} {value:,.4g}" if isinstance(value, float) else f"{name:28} {value}")
    if options.json:
        line = {"recipe": options.recipe, "settings": options.set, "seed": options.seed, **rows}
        with options.json.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("recipe", nargs="?", default="ALE/Pong-v5:rgb_fast")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement")
    parser.add_argument("--solve", type=float, metavar="SCORE")
    parser.add_argument("--solve-only", action="store_true", help="skip the table")
    parser.add_argument("--most-seconds", type=float, default=600.0)
    parser.add_argument("--json", type=Path, help="append the results to this file")
    return parser.parse_args()


def measure(config: Any, seconds: float) -> dict[str, Any]:
    """Environment alone, acting alone, learning alone, and all together; env steps per second."""
    rows: dict[str, Any] = {"env only, steps/s": _env_rate(config, seconds)}
    with Training(config) as training:
        for _ in range(_WARM_UP):
            training.step()
        updates: list[Update] = []
        began = time.perf_counter()
        while time.perf_counter() - began < 2 * seconds or len(updates) < 2:
            updates.append(training.step())
        _wait()
        elapsed = time.perf_counter() - began
        steps = sum(update.new_env_steps for update in updates)
        learn = statistics.median(update.seconds["learn"] for update in updates)
        rows["acting only, steps/s"] = _act_rate(training, seconds / 2)
    per_update = steps / len(updates)
    rows["learning only, steps/s"] = per_update / learn
    rows["end to end, steps/s"] = steps / elapsed
    bound = 1 / (1 / rows["env only, steps/s"] + learn / per_update)
    rows["achieved / bound"] = rows["end to end, steps/s"] / bound
    rows["achieved / env only"] = rows["end to end, steps/s"] / rows["env only, steps/s"]
    rows["learning per update, ms"] = 1000 * learn
    for stage in ("env", "policy", "transfer"):
        total = sum(update.seconds.get(stage, 0.0) for update in updates)
        rows[f"{stage}, share of time"] = total / elapsed
    if torch.cuda.is_available():
        rows["GPU memory, MiB"] = torch.cuda.max_memory_allocated() / 2**20
    return rows


def _env_rate(config: Any, seconds: float) -> float:
    """Random actions; groups of envs in turns where the back-end can."""
    with closing(make_vector(config.env, config.reward)) as vector:
        vector.reset(range(vector.count))
        actions = np.random.default_rng(0).integers(
            0, vector.spaces.action.nvec[0], (256, vector.count)
        )
        native: Any = vector
        halves = getattr(vector, "halves", 1)
        if halves > 1:
            for half, rows in enumerate(native.rows):
                native.send(half, actions[0, rows])

        def step(t: int) -> None:
            if halves == 1:
                vector.step(actions[t % 256])
                return
            for half, rows in enumerate(native.rows):
                native.recv(half)
                native.send(half, actions[t % 256, rows])

        rate = _rate(step, seconds) * vector.count
        if halves > 1:
            for half in range(halves):
                native.recv(half)
        return rate


def _act_rate(training: Training, seconds: float) -> float:
    """Policy calls on the present observations, including the way to the device and back."""
    assert isinstance(training.source, Inline)
    vector, policy = training.source.worker.vector, training.policy
    rows = max(1, vector.count // vector.halves)
    obs = {path: torch.from_numpy(leaf[:rows]) for path, leaf in vector.buffers.obs.items()}

    def act(_: int) -> None:
        policy.act({path: x.to(training.device) for path, x in obs.items()}).host_action()

    return _rate(act, seconds) * rows


def _rate(call: Callable[[int], None], seconds: float) -> float:
    for t in range(10):
        call(t)
    calls, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        call(calls)
        calls += 1
    return calls / elapsed


def solve(config: Any, score: float, most_seconds: float) -> dict[str, Any]:
    """Wall time, from nothing, until the last 100 training episodes average `score`."""
    scores: deque[float] = deque(maxlen=_EPISODES)
    curve: list[tuple[float, int, float]] = []
    began = time.perf_counter()
    with Training(config) as training:
        while time.perf_counter() - began < most_seconds:
            update = training.step()
            scores.extend(episode.score for episode in update.episodes)
            elapsed = time.perf_counter() - began
            mean = statistics.fmean(scores) if scores else float("nan")
            if not curve or elapsed - curve[-1][0] >= 5:
                curve.append((round(elapsed, 1), update.env_steps, round(mean, 2)))
                print(*curve[-1], flush=True)
            if len(scores) == _EPISODES and mean >= score:
                break
        return {
            "solved": bool(mean >= score and len(scores) == _EPISODES),
            "seconds": elapsed,
            "env_steps": training.env_steps,
            "score, last 100 episodes": mean,
            "steps/s while solving": training.env_steps / elapsed,
        }


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
