"""Settings of many runs, as columns: what every config.yaml holds, by dotted name.

Reading one takes 30 ms, so what was read is kept in `.settings.json` beside the runs. It is never
the truth: an entry counts only while its config.yaml looks as it did.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from spotter.config import RunConfig, recipes, synonyms, tree
from spotter.plugins import did_you_mean, names
from spotter.rundir.files import UNREADABLE, read_json, write_json
from spotter.rundir.identity import Info, home
from spotter.types import UserError

CACHE: Final = ".settings.json"
Settings = dict[str, Any]
"""Dotted name -> value; a schedule is one value."""
_MOST_CACHE: Final = 256_000_000


def of_runs(infos: Iterable[Info]) -> dict[str, Settings]:
    """Run id -> its settings; empty for a run whose config.yaml cannot be read."""
    before = _remembered()
    now = dict(before)
    for info in infos:
        name = str(info["id"])
        looks = _look(home() / name / "config.yaml")
        if name not in now or now[name].get("looks") != looks:
            now[name] = {"looks": looks, "settings": _read(home() / name / "config.yaml")}
    found = {str(info["id"]): dict(now[str(info["id"])]["settings"]) for info in infos}
    if now != before:
        there = {name: entry for name, entry in now.items() if (home() / name).is_dir()}
        with suppress(OSError):  # a folder that cannot be written to is read again next time
            write_json(home() / CACHE, there)
    return found


def _remembered() -> dict[str, Any]:
    try:
        kept = read_json(home() / CACHE, _MOST_CACHE)
    except UNREADABLE:
        return {}
    return {
        name: entry
        for name, entry in kept.items()
        if isinstance(entry, dict) and isinstance(entry.get("settings"), dict)
    }


def _look(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_mtime_ns} {stat.st_size} {stat.st_ino}"


def _read(path: Path) -> Settings:
    try:
        data = recipes.plain(recipes.read(path).data)
    except (UserError, *UNREADABLE):
        return {}
    return dict(_flat(data)) if isinstance(data, Mapping) else {}


def _flat(data: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for section, values in data.items():
        if isinstance(values, Mapping):
            yield from ((f"{section}.{key}", value) for key, value in values.items())
        else:
            yield str(section), values


def number_of(value: object) -> float | None:
    """A setting as a number; a schedule counts by what it starts with."""
    if isinstance(value, Mapping):
        points = value.get("points")
        value = value.get("start", points[0][1] if points else None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def known(infos: Iterable[Info]) -> set[str]:
    """Every name a setting has: today, or in one of these runs."""
    today = {
        path for algo in names("algos") for path in tree.paths(RunConfig, {"algo": {"name": algo}})
    }
    return today.union(*(settings for settings in of_runs(infos).values()))


def unknown(name: str, columns: Iterable[str], infos: Iterable[Info]) -> str:
    """The sentence for a name that neither a column nor a setting has."""
    synonym = synonyms.find(name)
    if synonym is not None and synonym.settings:
        return f"'{name}' is no column of a run; did you mean '{synonym.settings[0]}'?"
    there = [*columns, *known(infos)]
    last = {path.rpartition(".")[2]: path for path in sorted(there, reverse=True) if "." in path}
    if "." not in name and name in last:
        return f"'{name}' is no column of a run; did you mean '{last[name]}'?"
    return f"'{name}' is no column of a run{did_you_mean(name, there)}"
