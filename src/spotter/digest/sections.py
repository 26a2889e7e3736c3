"""The sections of a digest that tell what a run is, how it did, and where it comes from."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from spotter.config.dump import flow
from spotter.digest.budget import Line, Section
from spotter.digest.facts import Alert, Facts, Score
from spotter.digest.text import WIDTH, short, spark
from spotter.display.events import sentence
from spotter.display.words import count, duration, number, plural, share, to_threshold
from spotter.metrics.rules import urgency
from spotter.rundir.identity import REACHED
from spotter.rundir.lineage import children

_EVALUATIONS: Final = 12
_HAPPENINGS: Final = 12
_RELATIVES: Final = 5


def head(facts: Facts) -> Section:
    info, said = facts.info, facts.discreet.said
    title = f"# {said(info['env'], 80)} · {said(info['algo'], 40)}: {_verdict(facts)}"
    lines = [_progress(facts), _score(facts), *_certificate(facts)]
    who = f"- Run {said(info['id'], 60)}, recipe {said(info['address'], 80)}, seed {info['seed']}"
    tags = f", tagged {said(', '.join(info['tags']), 80)}" if info["tags"] else ""
    ranked = [Line(f"{who}{tags}", 0), *(Line(text, i + 1) for i, text in enumerate(lines))]
    if info["why"]:
        ranked.append(Line(f'- Started because: "{said(info["why"])}"', 9))
    return Section(title, ranked, what="facts about the run", importance=100, needed=3)


def _verdict(facts: Facts) -> str:
    info = facts.info
    status = str(info["status"])
    if status == "finished" and info["solved"] is not None and facts.threshold is not None:
        status = "solved" if info["solved"] else "not solved"
    reason = facts.discreet.said(info["reason"] or "", 120)
    return f"{status} ({reason})" if reason and reason != status else status


def _progress(facts: Facts) -> str:
    done, budget = facts.info["env_steps"], facts.budget
    of = f" of {count(budget)} ({share(min(1.0, done / budget))})" if budget else ""
    text = f"- Progress: {count(done)} env steps{of}, {plural(facts.history.updates, 'update')}"
    text += f", {duration(facts.seconds)}"
    fps = facts.history.last("time/fps")
    if fps > 0:
        text += f", {short(fps)} env steps/s"
    left = facts.history.last("time/eta_s")
    if facts.info["status"] == "running" and left >= 0:
        text += f", about {duration(left)} left"
    return text


def _score(facts: Facts) -> str:
    parts = []
    if facts.test:
        parts.append(f"test {_interval(facts.test)} over {_episodes(facts.test)}")
    if facts.best:
        at = count(facts.best.env_steps)
        parts.append(f"best evaluation {_interval(facts.best)} at {at} env steps")
    if not parts:
        parts.append("never evaluated")
    if facts.threshold is not None:
        parts.append(f"solved at {number(facts.threshold)}")
    first, training, total = (facts.info[name] for name in REACHED)
    if first is not None:
        parts.append(f"an evaluation reached it at {to_threshold(first, total)} env steps")
    if training is not None:
        parts.append(f"the training mean at {count(training)}")
    return f"- Score: {'; '.join(parts)}"


def _interval(found: Score) -> str:
    half = found.interval.half
    return number(found.mean) + ("" if half is None else f" ± {number(half)} (95 %)")


def _episodes(found: Score) -> str:
    mode = "greedy" if found.deterministic else "sampled"
    return f"{plural(len(found.scores), 'held-out episode')}, {mode}"


def _certificate(facts: Facts) -> Iterator[str]:
    info, said = facts.info, facts.discreet.said
    versions = info["versions"]
    names = ("spotter", "torch", "gymnasium")
    parts = [f"{name} {said(versions[name], 30)}" for name in names if name in versions]
    if info["fingerprint"]:
        parts.insert(0, f"game fingerprint {said(info['fingerprint'], 40)}")
    if info["protocol"]:
        parts.insert(0, f"protocol {said(info['protocol'], 80)}")
    if parts:
        yield f"- Certificate: {', '.join(parts)}"


def evaluations(facts: Facts) -> Section:
    """The test first, then the best, the last, the first, and the newest of the rest."""
    scores = facts.scores
    if not scores:
        text = "It has not been scored on held-out seeds."
        return Section("## Evaluations", [Line(text)], importance=70)
    order = [facts.test, facts.best, scores[-1], scores[0], *reversed(scores)]
    chosen = list(dict.fromkeys(id(one) for one in order if one))[:_EVALUATIONS]
    lines = [Line(_evaluation(one), chosen.index(id(one))) for one in scores if id(one) in chosen]
    more = len(scores) - len(lines)
    curve = spark(np.array([one.mean for one in scores if one.seeds != "test"]), WIDTH)
    intro = f"All on evaluation seeds: {curve}" if len(curve) > 2 else ""
    intro += f" {more} between those listed are not." * bool(more)
    return Section("## Evaluations", lines, what="evaluations", importance=70, intro=intro)


def _evaluation(one: Score) -> str:
    low, high = number(min(one.scores)), number(max(one.scores))
    solved = "" if one.threshold is None else ", solved" if one.solved else ", not solved"
    return (
        f"- {count(one.env_steps)} env steps, {one.seeds} seeds: {_interval(one)}, "
        f"{low} … {high} over {len(one.scores)}{solved}"
    )


def alerts(facts: Facts) -> Section:
    lines = [Line(_alert(facts, alert), urgency(alert.level)) for alert in facts.alerts]
    return Section("## Alerts", lines or [Line("None fired.")], what="alerts", importance=65)


def _alert(facts: Facts, alert: Alert) -> str:
    said, updates = facts.discreet.said, facts.history.updates
    part = f", {share(alert.updates / updates)} of all" if updates else ""
    first = "" if alert.first is None else f", first at {count(alert.first)} env steps"
    held = f"{plural(alert.updates, 'update')}{part}{first}"
    advice = f"; try: {said(alert.advice)}" if alert.advice else ""
    return f"- {said(alert.id, 60)} ({said(alert.level, 20)}, {held}): {said(alert.saw)}{advice}"


def lineage(facts: Facts) -> Section:
    lines = list(_lineage(facts))
    return Section("## Lineage", lines, what="relatives", importance=30)


def _lineage(facts: Facts) -> Iterator[Line]:
    said, parent = facts.discreet.said, facts.info["parent"]
    if parent:
        at = parent.get("env_steps")
        steps = f" at {count(at)} env steps" if isinstance(at, int) else ""
        kind = said(parent.get("kind") or "fork", 20)
        yield Line(f"- Began with the weights of {said(parent['run'], 60)}{steps} ({kind})", 0)
    forks = children(str(facts.info["id"]), facts.infos)
    if forks:
        rest = f" and {len(forks) - _RELATIVES} more" if len(forks) > _RELATIVES else ""
        yield Line(f"- Others began with its weights: {', '.join(forks[:_RELATIVES])}{rest}", 1)
    for place, resume in enumerate(facts.info["resumes"][-_RELATIVES:]):
        changed = _changes(facts, resume.get("changes") or {})
        yield Line(f"- Resumed at {count(resume['env_steps'])} env steps{changed}", 9 - place)


def _changes(facts: Facts, changes: Mapping[str, Any]) -> str:
    parts = [
        f"{name} {flow(pair[0])} -> {flow(pair[1])}"
        for name, pair in changes.items()
        if isinstance(pair, list | tuple) and len(pair) == 2
    ]
    return f" with {facts.discreet.said(', '.join(parts))}" if parts else ""


def happenings(facts: Facts) -> Section:
    """Notes, faults and changes; the newest stay longest."""
    told = [text for event in facts.events if (text := _happening(facts, event))]
    lines = [Line(f"- {text}", -place) for place, text in enumerate(told[-_HAPPENINGS:])]
    return Section("## What happened", lines, what="events", importance=20)


def _happening(facts: Facts, event: Mapping[str, Any]) -> str:
    kind = str(event.get("event", ""))
    at = event.get("env_steps")
    steps = f"{count(at)} env steps: " if isinstance(at, int) else ""
    if kind == "note":
        return f'{steps}note: "{facts.discreet.said(event.get("text", ""))}"'
    if kind in ("change", "fault", "save_failed"):
        return f"{steps}{kind}: {facts.discreet.said(sentence(kind, event) or kind)}"
    return ""
