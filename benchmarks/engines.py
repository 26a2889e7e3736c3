"""What hand-derived gradients save: both engines on the same minibatches, in turn.

    python benchmarks/engines.py [--pairs 7]

Prints microseconds per PPO minibatch (forward, loss, gradient, clip, Adam) and env steps per second
of whole updates for torch and NumPy, and the medians of the ratios within each pair.
"""

import argparse
import statistics
import time
from typing import Final

from spotter.config import validate
from spotter.training.training import Training

SIZES: Final = (64, 256, 1024)
WIDTHS: Final = (64, 256)
_ENV: Final = {"id": "CartPole-v1", "family": "classic", "count": 16}


def make(engine: str, minibatch: int, width: int) -> Training:
    return Training(
        validate(
            {
                "env": _ENV,
                "algo": {"name": "ppo", "steps": 64, "minibatch": minibatch, "epochs": 4},
                "policy": {"engine": engine, "hidden": [width, width]},
                "budget": {"env_steps": 10_000_000},
            }
        )
    )


def sample(training: Training, minibatch: int, updates: int) -> tuple[float, float]:
    """Microseconds per minibatch, env steps per second."""
    began, before, learn = time.perf_counter(), training.env_steps, 0.0
    for _ in range(updates):
        learn += training.step().seconds["learn"]
    steps = training.env_steps - before
    return 1e6 * learn / (4 * steps / minibatch), steps / (time.perf_counter() - began)


def compare(minibatch: int, width: int, pairs: int) -> str:
    with make("torch", minibatch, width) as slow, make("numpy", minibatch, width) as fast:
        for training in (slow, fast):
            sample(training, minibatch, 2)
        found = []
        for index in range(pairs):
            order = (slow, fast) if index % 2 else (fast, slow)
            taken = {training: sample(training, minibatch, 4) for training in order}
            found.append((taken[slow], taken[fast]))
    learn = statistics.median(s[0] / f[0] for s, f in found)
    whole = statistics.median(f[1] / s[1] for s, f in found)
    micro = [statistics.median(pair[side][0] for pair in found) for side in (0, 1)]
    rate = [statistics.median(pair[side][1] for pair in found) for side in (0, 1)]
    return (
        f"| {width} × {width} | {minibatch} | {micro[0]:,.0f} | {micro[1]:,.0f} | {learn:.1f}× "
        f"| {rate[0]:,.0f} | {rate[1]:,.0f} | {whole:.1f}× |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    args = parser.parse_args()
    print("| network | minibatch | torch µs | NumPy µs | learning | torch steps/s | NumPy | all |")
    print("|---|---|---|---|---|---|---|---|")
    for width in WIDTHS:
        for size in SIZES:
            print(compare(size, width, args.pairs), flush=True)


if __name__ == "__main__":
    main()
