"""The columns of a run's history that hold anything, and what share of a sum each has."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from spotter.rundir.history import AXES, Curve, Doubles, History
from spotter.rundir.trend import bucket

_STRETCHES: Final = 12


def columns(history: History) -> dict[str, Curve]:
    """Every metric that was written; infinity where a value was not finite."""
    found = {key: history.written(key) for key in history.keys if key not in AXES}
    return {key: curve for key, curve in found.items() if curve.values.size}


def shares(columns: Mapping[str, Curve]) -> tuple[Doubles, dict[str, Doubles]]:
    """Each column's part of their sum, in a few stretches; what a row lacks counts as 0.

    Few, because evaluations fall into some rows only, and their time belongs to all of them.
    """
    every = np.unique(np.concatenate([column.env_steps for column in columns.values()]))
    few = len(every) <= _STRETCHES
    place_of = np.arange(len(every)) if few else bucket(every, _STRETCHES)
    width = len(every) if few else _STRETCHES
    sums: dict[str, Doubles] = {}
    for name, column in columns.items():
        place = place_of[np.searchsorted(every, column.env_steps)]
        values = np.nan_to_num(column.values, posinf=0.0, neginf=0.0)
        sums[name] = np.bincount(place, values, width).astype(np.float64)
    count = np.maximum(np.bincount(place_of, minlength=width), 1)
    middle = np.bincount(place_of, every, width) / count
    total = np.sum(list(sums.values()), axis=0)
    used = total > 0
    return middle[used], {name: part[used] / total[used] for name, part in sums.items()}
