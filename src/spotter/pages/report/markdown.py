"""report.md: the same report for terminals, pull requests and notebooks; curves as small bars."""

import re
from collections.abc import Iterable, Iterator, Sequence

from spotter.charts.terminal import spark
from spotter.config.dump import to_yaml
from spotter.pages.report import charts, words
from spotter.pages.report.facts import Facts

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def markdown_page(facts: Facts) -> str:
    blocks = (
        _head(facts),
        _scores(facts),
        _alerts(facts),
        _curves(facts),
        _what_ran(facts),
        _again(facts),
        _timeline(facts),
        _details(facts),
    )
    return "\n".join(line for block in blocks for line in block)


def _text(value: object) -> str:
    """Anybody's text as itself: one line, no markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def _span(text: str) -> str:
    """A few words of code."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(_text(cell) for cell in row)} |" for row in rows)
    yield ""


def _code(text: str, language: str = "") -> Iterator[str]:
    """A block whose fence is longer than any inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", text.rstrip("\n"), fence, "")


def _head(facts: Facts) -> Iterator[str]:
    verdict = words.verdict(facts)
    yield from (f"# {_text(words.title(facts))}: {verdict.word}", "")
    yield from (f"{_text(verdict.sentence)}.", "")
    tiles = [(tile.label, tile.value, tile.detail) for tile in words.tiles(facts)]
    yield from _table(("", "", ""), tiles)
    if facts.video:
        yield from (f"Film of the best policy: [{facts.video.name}]({facts.video.name})", "")


def _scores(facts: Facts) -> Iterator[str]:
    if facts.view.evaluations:
        yield from ("## Scores", "")
        newest = reversed(facts.view.evaluations)
        yield from _table(words.SCORE_HEADER, map(words.score_row, newest))
        yield from (words.OVER_EPISODES, "")


def _alerts(facts: Facts) -> Iterator[str]:
    yield from ("## Alerts", "")
    for alert in facts.view.alerts:
        about = ", ".join(words.about(alert))
        yield f"- **{_text(alert.id)}** ({_text(about)}): saw {_text(alert.saw)}."
        advice = f"Try: {_text(alert.advice).rstrip('.')}. " if alert.advice else ""
        yield f"  {advice}More in {_span(words.link(alert))}."
    yield from ("" if facts.view.alerts else "No alert fired.", "")


def _curves(facts: Facts) -> Iterator[str]:
    keys = [key for key in ("train/score",) if key in facts.curves]
    keys += [*charts.watched(facts), *charts.others(facts)]
    if keys:
        yield from ("## Training", "")
        rows = (
            (
                key,
                words.metric(facts, key),
                spark(facts.curves[key].values),
                _meaning(facts, key),
            )
            for key in keys
        )
        yield from _table(("metric", "last", "curve", "meaning"), rows)


def _meaning(facts: Facts, key: str) -> str:
    return facts.view.spec(key).meaning


def _what_ran(facts: Facts) -> Iterator[str]:
    yield from ("## What ran", "")
    yield from _table(("", ""), ((label, text) for label, text in words.identity(facts) if text))
    if facts.changes is not None and facts.view.parent:
        parent = _text(facts.view.parent.get("run"))
        yield from (f"Settings that differ from its parent {parent}:", "")
        heads = ("setting", "parent", "this run")
        yield from _table(heads, facts.changes) if facts.changes else ("none", "")


def _again(facts: Facts) -> Iterator[str]:
    recipe = facts.recipe
    yield from ("## Reproduce", "")
    yield from _code(recipe.command, "python" if recipe.is_python else "")
    for note in recipe.notes:
        yield from (f"Note: {_text(note)}.", "")


def _timeline(facts: Facts) -> Iterator[str]:
    if facts.timeline:
        yield from ("## What happened", "")
        yield from _table(words.TIMELINE_HEADER, words.timeline_rows(facts))


def _details(facts: Facts) -> Iterator[str]:
    yield from ("## Last row, every digit", "")
    rows = ((key, exact) for key, _, exact, _ in words.last_row(facts))
    yield from _table(("metric", "value"), rows)
    yield from ("## Config", "")
    yield from _code(to_yaml(facts.view.config), "yaml")
