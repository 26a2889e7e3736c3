"""What evaluation costs training: none, async and inline, alternating, as ratios of speed.

python benchmarks/async_eval.py [ADDRESS] [--rounds 5] [--steps 40000]
"""

import argparse
from collections.abc import Mapping
from statistics import median
from time import perf_counter
from typing import Any, Final

from spotter.config import resolve
from spotter.sinks.base import Ending, Row, Start
from spotter.training.run import train
from spotter.types import Evaluation

WAYS: Final[dict[str, dict[str, Any]]] = {
    "none": {"eval.every_steps": None},
    "async": {"eval.mode": "async"},
    "inline": {"eval.mode": "inline"},
}


class Stopwatch:
    """Wall time of every update but the last, which holds the test."""

    def __init__(self) -> None:
        self.times: list[tuple[float, int]] = []
        self.evaluations = 0

    def open(self, start: Start) -> None: ...

    def note(self, text: str) -> None: ...

    def row(self, row: Row) -> None:
        self.times.append((perf_counter(), row.env_steps))

    def evaluation(self, evaluation: Evaluation) -> None:
        self.evaluations += evaluation.seeds == "eval"

    def event(self, kind: str, data: Mapping[str, Any]) -> None: ...

    def close(self, ending: Ending | None) -> None: ...

    def steps_per_second(self) -> float:
        (began, first), (ended, last) = self.times[0], self.times[-2]
        return (last - first) / (ended - began)


def measure(address: str, way: str, steps: int) -> Stopwatch:
    settings: dict[str, Any] = {"budget.env_steps": steps, "eval.stop_when_solved": False} | WAYS[
        way
    ]
    watch = Stopwatch()
    train(resolve(address, settings).config, [watch])
    return watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", default="CartPole-v1:ppo")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40_000)
    options = parser.parse_args()
    speeds: dict[str, list[float]] = {way: [] for way in WAYS}
    counts: dict[str, int] = {}
    for _ in range(options.rounds):
        for way in WAYS:
            watch = measure(options.address, way, options.steps)
            speeds[way].append(watch.steps_per_second())
            counts[way] = watch.evaluations
    print(f"{options.address}, {options.steps} env steps, median of {options.rounds} rounds")
    print(f"{'evaluation':<12}{'evaluations':>12}{'steps/s':>10}{'ratio':>8}")
    for way in WAYS:
        ratios = [a / b for a, b in zip(speeds[way], speeds["none"], strict=True)]
        speed, ratio = median(speeds[way]), median(ratios)
        print(f"{way:<12}{counts[way]:>12}{speed:>10.0f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
