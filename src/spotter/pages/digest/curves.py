"""The curves of a run as lines of text: small bars, then the numbers behind them."""

import math
import re
from collections.abc import Iterator
from typing import Final

from spotter.charts.terminal import spark
from spotter.diagnose.rule import urgency
from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.rundir.trend import Trend, trend
from spotter.text.numbers import count, plural, short

_MOST: Final = 24
_TELLING: Final = (
    "train/score",
    "policy/entropy",
    "value/explained_variance",
    "policy/approx_kl",
    "policy/clip_fraction",
    "loss/value",
    "loss/policy",
    "grad/norm",
    "train/reward",
    "train/length",
    "net/dead_units",
    "hp/algo.lr",
    "advantage/std",
    "return/mean",
    "policy/std",
    "time/fps",
)
_TOLD_ELSEWHERE: Final = re.compile(
    r"(update|env_steps|vector_steps|run/progress|time/elapsed_s|time/eta_s|train/episodes"
    r"|train/score_best|(eval|test|merit)/.*)"
)

_FURTHER_CLAUSES: Final = re.compile(r";(?![^(]*\)).*")
"""Where a semicolon outside brackets begins them."""


def section(facts: Facts) -> Section:
    """The most telling first: the score, what alerts were about, what experts look at."""
    keys, alike = _distinct(facts, list(_ordered(facts)))
    lines = [Line(_line(facts, key), rank) for rank, key in enumerate(keys[:_MOST])]
    for first, same in alike.items():
        if first in keys[:_MOST]:
            lines.append(Line(f"- The same numbers as {first}: {', '.join(same)}", len(lines)))
    return Section(
        "## Curves",
        lines or [Line("No row has been written yet.")],
        what="curves",
        importance=80,
        fade=4,
        intro="From the first update to the last; `at` and `since` are env steps, slopes are per "
        "1,000 env steps over the last quarter."
        if lines
        else "",
    )


def _ordered(facts: Facts) -> Iterator[str]:
    """Those that vary or broke; each once."""
    named = [one.metric for one in sorted(facts.view.alerts, key=lambda one: urgency(one.level))]
    broken = [key for key in facts.view.history.keys if facts.view.history.broken(key).size]
    rest = sorted(facts.view.history.keys, key=lambda key: (facts.view.spec(key).priority, key))
    shown = [key for key in rest if facts.view.spec(key).shown]
    for key in dict.fromkeys(["train/score", *broken, *named, *_TELLING, *shown, *rest]):
        known = key in facts.view.history and not _TOLD_ELSEWHERE.fullmatch(key)
        if known and (key in broken or _varies(facts, key)):
            yield key


def _distinct(facts: Facts, keys: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Keys with numbers of their own, and which others have the very same."""
    seen: dict[bytes, str] = {}
    alike: dict[str, list[str]] = {}
    for key in keys:
        first = seen.setdefault(facts.view.history.column(key).tobytes(), key)
        if first != key:
            alike.setdefault(first, []).append(facts.discreet.said(key, 60))
    return list(seen.values()), alike


def _varies(facts: Facts, key: str) -> bool:
    _, y = facts.view.history.curve(key)
    return bool(y.size) and (bool((y != y[0]).any()) or key == "train/score")


def _line(facts: Facts, key: str) -> str:
    x, y = facts.view.history.curve(key)
    found = trend(x, y)
    meaning = _FURTHER_CLAUSES.sub("", facts.view.spec(key).meaning)
    name = facts.discreet.said(key, 60)
    parts = [f"- {name}{f' ({meaning})' if meaning else ''}:"]
    if found is None:
        parts.append("never a finite number")
    else:
        parts += [spark(y), reported(found)]
    return " ".join(parts) + _broken(facts, key)


def reported(found: Trend) -> str:
    """A trend in a line: ends, extremes with their places, where it is going."""
    text = (
        f"first {short(found.first)}, last {short(found.last)}, "
        f"least {short(found.least)} at {place(found.least_at)}, "
        f"greatest {short(found.greatest)} at {place(found.greatest_at)}"
    )
    if found.direction != "flat":
        return f"{text}; {found.direction} {found.slope:+.3g}"
    since = found.plateau_since
    return f"{text}; flat{'' if since is None else f' since {place(since)}'}"


def place(env_steps: float) -> str:
    return count(round(env_steps)) if math.isfinite(env_steps) else "?"


def _broken(facts: Facts, key: str) -> str:
    places = facts.view.history.broken(key)
    if not places.size:
        return ""
    return f"; {plural(int(places.size), 'value')} not finite, first at {place(float(places[0]))}"
