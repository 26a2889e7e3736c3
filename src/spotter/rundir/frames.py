"""Runs and their numbers as pandas data frames; pandas is optional and imported here only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spotter.config.dump import flow
from spotter.plugins import require
from spotter.rundir import query, settings
from spotter.rundir.identity import Info

_INDEX: Final = "id"


def of_metrics(rows: Iterable[Mapping[str, object]]) -> Any:
    """One row per update, in order; a metric an update did not have is NaN."""
    return require("pandas", "frames").DataFrame.from_records(list(rows))


def of_runs(infos: Sequence[Info]) -> Any:
    """One row per run, newest first, indexed by id; times are UTC.

    Its columns, then its settings by dotted name; what is no number, text or switch (a schedule, a
    list) is text as in config.yaml.
    """
    pandas = require("pandas", "frames")
    written = settings.of_runs(infos)
    names = {name: None for found in written.values() for name in found}
    more = [name for name in names if name not in query.COLUMNS]
    rows = [
        query.row(info) | {name: _cell(written[info["id"]].get(name)) for name in more}
        for info in infos
    ]
    frame = pandas.DataFrame(rows, columns=[*query.COLUMNS, *more])
    for name, column in query.COLUMNS.items():
        if column.kind == "time":
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        elif column.kind == "number":
            frame[name] = pandas.to_numeric(frame[name])
        elif column.kind == "bool":
            frame[name] = frame[name].astype("boolean")
    for name in more:
        if _is_numeric(frame[name]):
            frame[name] = pandas.to_numeric(frame[name])
    return frame.set_index(_INDEX)


def _cell(value: object) -> Any:
    return flow(value) if isinstance(value, Mapping | list) else value


def _is_numeric(values: Iterable[object]) -> bool:
    there = [value for value in values if value is not None and value == value]
    return bool(there) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in there
    )
