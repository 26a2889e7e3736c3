"""Runs and their numbers as pandas data frames; pandas is optional and imported here only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spotter.plugins import require
from spotter.rundir import query
from spotter.rundir.identity import Info

_INDEX: Final = "id"


def of_metrics(rows: Iterable[Mapping[str, Any]]) -> Any:
    """One row per update, in order; a metric an update did not have is NaN."""
    return require("pandas", "frames").DataFrame.from_records(list(rows))


def of_runs(infos: Sequence[Info]) -> Any:
    """One row per run, newest first, indexed by id; times are UTC."""
    pandas = require("pandas", "frames")
    columns = list(query.COLUMNS)
    frame = pandas.DataFrame([query.row(info) for info in infos], columns=columns)
    for name, column in query.COLUMNS.items():
        if column.kind == "time":
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        elif column.kind == "number":
            frame[name] = pandas.to_numeric(frame[name])
        elif column.kind == "bool":
            frame[name] = frame[name].astype("boolean")
    return frame.set_index(_INDEX)
