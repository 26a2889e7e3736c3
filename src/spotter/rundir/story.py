"""What can be told about one run beyond run.json: its checkpoints, alerts and relatives."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spotter.rundir.files import read_json
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.rundir.thinning import held


@dataclass(frozen=True)
class Checkpoint:
    name: str
    env_steps: int
    roles: tuple[str, ...]
    """best, latest, both or none."""
    scores: dict[str, float]
    """By kind of seeds: eval, test."""


@dataclass(frozen=True)
class Told:
    """An alert of a run: in how many updates it held, and what was said about it."""

    id: str
    updates: int
    event: dict[str, Any]


def checkpoints(run: Run) -> list[Checkpoint]:
    """Oldest first."""
    folder = run.folder / "checkpoints"
    pointed = {role: _json(folder / f"{role}.json").get("step") for role in ("best", "latest")}
    found = []
    for step in sorted(folder.glob("step-*")):
        if step.name[5:].isdigit():
            roles = tuple(role for role, name in pointed.items() if name == step.name)
            scores = _scores(_json(step / "score.json"))
            found.append(Checkpoint(step.name, int(step.name[5:]), roles, scores))
    return found


def _scores(written: dict[str, Any]) -> dict[str, float]:
    """Format 1 holds one certificate, format 2 one per kind of seeds."""
    both = {written["seeds"]: written} if "seeds" in written else written
    return {
        kind: certificate["score"]
        for kind, certificate in both.items()
        if isinstance(certificate, dict) and "score" in certificate
    }


def _json(path: Any) -> dict[str, Any]:
    try:
        return read_json(path)
    except (OSError, ValueError):
        return {}


def alerts(run: Run) -> list[Told]:
    """Each alert once, sorted by id."""
    updates: Counter[str] = Counter()
    for row in run.metrics():
        updates.update(held(row))
    found: dict[str, Told] = {}
    for event in run.events():
        if event.get("event") == "alert":
            name = str(event.get("id", "?"))
            found[name] = Told(name, updates[name], event)
    return [found[name] for name in sorted(found)]


def children(run_id: str, infos: Iterable[Info]) -> list[str]:
    """Runs that began with a policy of this one."""
    return [info["id"] for info in infos if (info["parent"] or {}).get("run") == run_id]


def last_row(run: Run) -> dict[str, Any]:
    last: dict[str, Any] = {}
    for row in run.metrics():
        last = row
    return last
