"""run.json: a run's identity and status. Fields: docs/run-directory.md.

Checked on reading: the result of `read` has every field, of the right type, whatever format the
folder was written in; everything behind trusts it.
"""

import getpass
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from spotter.plugins import RUNS_VARIABLE
from spotter.rundir import evaluations, process, trust
from spotter.rundir.files import json_or_empty, read_json
from spotter.rundir.lineage import steps_before
from spotter.rundir.lines import last_record, read_lines
from spotter.rundir.values import number, whole
from spotter.types import UserError

FORMAT: Final = 2
FOLDER_VARIABLE: Final = RUNS_VARIABLE
ACTOR_VARIABLE: Final = "SPOTTER_ACTOR"
"""Set by a program that starts a run on behalf of a user: their name, instead of the account's."""
LAUNCH_VARIABLE: Final = "SPOTTER_LAUNCH"
"""Set for a process that a launcher started: what run.json calls `launch`."""
SILENT_AFTER_S: Final = 120

Info = dict[str, Any]
NOT_WRITTEN: Final = ("tags", "foreign")
"""What `read` adds to run.json."""

REACHED: Final = (
    "steps_to_threshold", "train_steps_to_threshold", "total_steps_to_threshold"
)  # fmt: skip
"""Env steps until an evaluation reached the threshold, until the mean of the latest training
episodes did, and until an evaluation did with the steps of all ancestors."""

_LONGEST_ACTOR: Final = 120
_COUNTED: Final = ("env_steps", "vector_steps")
_NUMBER: Final = (int, float, type(None))
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "format": (int,),
    "address": (str,),
    "env": (str,),
    "algo": (str,),
    "seed": (int,),
    "status": (str,),
    "score": _NUMBER,
    "solved": (bool, type(None)),
    "env_steps": (int,),
    "created": (str,),
    "heartbeat": (str,),
    "ended": (str, type(None)),
    "by": (str,),
    "group": (str,),
    "launch": (str,),
    "command": (list,),
    "host": (str,),
    "pid": (int,),
    "pid_start": (str,),
    "versions": (dict,),
    "parent": (dict, type(None)),
    "resumes": (list,),
    "resume_grade": (dict, type(None)),
    "best": _NUMBER,
    "threshold": _NUMBER,
    **dict.fromkeys(REACHED, (int, type(None))),
    "best_interval": _NUMBER,
    "best_episodes": (int, type(None)),
    "best_env_steps": (int, type(None)),
    "score_interval": _NUMBER,
    "score_episodes": (int, type(None)),
    "last_score": _NUMBER,
    "score_env_steps": (int, type(None)),
    "phase": (str,),
    "fingerprint": (str,),
    "protocol": (str,),
    "facts": (dict,),
    "actions": (list,),
    "names": (dict, type(None)),
    "seal": (str, type(None)),
}


def defaults() -> Info:
    """What was added since format 1; an older folder reads as if it held these."""
    return {
        "pid_start": "",
        "parent": None,
        "resumes": [],
        "why": "",
        "group": "",
        "launch": "",
        "resume_grade": None,
        "best": None,
        "best_interval": None,
        "best_episodes": None,
        "best_env_steps": None,
        "score_interval": None,
        "score_episodes": None,
        "last_score": None,
        "score_env_steps": None,
        "phase": "",
        "vector_steps": None,
        "threshold": None,
        **dict.fromkeys(REACHED),
        "fingerprint": "",
        "protocol": "",
        "facts": {},
        "actions": [],
        "names": None,
        "seal": None,
    }


def home() -> Path:
    """The folder that holds all runs: $SPOTTER_RUNS, else `runs` in the working folder."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "runs")


def read(folder: Path) -> Info:
    """run.json as it was written, with the fields that are missing and the tags."""
    try:
        written = read_json(folder / "run.json")
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} is not a run: {error}") from error
    info = written | {key: value for key, value in defaults().items() if key not in written}
    if isinstance(info.get("format"), int) and info["format"] > FORMAT:
        raise UserError(
            f"{folder} has format {info['format']}, this Spotter reads up to {FORMAT}; "
            "update Spotter"
        )
    _check(folder, info)
    if info["best"] is None:
        info["best"] = _pointed_score(folder)
    if not _is_complete(info, written):
        info |= _from_events(folder, info, written)
    # a folder that was copied or renamed is a run of its own
    foreign = trust.is_foreign(folder, info)
    return info | {"id": folder.name, "tags": tags(folder), "foreign": foreign}


def _is_huge(value: object) -> bool:
    """Whether it is a whole number that a machine cannot count to."""
    return isinstance(value, int) and not isinstance(value, bool) and whole(value) is None


def _check(folder: Path, info: Mapping[str, Any]) -> None:
    for key, types in _TYPES.items():
        if key not in info:
            raise UserError(f"{folder} is not a run: run.json has no {key}")
        if not isinstance(info[key], types) or _is_huge(info[key]):
            raise UserError(f"{folder} is not a run: {key} in run.json is {info[key]!r:.60}")
    try:
        for time in (info["created"], info["heartbeat"], info["ended"] or info["created"]):
            age_s(time)
        seconds(info)  # looks at every resume
        if info["parent"] is not None:
            info["parent"]["run"]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder} is not a run: run.json is damaged ({error})") from error


def _is_complete(info: Mapping[str, object], written: Mapping[str, object]) -> bool:
    """Whether no older version wrote it, which left more to the events."""
    tested = info["score"] is None or info["score_episodes"] is not None
    ranked = info["best"] is None or info["best_episodes"] is not None
    return tested and ranked and "train_steps_to_threshold" in written


def _from_events(folder: Path, info: Info, written: Mapping[str, object]) -> Info:
    """What an older version did not write down; that of a new one stays as it is."""
    found = evaluations.read(read_lines(folder / "events.jsonl"))
    best, entries = info["best"], Info()
    if "train_steps_to_threshold" not in written:  # it stood under the plain name
        if best is None:
            held_out = (score.mean for score in found.scores if score.seeds == "eval")
            best = entries["best"] = max(held_out, default=None)
        entries |= {
            "threshold": found.threshold,
            "train_steps_to_threshold": info["steps_to_threshold"],
            **reached(folder, info, found.steps_to_threshold),
        }
    if info["score_episodes"] is None and (test := found.last("test", info["score"])):
        entries |= {"score_interval": test.interval.half, "score_episodes": test.episodes}
        entries |= {"score_env_steps": test.env_steps}
    if info["best_episodes"] is None and (chosen := found.last("eval", best)):
        entries |= {"best_interval": chosen.interval.half, "best_episodes": chosen.episodes}
        entries |= {"best_env_steps": chosen.env_steps}
    return entries


def reached(folder: Path, info: Mapping[str, object], env_steps: int | None) -> Info:
    """The entries that say when an evaluation reached the threshold; None: none has."""
    before = steps_before(folder.parent, info["parent"])
    total = None if env_steps is None or before is None else env_steps + before
    return {"steps_to_threshold": env_steps, "total_steps_to_threshold": total}


def _pointed_score(folder: Path) -> float | None:
    """Of the best checkpoint: older versions wrote run.json only at the end."""
    written = json_or_empty(folder / "checkpoints" / "best.json")
    return number(written.get("score")) if written.get("seeds") == "eval" else None


def tags(folder: Path) -> list[str]:
    """Each tag is an empty file, so that tagging never meddles with a run.json in use."""
    try:
        return sorted(path.name for path in (folder / "tags").iterdir())
    except OSError:
        return []


def present(folder: Path, info: Info) -> Info:
    """What run.json says, as it is now.

    A `running` run without a sign of life reads `silent`: it or its machine died. How far a run
    is that did not end is in its last row: run.json is written every few seconds only.
    """
    if info["status"] != "running":
        return info
    row = last_record(folder / "metrics.jsonl")
    further = {name: steps for name in _COUNTED if (steps := whole(row.get(name))) is not None}
    if further.get("env_steps", 0) > info["env_steps"]:
        info = {**info, **further}
    return {**info, "status": "silent"} if _is_silent(info) else info


def _is_silent(info: Mapping[str, Any]) -> bool:
    """A long update or evaluation is no death: on this machine the process itself is looked at."""
    if info["host"] == process.host():
        if not process.is_alive(info["pid"]):
            return True
        if info["pid_start"] and process.start_of(info["pid"]) == info["pid_start"]:
            return False
    return age_s(info["heartbeat"]) > SILENT_AFTER_S


def seconds(info: Mapping[str, Any]) -> float:
    """How long it was trained, first session to last; the pauses between do not count."""
    starts = [info["created"], *(resume["time"] for resume in info["resumes"])]
    stops = [*(resume["stopped"] for resume in info["resumes"]), info["ended"] or info["heartbeat"]]
    return sum(_between_s(start, stop) for start, stop in zip(starts, stops, strict=True))


def _between_s(start: str, stop: str) -> float:
    span = datetime.fromisoformat(stop) - datetime.fromisoformat(start)
    return max(0.0, span.total_seconds())


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def age_s(time: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()


def launch() -> str:
    """What started this process; empty where no launcher did."""
    return os.environ.get(LAUNCH_VARIABLE, "")


def user() -> str:
    """The user of this process, or on whose behalf it runs."""
    actor = " ".join(os.environ.get(ACTOR_VARIABLE, "").split())
    if actor:
        return actor[:_LONGEST_ACTOR]
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"  # containers without a user database
