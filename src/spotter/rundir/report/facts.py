"""What a report says, gathered from the files of a run; how it looks is decided elsewhere.

Older and unfinished runs lack entries: whatever is missing is left out of the report.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.config.dump import flow
from spotter.display.events import resumed, sentence
from spotter.intervals import Interval, interval
from spotter.metrics import common
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.rundir import identity
from spotter.rundir.files import read_json
from spotter.rundir.report import curves, reproduce
from spotter.rundir.report.curves import Curves
from spotter.rundir.report.reproduce import Change, Recipe
from spotter.rundir.run import Run
from spotter.types import UserError

_VIDEOS: Final = "videos"


@dataclass(frozen=True)
class Score:
    """One evaluation."""

    env_steps: int
    seeds: str
    score: float
    scores: tuple[float, ...]
    interval: Interval
    """Of the mean, over the episodes of this evaluation."""
    threshold: float | None
    solved: bool
    deterministic: bool

    @property
    def is_test(self) -> bool:
        return self.seeds == "test"


@dataclass(frozen=True)
class AlertFact:
    """An alert of the run: how often, what it saw last, what to try."""

    id: str
    level: str
    metric: str
    saw: str
    advice: str
    updates: int | None
    share: float | None


@dataclass(frozen=True)
class Happening:
    """A line of the timeline."""

    time: str
    kind: str
    text: str
    env_steps: int | None


@dataclass(frozen=True)
class Video:
    """The film to show; `name` is its place below the run folder."""

    path: Path
    name: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """Everything a report is made of."""

    folder: Path
    info: Mapping[str, Any]
    seconds: float
    config: Mapping[str, Any]
    catalogue: Catalogue
    curves: Curves
    scores: tuple[Score, ...]
    alerts: tuple[AlertFact, ...]
    timeline: tuple[Happening, ...]
    video: Video | None
    recipe: Recipe
    parent: Mapping[str, Any] | None
    changes: tuple[Change, ...] | None
    """To the parent's config; None if there is no parent, or its config is not at hand."""

    @property
    def threshold(self) -> float | None:
        return next((s.threshold for s in reversed(self.scores) if s.threshold is not None), None)

    @property
    def test(self) -> Score | None:
        """The score that counts: the last one on test seeds."""
        return next((score for score in reversed(self.scores) if score.is_test), None)

    @property
    def best(self) -> Score | None:
        """The best evaluation."""
        held_out = [score for score in self.scores if not score.is_test]
        return max(held_out, key=lambda score: score.score) if held_out else None

    def spec(self, key: str) -> MetricSpec:
        return self.catalogue.find(key) or MetricSpec(key, "")


def gather(run: Run) -> Facts:
    """Read every file once."""
    info = run.info()
    config = _config(run)
    rows = curves.read(run.metrics())
    log = _Log()
    for event in run.events():
        log.add(event)
    parent = info.get("parent")
    before = _config(_beside(run, parent)) if parent else {}
    return Facts(
        folder=run.folder,
        info=info,
        seconds=identity.seconds(info),
        config=config,
        catalogue=_catalogue(str(info["algo"])),
        curves=rows,
        scores=tuple(_score(event) for event in run.evaluations() if event["scores"]),
        alerts=tuple(log.alert_facts(rows)),
        timeline=tuple(log.timeline),
        video=_video(run.folder, log.videos),
        recipe=reproduce.recipe(info, config, log.changed),
        parent=parent,
        changes=reproduce.changes(before, config) if before else None,
    )


def _config(run: Run) -> dict[str, Any]:
    """The saved config; empty if it cannot be read."""
    try:
        return run.settings()
    except UserError:
        return {}


def _beside(run: Run, parent: Mapping[str, Any]) -> Run:
    """The parent, in the same folder of runs; a name with a path in it leads nowhere."""
    return Run(run.folder.parent / Path(str(parent.get("run", ""))).name)


def _catalogue(algo: str) -> Catalogue:
    """An algorithm that is not installed here leaves its own metrics undescribed."""
    try:
        own: Sequence[MetricSpec] = plugins.load("algos", algo).METRICS
    except (UserError, ImportError, AttributeError):
        own = ()
    return Catalogue((*common.METRICS, *own))


def _video(folder: Path, names: Sequence[str]) -> Video | None:
    """`videos/best.json` says which; else the last one that was reported."""
    shelf = folder / _VIDEOS
    best = str(_json(shelf / "best.json").get("file", ""))
    for name in (best, *reversed(names)):
        path = shelf / Path(name).name
        if path.suffix == ".mp4" and path.is_file() and not path.is_symlink():
            return Video(path, f"{_VIDEOS}/{path.name}", _json(path.with_suffix(".json")))
    return None


def _json(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except (OSError, ValueError, AssertionError):
        return {}


@dataclass
class _Log:
    """events.jsonl, sorted by what it is about."""

    timeline: list[Happening] = field(default_factory=list)
    videos: list[str] = field(default_factory=list)
    changed: bool = False
    """Whether a setting was changed while the run went on, or for a resume."""
    _fired: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _counts: Sequence[Mapping[str, Any]] = ()

    def add(self, event: Mapping[str, Any]) -> None:
        kind = str(event["event"])
        self.changed |= kind == "change" or bool(event.get("changes"))
        if kind == "alerts":
            self._counts = event.get("counts", ())
        elif kind == "alert":
            self._fired.setdefault(str(event.get("id")), event)
        elif kind == "video":
            self.videos.append(str(event.get("file") or event.get("path") or ""))
        text = _told(kind, event)
        if text:
            at = event.get("env_steps")
            steps = at if isinstance(at, int) else None
            self.timeline.append(Happening(str(event.get("time", "")), kind, text, steps))

    def alert_facts(self, rows: Curves) -> list[AlertFact]:
        """Counted by the run itself at its end; a run cut short is counted from its rows."""
        counted: Iterable[Mapping[str, Any]] = self._counts
        if not self._counts:
            counted = (
                {
                    **self._fired.get(name, {"id": name}),
                    "updates": rows.alerts[name] or None,
                    "share": rows.alerts[name] / rows.rows if rows.rows else None,
                }
                for name in {**self._fired, **rows.alerts}
            )
        return sorted(map(_alert, counted), key=lambda fact: fact.id)


def _alert(entry: Mapping[str, Any]) -> AlertFact:
    def text(key: str) -> str:
        return str(entry.get(key) or "")

    return AlertFact(
        text("id"),
        text("level"),
        text("metric"),
        text("saw"),
        text("advice"),
        entry.get("updates"),
        entry.get("share"),
    )


def _score(event: Mapping[str, Any]) -> Score:
    scores = tuple(float(score) for score in event["scores"])
    return Score(
        env_steps=int(event["env_steps"]),
        seeds=str(event["seeds"]),
        score=float(event["score"]),
        scores=scores,
        interval=interval(scores),
        threshold=event.get("threshold"),
        solved=bool(event.get("solved")),
        deterministic=bool(event.get("deterministic")),
    )


def _told(kind: str, event: Mapping[str, Any]) -> str | None:
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


def _resumed(event: Mapping[str, Any]) -> str:
    """Where it went on, who let it, and with which settings changed."""
    told = [resumed(int(event["env_steps"])), *(str(event[k]) for k in ("why",) if event.get(k))]
    changes = event.get("changes") or {}
    told += [f"{setting}: {flow(old)} -> {flow(new)}" for setting, (old, new) in changes.items()]
    return "; ".join(told)
