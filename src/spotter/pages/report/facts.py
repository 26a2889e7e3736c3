"""What a report says, gathered from the files of a run; how it looks is decided elsewhere.

Older and unfinished runs lack entries: whatever is missing is left out of the report.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spotter.config.dump import flow
from spotter.pages.report import reproduce
from spotter.pages.report.curves import columns
from spotter.pages.report.reproduce import Change, Recipe
from spotter.rundir.files import json_or_empty
from spotter.rundir.history import Curve
from spotter.rundir.run import Run
from spotter.rundir.trained import pairs
from spotter.rundir.values import text, whole
from spotter.rundir.view import RunView
from spotter.text.events import resumed, sentence
from spotter.types import UserError

_VIDEOS: Final = "videos"


@dataclass(frozen=True)
class Happening:
    """A line of the timeline."""

    time: str
    kind: str
    text: str
    env_steps: int | None
    changes_settings: bool = False


@dataclass(frozen=True)
class Video:
    """The film to show; `name` is its place below the run folder."""

    path: Path
    name: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """Everything a report is made of."""

    view: RunView
    curves: Mapping[str, Curve]
    timeline: tuple[Happening, ...]
    video: Video | None
    recipe: Recipe
    changes: tuple[Change, ...] | None
    """To the parent's config; None if there is no parent, or its config is not at hand."""


def gather(run: Run) -> Facts:
    """Read every file once."""
    view = RunView(run)
    before = _before(view)
    return Facts(
        view=view,
        curves=columns(view.history),
        timeline=tuple(_timeline(view)),
        video=_video(view),
        recipe=reproduce.recipe(view.info, view.config, bool(view.changes)),
        changes=reproduce.changes(before, view.config) if before else None,
    )


def _before(view: RunView) -> Mapping[str, object]:
    """The parent's config; it lies in the same folder of runs, and a path leads nowhere."""
    name = Path(str((view.parent or {}).get("run", ""))).name
    try:
        return RunView(Run(view.run.folder.parent / name)).config if name else {}
    except UserError:
        return {}


def _video(view: RunView) -> Video | None:
    """`videos/best.json` says which; else the last one that was reported."""
    shelf = view.run.folder / _VIDEOS
    films = [event for event in view.events if event.get("event") == "video"]
    names = [str(film.get("file") or film.get("path") or "") for film in reversed(films)]
    best = str(json_or_empty(shelf / "best.json").get("file", ""))
    for name in (best, *names):
        path = shelf / Path(name).name
        if path.suffix == ".mp4" and path.is_file() and not path.is_symlink():
            return Video(path, f"{_VIDEOS}/{path.name}", json_or_empty(path.with_suffix(".json")))
    return None


def _timeline(view: RunView) -> Iterator[Happening]:
    for event in view.events:
        kind = str(event.get("event"))
        reported = _described(kind, event)
        if reported:
            time, steps = text(event.get("time")), whole(event.get("env_steps"))
            changes = kind == "change" or bool(event.get("changes"))
            yield Happening(time, kind, reported, steps, changes)


def _described(kind: str, event: Mapping[str, object]) -> str | None:
    """What happened, in a sentence; None for what has a place of its own in the report."""
    match kind:
        case "note":
            return str(event.get("text", ""))
        case "alert":
            return f"{event.get('id', '')}: {event.get('saw', '')}"
        case "end":
            return f"ended: {event.get('reason', '')}"
        case "resume":
            return _resumed(event)
        case "evaluation" | "alerts" | "video":
            return None
        case _:
            return sentence(kind, event)


def _resumed(event: Mapping[str, object]) -> str:
    """Where it was resumed, by whom, and with which settings changed."""
    steps = whole(event.get("env_steps"))
    reported = (
        [text(event.get("why"))] if steps is None else [resumed(steps), text(event.get("why"))]
    )
    reported += [f"{name}: {flow(old)} -> {flow(new)}" for name, (old, new) in pairs(event).items()]
    return "; ".join(filter(None, reported))
