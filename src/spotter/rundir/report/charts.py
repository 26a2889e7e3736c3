"""Which plots a report has: the score, every test episode, one small plot per number to watch."""

from typing import Final

import numpy as np

from spotter.display.words import count, number, score
from spotter.rundir.report import words
from spotter.rundir.report.curves import line, shares
from spotter.rundir.report.facts import Facts
from spotter.rundir.report.markup import Markup
from spotter.rundir.report.plots import Level, Mark, Plot, Point, dot_plot, thinned

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


def score_plot(facts: Facts, size: tuple[int, int]) -> Markup | None:
    """Training and evaluation in one picture, with the threshold and what happened."""
    training = line(facts.curves["train/score"]) if "train/score" in facts.curves else None
    points = [
        Point(s.env_steps, s.mean, s.scores, words.told(s), s.is_test)
        for s in facts.view.evaluations
    ]
    if training is None and not points:
        return None
    level = facts.view.threshold
    # the middle half of every evaluation decides: one bad episode must not flatten the rest
    ends = [quarter for p in points for quarter in np.quantile(p.scores, [0.25, 0.75]).tolist()]
    ends += [point.y for point in points]
    ends += [training.least, training.greatest] if training else []
    ends = [end for end in (*ends, *([] if level is None else [level])) if np.isfinite(end)]
    plot = Plot.around(size, (0.0, _last_step(facts)), (min(ends, default=0), max(ends, default=1)))
    layers = []
    if level is not None:
        layers.append(plot.level(Level(level, f"solved at {number(level)}")))
    layers.append(plot.spreads(points))
    if training is not None:
        layers += [plot.line(training, "c1"), _hover(plot, facts, "train/score")]
    return plot.svg("score over env steps", *layers, plot.points(points), plot.marks(marks(facts)))


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
    level = facts.view.threshold
    return dot_plot(
        test.scores,
        None if level is None else Level(level, f"solved at {number(level)}"),
        Level(test.mean, f"mean {score(test.mean)}"),
        DOTS,
    )


def small_plot(facts: Facts, key: str) -> Markup:
    drawn = line(facts.curves[key])
    plot = Plot.around(SMALL, (0.0, _last_step(facts)), (drawn.least, drawn.greatest))
    layers = plot.line(drawn, "c1"), _hover(plot, facts, key), plot.marks(marks(facts))
    return plot.svg(f"{key} over env steps", *layers)


def _hover(plot: Plot, facts: Facts, key: str) -> Markup:
    column = facts.curves[key]
    rows = thinned(range(len(column.values)), _HOVERS)
    return plot.hover(
        [
            (
                column.env_steps[row],
                f"{words.shown(facts, key, column.values[row])} "
                f"at {count(round(column.env_steps[row]))} env steps",
            )
            for row in rows
        ]
    )


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
    plot = Plot.around(SMALL, (0.0, _last_step(facts)), (0.0, 1.0))
    return plot.svg("share of time by stage", plot.stack(x, parts), plot.marks(marks(facts)))


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
