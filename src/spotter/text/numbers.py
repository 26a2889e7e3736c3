"""Numbers for people. Imports nothing that takes time: every command uses this."""

import math
from collections.abc import Sequence
from typing import Final

from spotter.intervals import FEW_SEEDS, Interval

_UNITS: Final = ((1e9, 1e9, "B"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
_LARGE: Final = 1e4
_TOO_LARGE: Final = 1e15


def count(value: int) -> str:
    """31232 → `31,232`."""
    return f"{value:,}"


def number(value: float) -> str:
    """Scores and thresholds: `475`, `-13.25`, `0.7`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def score(value: float) -> str:
    """One decimal; small scores, such as success rates, need more."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def plus_minus(value: float, half: float | None) -> str:
    """A mean with the half-width of its 95 % interval, as precise as a score: `496.3 ± 4.1`."""
    return score(value) if half is None else f"{score(value)} ± {_as_precise(value, half)}"


def _as_precise(value: float, half: float) -> str:
    return f"{half:.1f}" if abs(value) >= 10 else f"{half:.3f}"


def interval(mean: float, half: float | None) -> str:
    """`496.3 ± 4.1 (95 %)`; the mean alone where there is no interval."""
    return number(mean) + ("" if half is None else f" ± {number(half)} (95 %)")


def often(updates: int, of_all: float | None) -> str:
    """In how many updates an alert was raised: `3 updates, 12 % of all`."""
    return plural(updates, "update") + ("" if of_all is None else f", {share(of_all)} of all")


def duration(seconds: float) -> str:
    """`11.2 s`, `3 min 05 s`, `2 h 07 min`."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def stopwatch(seconds: float) -> str:
    """For what ticks: `0:00:07`, `26:10:00`."""
    if not math.isfinite(seconds):
        return "?:??:??"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def plural(value: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def mean_over_seeds(found: Interval, seeds: Sequence[int]) -> str:
    """`480 ± 12.5 (95 % over 3 seeds: 1, 2, 3)`; without the interval where there are few."""
    names = ", ".join(map(str, seeds))
    mean = number(found.mean)
    if found.half is not None:
        return f"{mean} ± {number(found.half)} (95 % over {plural(found.count, 'seed')}: {names})"
    if found.count < 2:
        return f"{mean} (seed {names})"
    return f"{mean} ({plural(found.count, 'seed')}: {names}; {FEW_SEEDS})"


def to_threshold(steps: int | None, total: int | None) -> str:
    """`20,480`; of a fork `20,480 (71,680 with its ancestors)`; empty if it was not reached."""
    if steps is None:
        return ""
    return count(steps) + (
        "" if total in (None, steps) else f" ({count(total)} with its ancestors)"
    )


def speed(fps: float | None, wall_fps: float | None) -> str:
    """`1,234 fps, 980 with evaluation and saving`; empty where it was not measured."""
    if fps is None:
        return ""
    wall = "" if wall_fps is None else f", {wall_fps:,.0f} with evaluation and saving"
    return f"{fps:,.0f} fps{wall}"


def share(value: float) -> str:
    """Of a whole: `3 %`, `<1 %`."""
    return "<1 %" if 0 < value < 0.01 else f"{value:.0%}".replace("%", " %")


def amount(value: float, precision: int) -> str:
    """A metric in a narrow column: so many decimals, units where large, two digits where tiny."""
    size = abs(value)
    if not math.isfinite(value) or size >= _TOO_LARGE:
        return f"{value:.3g}"
    for least, unit, letter in _UNITS:
        if size >= least:
            return f"{value / unit:.4g}{letter}"
    if _vanishes(value, precision):
        return f"{value:.2g}"
    return f"{value + 0.0:,.{precision}f}"


def short(value: float) -> str:
    """Any number in about four digits: `0.0123`, `497.5`, `12.4k`."""
    return amount(value, 0) if abs(value) >= _LARGE else f"{value + 0.0:.4g}"


def change(before: float, after: float, precision: int) -> str:
    """The signed difference, as precise as the value beside it; empty where there is none."""
    difference = after - before
    if not math.isfinite(difference):
        return ""
    if difference == 0 or (_vanishes(difference, precision) and not _vanishes(after, precision)):
        return "0"
    text = amount(difference, precision)
    return text if difference < 0 else f"+{text}"


def _vanishes(value: float, precision: int) -> bool:
    return value != 0 and abs(value) < 0.5 * 10.0**-precision


def printable(text: str) -> str:
    """Without what would move a terminal's cursor, change its colours or the direction of writing:
    text may come from a stranger's file. Lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
