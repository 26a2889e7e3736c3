"""Which plots a report has: the score, every test episode, one small plot per number to watch."""

from typing import Final

import numpy as np

from spotter.charts.chart import Level, Line, Mark, Panel, Point
from spotter.charts.points import condensed
from spotter.charts.svg import dot_plot, drawn, thinned
from spotter.pages.report import words
from spotter.pages.report.curves import shares
from spotter.pages.report.facts import Facts
from spotter.text.markup import Markup
from spotter.text.numbers import count, number, score

WIDE: Final = (1040, 340)
NARROW: Final = (400, 300)
SMALL: Final = (340, 170)
DOTS: Final = (520, 300)
_WATCHED: Final = (
    "loss/policy",
    "loss/value",
    "loss/entropy",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
    "value/explained_variance",
    "train/length",
    "grad/norm",
    "hp/algo.lr",
    "time/fps",
)
_STAGES: Final = ("env", "policy", "transfer", "learn", "eval", "save", "video", "idle")
_ELSEWHERE: Final = (
    "train/score",
    "train/episodes",
    "run/progress",
    "time/elapsed_s",
    "time/eta_s",
)
MARKED: Final = {
    "change": "settings changed",
    "resume": "resumed",
    "fault": "an environment failed",
}
"""What is marked in every plot, and its name in the legend."""
_MOST_MORE: Final = 24
_HOVERS: Final = 40
SCORE: Final = "train/score"


def score_plot(facts: Facts, size: tuple[int, int]) -> Markup | None:
    """Training and evaluation in one chart, with the threshold and events."""
    points = [
        Point(s.env_steps, s.mean, s.scores, words.reported(s), s.is_test)
        for s in facts.view.evaluations
    ]
    if SCORE not in facts.curves and not points:
        return None
    lines = [condensed(SCORE, facts.curves[SCORE])] if SCORE in facts.curves else []
    levels = _solved(facts)
    # the middle half of every evaluation decides: one bad episode must not flatten the rest
    ends = [quarter for p in points for quarter in np.quantile(p.scores, [0.25, 0.75]).tolist()]
    ends += [point.y for point in points]
    ends += [level.y for level in levels]
    ends += [end for line in lines for end in line.span]
    ends = [end for end in ends if np.isfinite(end)]
    panel = Panel(
        title="score over env steps",
        lines=lines,
        levels=levels,
        points=points,
        marks=marks(facts),
        hovers=_hovers(facts, SCORE) if lines else (),
        x=(0.0, _last_step(facts)),
        y=(min(ends, default=0.0), max(ends, default=1.0)),
    )
    return drawn(panel, size)


def _solved(facts: Facts) -> list[Level]:
    level = facts.view.threshold
    return [] if level is None else [Level(level, f"solved at {number(level)}")]


def marks(facts: Facts) -> list[Mark]:
    """What happened to the run, for every plot over env steps."""
    found = []
    for happening in facts.timeline:
        kind = "change" if happening.changes_settings else happening.kind
        if kind in MARKED and happening.env_steps is not None:
            text = f"{happening.kind} at {count(happening.env_steps)} env steps: {happening.text}"
            found.append(Mark(happening.env_steps, text, kind))
    return found


def _last_step(facts: Facts) -> float:
    view = facts.view
    return float(max(view.env_steps, *(s.env_steps for s in view.evaluations), 1))


def test_plot(facts: Facts) -> Markup | None:
    test = facts.view.tested
    if test is None or not np.isfinite(test.scores).all():
        return None
    mean = Level(test.mean, f"mean {score(test.mean)}")
    return dot_plot(test.scores, next(iter(_solved(facts)), None), mean, DOTS)


def small_plot(facts: Facts, key: str) -> Markup:
    panel = Panel(
        title=f"{key} over env steps",
        lines=[condensed(key, facts.curves[key])],
        marks=marks(facts),
        hovers=_hovers(facts, key),
        x=(0.0, _last_step(facts)),
    )
    return drawn(panel, SMALL)


def _hovers(facts: Facts, key: str) -> list[tuple[float, str]]:
    curve = facts.curves[key]
    return [
        (
            curve.env_steps[row],
            f"{words.shown(facts, key, curve.values[row])} "
            f"at {count(round(curve.env_steps[row]))} env steps",
        )
        for row in thinned(range(len(curve.values)), _HOVERS)
    ]


def stages(facts: Facts) -> list[str]:
    """Where the time went, by name, in the order they are stacked."""
    return [stage for stage in _STAGES if f"time/{stage}_s" in facts.curves]


def time_plot(facts: Facts) -> Markup | None:
    there = stages(facts)
    if not there:
        return None
    x, parts = shares({stage: facts.curves[f"time/{stage}_s"] for stage in there})
    if len(x) < 2:
        return None
    panel = Panel(
        title="share of time by stage",
        lines=[Line(name, x, y, colour=place) for place, (name, y) in enumerate(parts.items())],
        stacked=True,
        marks=marks(facts),
        x=(0.0, _last_step(facts)),
        y=(0.0, 1.0),
    )
    return drawn(panel, SMALL)


def watched(facts: Facts) -> list[str]:
    """Metrics that get a plot at once."""
    return [key for key in _WATCHED if key in facts.curves and facts.curves[key].varies]


def others(facts: Facts) -> list[str]:
    """Every other metric that changed, for the folded part."""
    skipped = {*_ELSEWHERE, *watched(facts), *(f"time/{stage}_s" for stage in _STAGES)}
    keys = [
        key
        for key in sorted(facts.curves)
        if key not in skipped
        and not key.startswith(("eval/", "test/"))
        and facts.curves[key].varies
    ]
    return keys[:_MOST_MORE]
