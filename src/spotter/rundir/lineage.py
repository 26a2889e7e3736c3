"""Where a run's first weights come from: its parents, and the env steps that lie behind them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spotter.rundir.files import read_json
from spotter.rundir.values import text, whole


def steps_before(home: Path, parent: object) -> int | None:
    """Env steps along the line of ancestors, each up to the checkpoint its child began with.

    `parent` is that of run.json. 0 without one; None where the line cannot be followed, because a
    run of an older Spotter did not write down the sum and an ancestor is gone.
    """
    total, seen = 0, set[str]()
    while parent is not None:
        if not isinstance(parent, Mapping):
            return None
        known = whole(parent.get("total_env_steps"))
        if known is not None:
            return total + known
        steps, name = whole(parent.get("env_steps")), text(parent.get("run"))
        if steps is None or name in seen or name.startswith(".") or name != Path(name).name:
            return None
        seen.add(name)
        total += steps
        try:
            parent = read_json(home / name / "run.json").get("parent")
        except (OSError, ValueError):
            return None
    return total


def children(run_id: str, infos: Iterable[Mapping[str, Any]]) -> list[str]:
    """Runs that began with a policy of this one."""
    return [info["id"] for info in infos if (info["parent"] or {}).get("run") == run_id]
