"""Real runs kept as small files: what the doctor reads of a run, packed and made a run again.

`benchmarks/doctor.py` makes the runs; numbers keep five digits, no row is left out.
"""

import gzip
import json
import math
from pathlib import Path
from typing import Any

from spotter.rundir.run import Run

FOLDER = Path(__file__).parent / "recorded"


def pack(run: Run) -> bytes:
    """run.json, config.yaml, events, spaces, and every metric as a column."""
    rows = list(run.metrics())
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if is_read(key)]
    spaces: dict[str, Any] = {}
    for state in sorted(run.folder.glob("checkpoints/step-*/state.json")):
        saved = json.loads(state.read_text(encoding="utf-8"))
        spaces = {part: saved[part] for part in ("observation", "action")}
    data = {
        "info": json.loads((run.folder / "run.json").read_text(encoding="utf-8")) | {"by": ""},
        "config": (run.folder / "config.yaml").read_text(encoding="utf-8"),
        "events": [short(event) for event in run.events() if event["event"] != "video"],
        "spaces": spaces,
        "columns": {key: [rounded(row.get(key)) for row in rows] for key in keys},
    }
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)


def is_read(key: str) -> bool:
    """What no rule looks at is left out."""
    left_out = ("hp/reward", "ppo/", "reward/", "grad/actor", "grad/critic", "info/")
    return not key.startswith(left_out)


def short(event: dict[str, Any]) -> dict[str, Any]:
    long = ("env_seeds", "lengths", "versions", "facts", "command")
    return {key: value for key, value in event.items() if key not in long}


def rounded(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # as the run's own file has it
    return float(f"{value:.4e}") if isinstance(value, float) else value


def unpack(path: Path, home: Path) -> Run:
    """The run as a folder in `home`; its checkpoint holds the spaces only."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    folder = home / data["info"]["id"]
    state = folder / "checkpoints" / "step-000000001" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps(data["spaces"]), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(data["info"]), encoding="utf-8")
    (folder / "config.yaml").write_text(data["config"], encoding="utf-8")
    columns = data["columns"]
    rows = [
        {key: value for key, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*columns.values(), strict=True)
    ]
    write_lines(folder / "metrics.jsonl", rows)
    write_lines(folder / "events.jsonl", data["events"])
    return Run(folder)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
