"""What both faces of a report say: verdict, tiles, tables, as plain text.

Metrics are shown as the live table shows them, with the catalogue's precision.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from spotter.display.words import (
    amount,
    count,
    duration,
    number,
    plural,
    score,
    share,
    to_threshold,
)
from spotter.metrics.alerts import PAGE
from spotter.metrics.rules import urgency
from spotter.rundir.identity import REACHED
from spotter.rundir.report.curves import AXES
from spotter.rundir.report.facts import AlertFact, Facts, Score

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
    return f"{facts.info['env']} · {facts.info['algo']}"


def verdict(facts: Facts) -> Verdict:
    word, mood = _outcome(facts)
    parts = []
    if facts.test:
        wanted = "" if facts.threshold is None else f", solved at {number(facts.threshold)}"
        episodes = plural(len(facts.test.scores), "held-out episode")
        parts.append(f"test score {score(facts.test.score)} over {episodes}{wanted}")
    elif facts.best:
        parts.append(f"best evaluation {score(facts.best.score)}, never tested")
    else:
        parts.append("never scored")
    parts.append(f"{count(facts.info['env_steps'])} env steps in {duration(facts.seconds)}")
    reason = facts.info.get("reason")
    if reason:
        parts.append(f"stopped: {reason}")
    return Verdict(word, mood, "; ".join(parts))


def _outcome(facts: Facts) -> tuple[str, str]:
    status = str(facts.info["status"])
    if status != "finished":
        return status.upper(), "bad" if status == "failed" else "open"
    if facts.test is None or facts.threshold is None:
        return "FINISHED", "open"
    return ("SOLVED", "good") if facts.info.get("solved") else ("NOT SOLVED", "bad")


def tiles(facts: Facts) -> list[Tile]:
    found = []
    if facts.test:
        episodes = f"over {plural(len(facts.test.scores), 'episode')}"
        detail = f"{plus_minus(facts.test)} {episodes}".strip()
        found.append(Tile("test score", score(facts.test.score), detail))
    if facts.best:
        at = f"at {count(facts.best.env_steps)} env steps"
        found.append(Tile("best evaluation", score(facts.best.score), at))
    if facts.threshold is not None:
        found.append(Tile("threshold", number(facts.threshold), _reached(facts)))
    updates = plural(facts.curves.rows, "update")
    found.append(Tile("env steps", count(facts.info["env_steps"]), updates))
    speed = f"{metric(facts, 'time/fps')} steps/s" if "time/fps" in facts.curves else ""
    found.append(Tile("training time", duration(facts.seconds), speed))
    found.append(Tile("alerts", count(len(facts.alerts)), _worst(facts)))
    return found


def _reached(facts: Facts) -> str:
    """When evaluations and training got there; with the ancestors' steps where there are any."""
    first, training, total = (facts.info[name] for name in REACHED)
    texts = []
    if first is not None:
        texts.append(f"evaluation at {to_threshold(first, total)} env steps")
    if training is not None:
        texts.append(f"training mean at {count(training)}")
    return f"reached: {', '.join(texts)}" if texts else ""


def _worst(facts: Facts) -> str:
    worst = sorted(facts.alerts, key=lambda alert: urgency(alert.level))[:2]
    return ", ".join(alert.id for alert in worst) or "nothing to report"


def plus_minus(found: Score) -> str:
    """Half the interval, with the decimals of the score before it."""
    half = found.interval.half
    return "" if half is None else f"± {alike(found.score, half)[1]}"


def alike(*values: float) -> list[str]:
    """Scores that stand together, with the decimals the largest of them needs."""
    largest = max(abs(value) for value in values)
    return [f"{value:.1f}" if largest >= 10 else score(value) for value in values]


def identity(facts: Facts) -> Iterator[tuple[str, str]]:
    """Who ran what, where, and from which other run it comes."""
    info = facts.info
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
    if facts.parent:
        yield "comes from", _origin(facts.parent)
    resumes = info.get("resumes") or ()
    if resumes:
        yield "resumed", ", ".join(moment(str(resume.get("time", ""))) for resume in resumes)
    if info.get("resume_grade"):
        yield "resume grade", _grade(info["resume_grade"])
    yield "versions", plain(info.get("versions", {}))
    yield "started with", _command(info.get("command", ()))


def _origin(parent: Mapping[str, Any]) -> str:
    places = (parent.get("run"), parent.get("checkpoint"), parent.get("kind"))
    return ", ".join(str(place) for place in places if place)


def _grade(grade: Any) -> str:
    if not isinstance(grade, Mapping):
        return str(grade)
    why = grade.get("why")
    return f"{grade.get('grade', '')}{f': {why}' if why else ''}"


def _command(words: Sequence[object]) -> str:
    """As it was typed; where the program lies is nobody's business."""
    program, *rest = (str(word) for word in (*words, ""))
    return " ".join([PurePath(program).name, *rest]).strip()


def plain(value: Any) -> str:
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
    mean, low, half, high = alike(found.score, ordered[0], median, ordered[-1])
    return (
        count(found.env_steps),
        found.seeds,
        mean,
        plus_minus(found).removeprefix("± "),
        low,
        half,
        high,
        count(len(ordered)),
        "" if found.threshold is None else "yes" if found.solved else "no",
    )


def told(found: Score) -> str:
    """An evaluation in a line, for hovering."""
    mean = f"{score(found.score)} {plus_minus(found)}".strip()
    low, high = alike(min(found.scores), max(found.scores))
    return (
        f"{found.seeds} score {mean} over {len(found.scores)} episodes, {low} … {high}, "
        f"at {count(found.env_steps)} env steps"
    )


def often(alert: AlertFact) -> str:
    if alert.updates is None:
        return ""
    part = f", {share(alert.share)} of all" if alert.share is not None else ""
    return f"{plural(alert.updates, 'update')}{part}"


def link(alert: AlertFact) -> str:
    """Where to read more."""
    return f"{PAGE}#{alert.id}"


def metric(facts: Facts, key: str) -> str:
    """The last value of a metric, as the live table shows it."""
    return shown(facts, key, facts.curves[key].last)


def shown(facts: Facts, key: str, value: float) -> str:
    return amount(value, facts.spec(key).precision)


def last_row(facts: Facts) -> Iterator[tuple[str, str, str, str]]:
    """Name, as shown, every digit as it stands in metrics.jsonl, meaning."""
    for key, value in facts.curves.last_row.items():
        is_number = isinstance(value, int | float)
        axis = key in AXES and isinstance(value, int)
        short = count(value) if axis else shown(facts, key, value) if is_number else ""
        exact = str(value) if is_number and not math.isfinite(value) else json.dumps(value)
        yield key, short, exact, facts.spec(key).meaning
