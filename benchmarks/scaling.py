"""How Spotter's speed grows: with parallel envs, network width and length of the run.

    python benchmarks/scaling.py                  all three: prints tables, fills docs/benchmarks.md
    python benchmarks/scaling.py --what copies    one of: copies, width, length
    python benchmarks/scaling.py --longest        runs of 10⁷ steps as well

CartPole-v1 with PPO; one thread. Rollouts hold 32 vector steps and minibatches a quarter of them,
so that more envs mean larger batches, not more of them. Every point is a fresh process.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_WARM_UP: Final = 0.1  # share of the steps
_AXES: Final = {
    "copies": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    "width": (32, 64, 128, 256, 512),
    "length": (10_000, 100_000, 1_000_000),
}
_LONGEST: Final = 10_000_000
_LABELS: Final = {
    "copies": "parallel envs",
    "width": "units per layer (two layers, separate actor and critic)",
    "length": "env steps of the run",
}


@dataclass(frozen=True)
class Point:
    """One setting of one axis: speeds of its repeats, and the end of a run against its start."""

    value: int
    speeds: tuple[float, ...]
    last_to_first: float

    @property
    def speed(self) -> float:
        return median(self.speeds)


def settings(axis: str, value: int) -> dict[str, Any]:
    copies = value if axis == "copies" else 8
    env_steps = value if axis == "length" else max(20_000, 1_000 * copies)
    width = value if axis == "width" else 64
    return {
        "env": {"id": "CartPole-v1", "family": "classic", "count": copies},
        "policy": {"hidden": [width, width]},
        "algo": {"name": "ppo", "steps": 32, "minibatch": 0.25, "epochs": 4},
        "budget": {"env_steps": env_steps},
        "threads": 1,
        "device": "cpu",
    }


def measure(axis: str, value: int) -> tuple[float, float]:
    """Steps per second after the warm-up, and the second half's speed over the first half's."""
    from spotter.config import RunConfig
    from spotter.training.training import Training

    with Training(RunConfig.from_data(settings(axis, value))) as training:
        end = training.config.budget.env_steps or 0
        times = [(0.0, 0)]
        while training.env_steps < end:
            update = training.step()
            if training.env_steps >= _WARM_UP * end:
                times.append((perf_counter(), update.env_steps))
    times = times[1:]
    first, middle, last = times[0], times[len(times) // 2], times[-1]
    halves = _speed(middle, last) / _speed(first, middle)
    return _speed(first, last), halves


def _speed(one: tuple[float, int], other: tuple[float, int]) -> float:
    return (other[1] - one[1]) / (other[0] - one[0])


def repeat(axis: str, value: int, runs: int) -> Point:
    found = []
    for _ in range(runs):
        command = [sys.executable, __file__, "--point", f"{axis}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(tuple(float(word) for word in done.stdout.split()[-2:]))
    halves = median(pair[1] for pair in found)
    return Point(value, tuple(pair[0] for pair in found), halves)


def table(axis: str, points: Sequence[Point]) -> str:
    rows = [
        f"| {_LABELS[axis]} | steps/s, median | min – max | second half / first half |",
        "|---|---|---|---|",
    ]
    rows += [
        f"| {point.value:,} | {point.speed:,.0f} | {min(point.speeds):,.0f} – "
        f"{max(point.speeds):,.0f} | {point.last_to_first:.2f} |"
        for point in points
    ]
    return "\n".join(rows)


def svg(axis: str, points: Sequence[Point]) -> str:
    """A line over a logarithmic axis, steps/s from 0 upwards; every point is labelled."""
    width, height, left, top, bottom = 640, 300, 40, 40, 250
    highest = max(point.speed for point in points) * 1.1
    low, high = log(points[0].value), log(points[-1].value)

    def place(point: Point) -> tuple[float, float]:
        share = (log(point.value) - low) / (high - low or 1)
        return left + share * (width - 2 * left), bottom - point.speed / highest * (bottom - top)

    places = [place(point) for point in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" text-anchor="middle">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{width / 2}" y="20" font-size="14">Spotter, steps/s by {_LABELS[axis]}</text>',
        f'<path d="M{left} {bottom}H{width - left}" stroke="#888888" fill="none"/>',
        f'<polyline points="{line}" fill="none" stroke="#1f6feb" stroke-width="2"/>',
    ]
    for (x, y), point in zip(places, points, strict=True):
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f6feb"/>',
            f'<text x="{x:.1f}" y="{y - 8:.1f}">{_short(point.speed)}</text>',
            f'<text x="{x:.1f}" y="{bottom + 18}">{_short(point.value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def write(axis: str, points: Sequence[Point]) -> None:
    """The drawing, and the part of the page between this axis's markers."""
    picture = f"images/scaling_{axis}.svg"
    (_DOCS / picture).write_text(svg(axis, points), encoding="utf-8")
    start, end = f"<!-- {axis}:start -->", f"<!-- {axis}:end -->"
    page = _DOCS / "benchmarks.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    _, _, after = rest.partition(end)
    shown = f"![steps/s by {_LABELS[axis]}]({picture})\n\n{table(axis, points)}"
    page.write_text(f"{before}{start}\n{shown}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--what", choices=_AXES, help="default: all three")
    parser.add_argument("--runs", type=int, default=3, help="repeats of every point")
    parser.add_argument("--longest", action="store_true", help="runs of 10⁷ env steps as well")
    parser.add_argument("--values", help="points on the axis of --what, such as 1,8,64")
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.point:
        axis, _, value = given.point.partition("=")
        print(*measure(axis, int(value)))
        return
    if given.values and not given.what:
        parser.error("--values needs --what")
    for axis in [given.what] if given.what else _AXES:
        values = [int(v) for v in given.values.split(",")] if given.values else list(_AXES[axis])
        if axis == "length" and given.longest:
            values.append(_LONGEST)
        points = [repeat(axis, value, given.runs) for value in values]
        print(f"{table(axis, points)}\n", flush=True)
        if not given.no_write:
            write(axis, points)


if __name__ == "__main__":
    main()
