"""Several runs as curves one can compare: seeds of the same settings together, others apart.

Runs that differ in nothing but the seed are one group. Its middle and the interval around it are
over seeds, never over episodes or updates; below three seeds there is a curve but no interval, and
the group says so. Drawn by Studio and by `spotter plot`. No torch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np

from spotter.config.dump import brief, flow
from spotter.intervals import FEWEST_SEEDS
from spotter.rundir import compare
from spotter.rundir.history import Curve, Doubles
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.types import UserError

GRID: Final = 200
_RESAMPLED: Final = 1000
_MOST_NAMED: Final = 2  # settings in the name of a group
_MOST_LISTED: Final = 4  # groups in one sentence
_LEVELS: Final = (2.5, 97.5)
_BLOCK: Final = 2_000_000  # numbers held at once while resampling

Middle = Literal["median", "iqm"]


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed; a run on its own is a group of one."""

    label: str
    runs: tuple[Run, ...]
    seeds: tuple[int, ...]
    """One per run; a seed that was trained twice stands here twice."""

    @property
    def distinct(self) -> int:
        return len(set(self.seeds))


@dataclass(frozen=True)
class Band:
    """The middle of a group over its seeds; `low` and `high` are None for too few of them."""

    env_steps: Doubles
    middle: Doubles
    low: Doubles | None
    high: Doubles | None
    seeds: int


def groups(runs: Sequence[Run]) -> list[Group]:
    """Seeds of the same settings together, in the order in which they were given."""
    alike: dict[str, list[Run]] = {}
    for run in runs:
        alike.setdefault(_but_the_seed(run), []).append(run)
    members = list(alike.values())
    infos = {run: run.info() for run in runs}
    labels = _labels([(several, infos[several[0]]) for several in members])
    return [
        Group(label, tuple(several), tuple(int(infos[run]["seed"]) for run in several))
        for label, several in zip(labels, members, strict=True)
    ]


def each_alone(runs: Sequence[Run]) -> list[Group]:
    """Every run by itself, whatever it has in common with others."""
    return [Group(run.id, (run,), (int(run.info()["seed"]),)) for run in runs]


def _but_the_seed(run: Run) -> str:
    try:
        return flow({key: value for key, value in settings(run).items() if key != "seed"})
    except UserError:
        return run.id  # unreadable settings are like no others


def _labels(members: Sequence[tuple[list[Run], Info]]) -> list[str]:
    """A run by its id, several by what was trained; then the settings that differ."""
    differ = _telling([several[0] for several, _ in members])
    names = [
        " ".join([str(info["address"]) if len(several) > 1 else several[0].id, *words])
        for (several, info), words in zip(members, differ, strict=True)
    ]
    named = [
        f"{name} ({info['group']})" if names.count(name) > 1 and info["group"] else name
        for name, (_, info) in zip(names, members, strict=True)
    ]
    return [
        name if named.count(name) == 1 else f"{name} #{named[: at + 1].count(name)}"
        for at, name in enumerate(named)
    ]


def _telling(runs: Sequence[Run]) -> list[list[str]]:
    """`lr 0.001`, where few enough settings differ to be named."""
    try:
        differ = settings_that_differ(runs, brief)
    except UserError:
        differ = {}
    differ = {name: texts for name, texts in differ.items() if name != "seed"}
    if not 0 < len(differ) <= _MOST_NAMED:
        return [[] for _ in runs]
    return [
        [f"{name.rpartition('.')[2]} {texts[at]}" for name, texts in differ.items()]
        for at in range(len(runs))
    ]


def advice(shown: Sequence[Group]) -> list[str]:
    """Aloud: which groups have no interval and why; nothing where all have one."""
    few = [group for group in shown if 1 < group.distinct < FEWEST_SEEDS]
    alone = [group for group in shown if group.distinct == 1]
    found = [
        f"Not enough seeds for an interval of {group.label}: {group.distinct} of at least "
        f"{FEWEST_SEEDS}."
        for group in few
    ]
    if alone:
        names = ", ".join(group.label for group in alone[:_MOST_LISTED])
        more = f" and {len(alone) - _MOST_LISTED} more" if len(alone) > _MOST_LISTED else ""
        found.append(
            f"Not enough seeds of {names}{more}: one seed says how a run went, not how good its "
            f"settings are; train {FEWEST_SEEDS} or more that differ in nothing but the seed."
        )
    return found


def band(curves: Sequence[Curve], seeds: Sequence[int], middle: Middle = "median") -> Band | None:
    """Over seeds, on a grid of env steps that every one of them has reached; None without any.

    Of a seed that was trained twice, the first curve counts: it is no second opinion.
    """
    first: dict[int, Curve] = {}
    for curve, seed in zip(curves, seeds, strict=True):
        kept = curve.finite()
        if kept.values.size:
            first.setdefault(seed, kept)
    if not first:
        return None
    grid = _grid(list(first.values()))
    if grid is None:
        return None
    table = np.stack([np.interp(grid, one.env_steps, one.values) for one in first.values()])
    low, high = _interval(table, middle) if len(first) >= FEWEST_SEEDS else (None, None)
    return Band(grid, _centre(table, middle), low, high, len(first))


def _grid(curves: Sequence[Curve]) -> Doubles | None:
    """From where all have begun to where the first one ends: beyond, others would be flattered."""
    start = max(float(curve.env_steps[0]) for curve in curves)
    stop = min(float(curve.env_steps[-1]) for curve in curves)
    if stop < start:
        return None
    if stop == start:
        return np.array([start])
    longest = max(curve.env_steps.size for curve in curves)
    return np.linspace(start, stop, min(GRID, max(longest, 2)))


def _centre(table: Doubles, middle: Middle) -> Doubles:
    """[..., seeds, points] → [..., points]."""
    if middle == "median":
        return np.asarray(np.median(table, axis=-2), dtype=np.float64)
    count = table.shape[-2]
    cut = count // 4  # a quarter off each end; of three seeds nothing can be cut off
    ordered = np.sort(table, axis=-2)[..., cut : count - cut, :]
    return np.asarray(ordered.mean(axis=-2), dtype=np.float64)


def _interval(table: Doubles, middle: Middle) -> tuple[Doubles, Doubles]:
    """95 % percentile bootstrap over seeds; the same numbers on every visit."""
    count, points = table.shape
    picks = np.random.default_rng(0).integers(0, count, (_RESAMPLED, count))
    block = max(1, _BLOCK // (_RESAMPLED * count))
    ends = []
    for at in range(0, points, block):
        resampled = _centre(table[:, at : at + block][picks], middle)
        ends.append(np.percentile(resampled, _LEVELS, axis=0))
    low, high = np.concatenate(ends, axis=1)
    return low, high


# --- what differs ---------------------------------------------------------------------------------


def settings_that_differ(
    runs: Sequence[Run], words: Callable[[object], str] = flow
) -> dict[str, list[str]]:
    """Dotted name -> the text of each run; nothing where they agree."""
    if len(runs) < 2:
        return {}
    infos = [run.info() for run in runs]
    return compare.differing_settings([settings(run) for run in runs], infos, words)


def settings(run: Run) -> Mapping[str, Any]:
    """`run.settings()`, read again only where config.yaml has changed: reading YAML is slow."""
    try:
        stat = (run.folder / "config.yaml").stat()
    except OSError:
        return run.settings()  # which says what is wrong
    return _settings(run, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _settings(run: Run, changed: int, size: int) -> Mapping[str, object]:
    return run.settings()
