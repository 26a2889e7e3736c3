"""The last runs of the same environment: what came out, and what was different."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.pages.digest.settings import rank
from spotter.rundir import selectors
from spotter.rundir.compare import differing_settings
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.text.numbers import count, number
from spotter.types import UserError

_DIFFERENCES: Final = 6


@dataclass(frozen=True)
class Other:
    """Another run of the same environment."""

    info: Info
    changes: Mapping[str, Sequence[str]] | None
    """Setting -> theirs and ours, without the seed; None if one of both cannot be read."""


def look(facts: Facts, others: int) -> list[Other]:
    """So many of them, the newest first."""
    return [Other(info, _changes(facts, info)) for info in _of_same_env(facts)[:others]]


def section(facts: Facts, found: Sequence[Other]) -> Section:
    """The newest first; the best of all is named, listed or not."""
    there = _of_same_env(facts)
    lines = [Line(_line(facts, other), rank) for rank, other in enumerate(found)]
    return Section(
        "## Other runs of this environment",
        lines if there else [Line("None.")],
        what="other runs",
        importance=62,
        intro=_intro(facts, there, len(found)) if lines else "",
    )


def _of_same_env(facts: Facts) -> list[Info]:
    """Newest first, without this one."""
    info = facts.view.info
    return [one for one in facts.infos if one["env"] == info["env"] and one["id"] != info["id"]]


def _intro(facts: Facts, there: list[Info], others: int) -> str:
    shown = f"The newest {min(others, len(there))} of {len(there)}"
    best = max(there, key=selectors.value)
    value = selectors.value(best)
    if not math.isfinite(value):
        return f"{shown}; none was scored. Settings are given as theirs, then this run's."
    name = facts.discreet.said(best["id"], 60)
    return f"{shown}; the best is {name} with {number(value)}. Settings: theirs, then this run's."


def _line(facts: Facts, other: Other) -> str:
    said, info = facts.discreet.said, other.info
    value = selectors.value(info)
    scored = number(value) if math.isfinite(value) else "no score"
    solved = ", solved" if info["solved"] else ""
    text = (
        f"- {said(info['id'], 60)}: {scored}{solved}, {said(info['status'], 20)}, "
        f"{count(info['env_steps'])} env steps, {said(info['algo'], 30)}, seed {info['seed']}"
    )
    if _unlike(facts.view.info, info):
        text += "; played on other terms, scores do not compare"
    return f"{text}; {_described(facts, other.changes)}"


def _unlike(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    prints = {one["fingerprint"], other["fingerprint"]}
    return "" not in prints and len(prints) > 1


def _described(facts: Facts, changes: Mapping[str, Sequence[str]] | None) -> str:
    if changes is None:
        return "its settings cannot be read"
    if not changes:
        return "same settings"
    names = sorted(changes, key=lambda name: (rank(name), name))
    parts = [f"{name} {' / '.join(changes[name])}" for name in names]
    more = len(parts) - _DIFFERENCES
    rest = f" and {more} more" if more > 0 else ""
    return f"differs: {facts.discreet.said(', '.join(parts[:_DIFFERENCES]), 240)}{rest}"


def _settings(run: Run) -> Mapping[str, object]:
    """Empty if they cannot be read."""
    try:
        return RunView(run).config
    except UserError:  # deleted meanwhile
        return {}


def _changes(facts: Facts, info: Info) -> dict[str, list[str]] | None:
    config = _settings(Run(facts.view.run.folder.parent / str(info["id"])))
    if not config or not facts.view.config:
        return None
    found = differing_settings([config, facts.view.config], [info, facts.view.info])
    found.pop("seed", None)
    return found
