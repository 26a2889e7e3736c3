"""Runs on the compare page: what became of each, and the family tree they belong to.

No web code here, and no torch. Curves over seeds are made in rundir/curves.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.rundir.view import RunView


def views(runs: Sequence[Run]) -> list[RunView]:
    """What became of each, read here and now: pages are drawn in another thread."""
    found = [RunView(run) for run in runs]
    for view in found:
        view.score, view.evaluations, view.config  # noqa: B018
    return found


@dataclass(frozen=True)
class LineageNode:
    """A run in the family tree; `info` is None for one that is not here any more."""

    id: str
    parent: str | None
    how: str
    """How it came from its parent: `fork at 20,224 env steps`."""
    info: Info | None


def lineage(chosen: Sequence[str], infos: Sequence[Info]) -> list[LineageNode]:
    """The whole families of the chosen runs, parents before children."""
    known = {str(info["id"]): info for info in infos}
    parents = {name: _parent(info) for name, info in known.items()}
    wanted = dict.fromkeys(name for name in chosen if name in known)
    for name in list(wanted):
        wanted |= dict.fromkeys(_ancestors(name, parents))
    grown = True
    while grown:
        born = [name for name, up in parents.items() if up in wanted and name not in wanted]
        wanted |= dict.fromkeys(born)
        grown = bool(born)
    return _in_order(wanted, known, parents)


def _in_order(
    wanted: Mapping[str, None], known: Mapping[str, Info], parents: Mapping[str, str | None]
) -> list[LineageNode]:
    ordered: dict[str, LineageNode] = {}
    for name in wanted:
        for one in [*reversed(list(_ancestors(name, parents))), name]:
            if one not in ordered:
                info = known.get(one)
                ordered[one] = LineageNode(one, parents.get(one), _how(info), info)
    return list(ordered.values())


def _ancestors(name: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    seen = {name}
    up = parents.get(name)
    while up is not None and up not in seen:  # a run.json may say anything, even a circle
        yield up
        seen.add(up)
        up = parents.get(up)


def _parent(info: Info) -> str | None:
    return str(info["parent"]["run"]) if info["parent"] else None


def _how(info: Info | None) -> str:
    if info is None or not info["parent"]:
        return ""
    steps = info["parent"].get("env_steps")
    kind = str(info["parent"].get("kind") or "from")
    return f"{kind} at {steps:,} env steps" if isinstance(steps, int) else kind
