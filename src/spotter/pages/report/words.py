"""What both faces of a report say: verdict, tiles, tables, as plain text.

Metrics are shown as the live table shows them, with the catalogue's precision.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from spotter.diagnose.alerts import HELP
from spotter.diagnose.rule import urgency
from spotter.pages.report.facts import Facts
from spotter.rundir.alerts import Alert
from spotter.rundir.evaluations import Score
from spotter.rundir.history import AXES
from spotter.rundir.judged import Judged
from spotter.rundir.view import RunView
from spotter.text.numbers import (
    amount,
    count,
    duration,
    number,
    often,
    plural,
    plus_minus,
    score,
    speed,
    to_threshold,
)

OVER_EPISODES: Final = (
    "± is half the 95 % confidence interval of the mean over the episodes of this one run; it says "
    "nothing about other seeds."
)
SCORE_HEADER: Final = (
    "env steps",
    "seeds",
    "score",
    "± 95 %",
    "min",
    "median",
    "max",
    "episodes",
    "solved",
)

TIMELINE_HEADER: Final = ("time", "env steps", "event", "what")
_SHOWN_EVENTS: Final = 200


@dataclass(frozen=True)
class Verdict:
    """How it ended: a word, how to colour it, and a sentence."""

    word: str
    mood: str
    sentence: str


@dataclass(frozen=True)
class Tile:
    """One big number, and what it is."""

    label: str
    value: str
    detail: str = ""


def title(facts: Facts) -> str:
    return f"{facts.view.info['env']} · {facts.view.info['algo']}"


def verdict(facts: Facts) -> Verdict:
    view = facts.view
    word, mood = _outcome(view)
    parts = []
    if view.test:
        wanted = "" if view.threshold is None else f", solved at {number(view.threshold)}"
        parts.append(f"test score {over(view.test, 'held-out episode')}{wanted}")
    elif view.best:
        parts.append(f"best evaluation {over(view.best, 'episode')}, no test score")
    else:
        parts.append("never scored")
    if view.last_score is not None:
        parts.append(f"its last weights score {score(view.last_score)}, the best are kept")
    parts.append(f"{count(view.env_steps)} env steps in {duration(view.elapsed_s)}")
    if view.info["reason"]:
        parts.append(f"stopped: {view.info['reason']}")
    return Verdict(word, mood, "; ".join(parts))


def _outcome(view: RunView) -> tuple[str, str]:
    if view.status != "finished":
        return view.status.upper(), "bad" if view.status == "failed" else "open"
    if view.test is None or view.threshold is None:
        return "FINISHED", "open"
    return ("SOLVED", "good") if view.solved else ("NOT SOLVED", "bad")


def over(found: Judged, noun: str) -> str:
    """`496.3 ± 4.1 over 20 episodes`; how many is not known of every older run."""
    episodes = f" over {plural(found.episodes, noun)}" if found.episodes else ""
    return f"{plus_minus(found.mean, found.half)}{episodes}"


def tiles(facts: Facts) -> list[Tile]:
    view, found = facts.view, []
    if view.test:
        value, _, detail = over(view.test, "episode").partition(" ")
        found.append(Tile("test score", value, detail))
    if view.best:
        value, _, detail = over(view.best, "episode").partition(" ")
        at = "" if view.best.env_steps is None else f"at {count(view.best.env_steps)} env steps"
        found.append(Tile("best evaluation", value, ", ".join(filter(None, (detail, at)))))
    if view.threshold is not None:
        found.append(Tile("threshold", number(view.threshold), _reached(view)))
    found.append(Tile("env steps", count(view.env_steps), plural(view.updates, "update")))
    found.append(Tile("time", duration(view.elapsed_s), _pace(view)))
    found.append(Tile("alerts", count(len(view.alerts)), _worst(view)))
    return found


def _reached(view: RunView) -> str:
    """When evaluations and training got there; with the ancestors' steps where there are any."""
    texts = []
    first = to_threshold(view.steps_to_threshold, view.total_steps_to_threshold)
    if first:
        texts.append(f"evaluation at {first} env steps")
    if view.train_steps_to_threshold is not None:
        texts.append(f"training mean at {count(view.train_steps_to_threshold)}")
    return f"reached: {', '.join(texts)}" if texts else ""


def _pace(view: RunView) -> str:
    train = "" if view.train_s is None else f"{duration(view.train_s)} collecting and learning"
    return ", ".join(filter(None, (train, speed(view.fps, view.wall_fps))))


def _worst(view: RunView) -> str:
    worst = sorted(view.alerts, key=lambda alert: urgency(alert.level))[:2]
    return ", ".join(alert.id for alert in worst) or "nothing to report"


def alike(*values: float) -> list[str]:
    """Scores that stand together, with the decimals the largest of them needs."""
    largest = max(abs(value) for value in values)
    return [f"{value:.1f}" if largest >= 10 else score(value) for value in values]


def identity(facts: Facts) -> Iterator[tuple[str, str]]:
    """Who ran what, where, and from which other run it comes."""
    info = facts.view.info
    yield "run", str(info["id"])
    yield "recipe", str(info["address"])
    yield "environment", str(info["env"])
    yield "algorithm", str(info["algo"])
    yield "seed", str(info["seed"])
    yield "started by", f"{info['by']} on {info['host']}"
    if info.get("why"):
        yield "why", str(info["why"])
    if info.get("tags"):
        yield "tags", ", ".join(str(tag) for tag in info["tags"])
    yield "started", moment(str(info["created"]))
    yield "ended", moment(str(info["ended"])) if info.get("ended") else "not yet"
    if facts.view.parent:
        yield "comes from", _origin(facts.view.parent)
    resumes = info.get("resumes") or ()
    if resumes:
        yield "resumed", ", ".join(moment(str(resume.get("time", ""))) for resume in resumes)
    if info.get("resume_grade"):
        yield "resume grade", _grade(info["resume_grade"])
    yield "versions", plain(info.get("versions", {}))
    yield "started with", _command(info.get("command", ()))


def _origin(parent: Mapping[str, object]) -> str:
    places = (parent.get("run"), parent.get("checkpoint"), parent.get("kind"))
    return ", ".join(str(place) for place in places if place)


def _grade(grade: object) -> str:
    if not isinstance(grade, Mapping):
        return str(grade)
    why = grade.get("why")
    return f"{grade.get('grade', '')}{f': {why}' if why else ''}"


def _command(words: Sequence[object]) -> str:
    """As it was typed; the path of the program is private."""
    program, *rest = (str(word) for word in (*words, ""))
    return " ".join([PurePath(program).name, *rest]).strip()


def plain(value: object) -> str:
    """Maps and lists as a line of text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(inner) for inner in value)
    return str(value)


def moment(time: str) -> str:
    """`2026-11-15 12:18:50 UTC`; times are written in UTC."""
    return f"{time[:19].replace('T', ' ')} UTC" if time else ""


def score_row(found: Score) -> tuple[str, ...]:
    ordered = sorted(found.scores)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    mean, low, half, high = alike(found.mean, ordered[0], median, ordered[-1])
    return (
        count(found.env_steps),
        found.seeds,
        mean,
        plus_minus(found.mean, found.interval.half).partition(" ± ")[2],
        low,
        half,
        high,
        count(len(ordered)),
        "" if found.threshold is None else "yes" if found.solved else "no",
    )


def timeline_rows(facts: Facts) -> list[tuple[str, str, str, str]]:
    """The newest events, the last one at the end."""
    return [
        (
            moment(event.time),
            "" if event.env_steps is None else count(event.env_steps),
            event.kind,
            event.text,
        )
        for event in facts.timeline[-_SHOWN_EVENTS:]
    ]


def reported(found: Score) -> str:
    """An evaluation in a line, for hovering."""
    mean = plus_minus(found.mean, found.interval.half)
    low, high = alike(min(found.scores), max(found.scores))
    return (
        f"{found.seeds} score {mean} over {len(found.scores)} episodes, {low} … {high}, "
        f"at {count(found.env_steps)} env steps"
    )


def about(alert: Alert) -> list[str]:
    """How serious it is, how often it was raised, and which metric it is about."""
    parts = (alert.level, often(alert.updates, alert.share), alert.metric)
    return [part for part in parts if part]


def link(alert: Alert) -> str:
    """Where to read more."""
    return f"{HELP} alerts.{alert.id}"


def metric(facts: Facts, key: str) -> str:
    """The last value of a metric, as the live table shows it."""
    value = facts.view.last_row.get(key)  # columns do not distinguish kinds of non-finite numbers
    last = facts.curves[key].last if value is None else value
    return shown(facts, key, last) if isinstance(last, int | float) else str(last)


def shown(facts: Facts, key: str, value: float) -> str:
    return amount(value, facts.view.spec(key).precision)


def last_row(facts: Facts) -> Iterator[tuple[str, str, str, str]]:
    """Name, as shown, every digit as it stands in metrics.jsonl, meaning."""
    for key, value in facts.view.last_row.items():
        is_number = isinstance(value, int | float)
        axis = key in AXES and isinstance(value, int)
        short = count(value) if axis else shown(facts, key, value) if is_number else ""
        exact = str(value) if is_number and not math.isfinite(value) else json.dumps(value)
        yield key, short, exact, facts.view.spec(key).meaning
