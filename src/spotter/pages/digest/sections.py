"""The sections of a digest that tell what a run is, how it did, and where it comes from."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from spotter.charts.terminal import spark
from spotter.config.dump import flow
from spotter.diagnose.rule import urgency
from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.rundir.alerts import Alert
from spotter.rundir.evaluations import Score
from spotter.rundir.judged import Judged
from spotter.rundir.lineage import children
from spotter.rundir.trained import pairs
from spotter.rundir.values import whole
from spotter.text.events import sentence
from spotter.text.numbers import (
    count,
    duration,
    interval,
    number,
    often,
    plural,
    share,
    speed,
    to_threshold,
)

_EVALUATIONS: Final = 12
_HAPPENINGS: Final = 12
_RELATIVES: Final = 5


def head(facts: Facts) -> Section:
    info, said = facts.view.info, facts.discreet.said
    title = f"# {said(info['env'], 80)} · {said(info['algo'], 40)}: {_verdict(facts)}"
    lines = [_progress(facts), _score(facts), *_certificate(facts)]
    who = f"- Run {said(info['id'], 60)}, recipe {said(info['address'], 80)}, seed {info['seed']}"
    tags = f", tagged {said(', '.join(info['tags']), 80)}" if info["tags"] else ""
    ranked = [Line(f"{who}{tags}", 0), *(Line(text, i + 1) for i, text in enumerate(lines))]
    if info["why"]:
        ranked.append(Line(f'- Started because: "{said(info["why"])}"', 9))
    return Section(title, ranked, what="facts about the run", importance=100, needed=3)


def _verdict(facts: Facts) -> str:
    view, status = facts.view, facts.view.status
    if status == "finished" and view.solved is not None and view.threshold is not None:
        status = "solved" if view.solved else "not solved"
    reason = facts.discreet.said(view.info["reason"] or "", 120)
    return f"{status} ({reason})" if reason and reason != status else status


def _progress(facts: Facts) -> str:
    view, most = facts.view, facts.view.budget.env_steps
    of = f" of {count(most)}" if most else ""
    part = f" ({share(view.progress)} of the budget)" if view.progress is not None else ""
    text = f"- Progress: {count(view.env_steps)} env steps{of}{part}"
    text += f", {plural(view.updates, 'update')}, {duration(view.elapsed_s)}"
    if view.train_s is not None:
        text += f" ({duration(view.train_s)} collecting and learning)"
    if view.fps:
        text += f", {speed(view.fps, view.wall_fps)}"
    if view.eta_s is not None:
        text += f", about {duration(view.eta_s)} left"
    return text


def _score(facts: Facts) -> str:
    view, parts = facts.view, []
    if view.test:
        mode = f", {_mode(view.tested)}" if view.tested else ""
        parts.append(f"test {_judged(view.test, 'held-out episode')}{mode}")
    if view.best:
        at = "" if view.best.env_steps is None else f" at {count(view.best.env_steps)} env steps"
        parts.append(f"best evaluation {_judged(view.best, 'episode')}{at}")
    if view.last_score is not None:
        parts.append(f"the last weights score {number(view.last_score)}, the best are kept")
    if not parts:
        parts.append("never evaluated")
    if view.threshold is not None:
        parts.append(f"solved at {number(view.threshold)}")
    first = to_threshold(view.steps_to_threshold, view.total_steps_to_threshold)
    if first:
        parts.append(f"an evaluation reached it at {first} env steps")
    if view.train_steps_to_threshold is not None:
        parts.append(f"the training mean at {count(view.train_steps_to_threshold)}")
    return f"- Score: {'; '.join(parts)}"


def _judged(found: Judged, noun: str) -> str:
    episodes = f" over {plural(found.episodes, noun)}" if found.episodes else ""
    return f"{interval(found.mean, found.half)}{episodes}"


def _mode(found: Score) -> str:
    return "greedy" if found.deterministic else "sampled"


def _certificate(facts: Facts) -> Iterator[str]:
    info, said = facts.view.info, facts.discreet.said
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
    scores = facts.view.evaluations
    if not scores:
        text = "It has not been scored on held-out seeds."
        return Section("## Evaluations", [Line(text)], importance=70)
    best = max((one for one in scores if not one.is_test), key=lambda one: one.mean, default=None)
    order = [facts.view.tested, best, scores[-1], scores[0], *reversed(scores)]
    chosen = list(dict.fromkeys(id(one) for one in order if one))[:_EVALUATIONS]
    lines = [Line(_evaluation(one), chosen.index(id(one))) for one in scores if id(one) in chosen]
    more = len(scores) - len(lines)
    curve = spark(np.array([one.mean for one in scores if one.seeds == "eval"]))
    intro = f"All on evaluation seeds: {curve}" if len(curve) > 2 else ""
    intro += f" {more} between those listed are not." * bool(more)
    return Section("## Evaluations", lines, what="evaluations", importance=70, intro=intro)


def _evaluation(one: Score) -> str:
    low, high = number(min(one.scores)), number(max(one.scores))
    solved = "" if one.threshold is None else ", solved" if one.solved else ", not solved"
    mean = interval(one.mean, one.interval.half)
    return (
        f"- {count(one.env_steps)} env steps, {one.seeds} seeds: {mean}, "
        f"{low} … {high} over {len(one.scores)}{solved}"
    )


def alerts(facts: Facts) -> Section:
    lines = [Line(_alert(facts, alert), urgency(alert.level)) for alert in facts.view.alerts]
    return Section("## Alerts", lines or [Line("None fired.")], what="alerts", importance=65)


def _alert(facts: Facts, alert: Alert) -> str:
    said = facts.discreet.said
    first = "" if alert.first is None else f", first at {count(alert.first)} env steps"
    held = f"{often(alert.updates, alert.share)}{first}"
    advice = f"; try: {said(alert.advice)}" if alert.advice else ""
    return f"- {said(alert.id, 60)} ({said(alert.level, 20)}, {held}): {said(alert.saw)}{advice}"


def lineage(facts: Facts) -> Section:
    lines = list(_lineage(facts))
    return Section("## Lineage", lines, what="relatives", importance=30)


def _lineage(facts: Facts) -> Iterator[Line]:
    said, parent = facts.discreet.said, facts.view.info["parent"]
    if parent:
        at = whole(parent.get("env_steps"))
        began = "" if at is None else f" at {count(at)} env steps"
        kind = said(parent.get("kind") or "fork", 20)
        yield Line(f"- Began with the weights of {said(parent['run'], 60)}{began} ({kind})", 0)
    forks = children(str(facts.view.info["id"]), facts.infos)
    if forks:
        rest = f" and {len(forks) - _RELATIVES} more" if len(forks) > _RELATIVES else ""
        yield Line(f"- Others began with its weights: {', '.join(forks[:_RELATIVES])}{rest}", 1)
    for place, resume in enumerate(facts.view.info["resumes"][-_RELATIVES:]):
        steps = whole(resume.get("env_steps"))
        place_of = "" if steps is None else f" at {count(steps)} env steps"
        new = [f"{name} {flow(old)} -> {flow(now)}" for name, (old, now) in pairs(resume).items()]
        changed = f" with {said(', '.join(new))}" if new else ""
        yield Line(f"- Resumed{place_of}{changed}", 9 - place)


def happenings(facts: Facts) -> Section:
    """Notes, faults and changes; the newest stay longest."""
    reported = [text for event in facts.view.events if (text := _happening(facts, event))]
    lines = [Line(f"- {text}", -place) for place, text in enumerate(reported[-_HAPPENINGS:])]
    return Section("## What happened", lines, what="events", importance=20)


def _happening(facts: Facts, event: Mapping[str, object]) -> str:
    kind = str(event.get("event", ""))
    at = event.get("env_steps")
    steps = f"{count(at)} env steps: " if isinstance(at, int) else ""
    if kind == "note":
        return f'{steps}note: "{facts.discreet.said(event.get("text", ""))}"'
    if kind in ("change", "fault", "save_failed"):
        return f"{steps}{kind}: {facts.discreet.said(sentence(kind, event) or kind)}"
    return ""
