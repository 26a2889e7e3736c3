"""What a digest is made of, read once from the files of a run."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotter import plugins
from spotter.digest.private import Discreet
from spotter.intervals import Interval, interval
from spotter.metrics import common
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.rundir import identity, registry
from spotter.rundir.history import History
from spotter.rundir.identity import Info
from spotter.rundir.run import Run
from spotter.types import UserError

_ALERTS: Final = re.compile(rb'"alerts": ?\[([^\]]*)\]')
_NAME: Final = re.compile(rb'"([^"]+)"')


@dataclass(frozen=True)
class Score:
    """One evaluation."""

    env_steps: int
    seeds: str
    mean: float
    interval: Interval
    scores: tuple[float, ...]
    threshold: float | None
    solved: bool
    deterministic: bool


@dataclass(frozen=True)
class Alert:
    """One rule that fired: in how many updates, and what it saw."""

    id: str
    level: str
    metric: str
    saw: str
    advice: str
    updates: int
    first: int | None
    """Env steps when it was first raised."""


@dataclass(frozen=True)
class Facts:
    """One run, and its neighbours in the folder of runs."""

    run: Run
    info: Info
    config: Mapping[str, Any]
    history: History
    catalogue: Catalogue
    events: Sequence[Mapping[str, Any]]
    scores: tuple[Score, ...]
    alerts: tuple[Alert, ...]
    infos: Sequence[Info]
    """Every run of the folder, newest first; this one among them."""
    discreet: Discreet

    @property
    def seconds(self) -> float:
        return identity.seconds(self.info)

    @property
    def budget(self) -> int | None:
        steps = (self.config.get("budget") or {}).get("env_steps")
        return steps if isinstance(steps, int) else None

    @property
    def threshold(self) -> float | None:
        return next((s.threshold for s in reversed(self.scores) if s.threshold is not None), None)

    @property
    def test(self) -> Score | None:
        return next((score for score in reversed(self.scores) if score.seeds == "test"), None)

    @property
    def best(self) -> Score | None:
        held_out = [score for score in self.scores if score.seeds != "test"]
        return max(held_out, key=lambda score: score.mean, default=None)

    def spec(self, key: str) -> MetricSpec:
        return self.catalogue.find(key) or MetricSpec(key, "")


def gather(run: Run, history: History) -> Facts:
    info = run.info()
    events = list(run.events())
    return Facts(
        run=run,
        info=info,
        config=settings(run),
        history=history,
        catalogue=_catalogue(str(info["algo"])),
        events=events,
        scores=tuple(_scores(run)),
        alerts=tuple(_alerts(run, events)),
        infos=_neighbours(run),
        discreet=Discreet.about(info),
    )


def settings(run: Run) -> dict[str, Any]:
    """The saved config; empty if it cannot be read."""
    try:
        return run.settings()
    except (UserError, OSError, AssertionError):
        return {}


def _catalogue(algo: str) -> Catalogue:
    """Metrics of an algorithm that is none of ours stay undescribed: a name may lead to code."""
    try:
        known = algo in plugins.names("algos")
        own: Sequence[MetricSpec] = plugins.load("algos", algo).METRICS if known else ()
    except (UserError, ImportError, AttributeError):
        own = ()
    return Catalogue((*common.METRICS, *own))


def _scores(run: Run) -> Iterator[Score]:
    for event in run.evaluations():
        scores = tuple(float(score) for score in event.get("scores") or ())
        if scores:
            yield Score(
                env_steps=int(event["env_steps"]),
                seeds=str(event["seeds"]),
                mean=float(event["score"]),
                interval=interval(scores),
                scores=scores,
                threshold=event.get("threshold"),
                solved=bool(event.get("solved")),
                deterministic=bool(event.get("deterministic")),
            )


def _alerts(run: Run, events: Sequence[Mapping[str, Any]]) -> list[Alert]:
    """Each rule once, sorted by id; rows say in how many updates it held."""
    raised: dict[str, Mapping[str, Any]] = {}
    first: dict[str, Any] = {}
    for event in events:
        if event.get("event") == "alert":
            first.setdefault(str(event.get("id")), event.get("env_steps"))
        told = [event] if event.get("event") == "alert" else event.get("counts") or ()
        raised |= {str(each.get("id")): each for each in told if isinstance(each, Mapping)}
    updates = _counted(run) if raised else Counter()
    found = [_alert(name, entry, updates[name], first.get(name)) for name, entry in raised.items()]
    return sorted(found, key=lambda alert: alert.id)


def _counted(run: Run) -> Counter[str]:
    """Without parsing the rows: alerts are a list of plain names in each."""
    try:
        data = run.metrics_path.read_bytes()
    except OSError:
        return Counter()
    lists = Counter(_ALERTS.findall(data))
    counts: Counter[str] = Counter()
    for names, times in lists.items():
        for name in _NAME.findall(names):
            counts[name.decode(errors="replace")] += times
    return counts


def _alert(name: str, entry: Mapping[str, Any], updates: int, first: Any) -> Alert:
    return Alert(
        id=name,
        level=str(entry.get("level") or ""),
        metric=str(entry.get("metric") or ""),
        saw=str(entry.get("saw") or ""),
        advice=str(entry.get("advice") or ""),
        updates=int(entry.get("updates") or updates),
        first=first if isinstance(first, int) else None,
    )


def _neighbours(run: Run) -> Sequence[Info]:
    """The runs beside it; none where it lies outside the folder of runs."""
    if run.folder.resolve().parent != identity.home().resolve():
        return ()
    return registry.listing().infos
