"""Numbers for people, as the commands print them; made in numbers.py."""

from collections.abc import Sequence

from spotter.intervals import FEW_SEEDS, Interval
from spotter.text.numbers import count, duration, number, plural, score, speed, to_threshold

__all__ = [
    "count",
    "duration",
    "mean_over_seeds",
    "number",
    "plural",
    "score",
    "speed",
    "to_threshold",
]


def mean_over_seeds(found: Interval, seeds: Sequence[int]) -> str:
    """`480 ± 12.5 (95 % over 3 seeds: 1, 2, 3)`; without the interval where there are few."""
    names = ", ".join(map(str, seeds))
    mean = number(found.mean)
    if found.half is not None:
        return f"{mean} ± {number(found.half)} (95 % over {plural(found.count, 'seed')}: {names})"
    if found.count < 2:
        return f"{mean} (seed {names})"
    return f"{mean} ({plural(found.count, 'seed')}: {names}; {FEW_SEEDS})"
