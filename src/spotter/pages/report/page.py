"""report.html: one page that needs nothing else. No scripts; styles, plots and film are inside."""

import base64
from collections.abc import Iterable, Sequence
from typing import Final

from spotter import __version__
from spotter.config.dump import to_yaml
from spotter.pages.report import charts, words
from spotter.pages.report.facts import Facts
from spotter.pages.report.style import CSS
from spotter.rundir import identity
from spotter.rundir.alerts import Alert
from spotter.rundir.evaluations import Score
from spotter.text.markup import Markup, el, join
from spotter.text.numbers import count, number, plus_minus, score

INSIDE_BYTES: Final = 8 * 2**20
"""A larger film stays beside the page and is linked."""
_SHOWN_SCORES: Final = 8
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data: file: 'self'"
)
_NUMBERS: Final = {0, 2, 3, 4, 5, 6, 7}


def html_page(facts: Facts) -> str:
    name = f"{words.title(facts)} · {facts.view.info['id']}"
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        el("title", name),
        el("style", Markup(CSS)),
    )
    parts = (
        _header(facts),
        _score(facts),
        _seen(facts),
        _scores(facts),
        _alerts(facts),
        _training(facts),
        _what_ran(facts),
        _again(facts),
        _timeline(facts),
        _details(facts),
    )
    body = el("main", *(part for part in parts if part), _footer())
    return f"<!doctype html>\n{el('html', el('head', head), el('body', body), lang='en')}\n"


def _header(facts: Facts) -> Markup:
    verdict = words.verdict(facts)
    badge = el("span", verdict.word, class_=f"badge {verdict.mood}")
    sentence = verdict.sentence[:1].upper() + verdict.sentence[1:]
    tiles = (
        el(
            "div",
            el("div", tile.label, class_="label"),
            el("div", tile.value, class_="value"),
            el("div", tile.detail, class_="detail"),
            class_="tile",
        )
        for tile in words.tiles(facts)
    )
    return el(
        "header",
        el("div", el("h1", words.title(facts)), badge, class_="headline"),
        el("p", f"{sentence}.", class_="quiet"),
        el("div", *tiles, class_="tiles"),
    )


def _section(heading: str, *content: object) -> Markup:
    return el("section", el("h2", heading), *content)


def _swatch(colour: str, text: str) -> Markup:
    return el("li", el("i", class_=colour), text)


def _score(facts: Facts) -> Markup | None:
    wide, narrow = (charts.score_plot(facts, size) for size in (charts.WIDE, charts.NARROW))
    if wide is None or narrow is None:
        return None
    legend = []
    if "train/score" in facts.curves:
        legend.append(_swatch("c1", "training, mean of the last 100 episodes"))
    if any(not found.is_test for found in facts.view.evaluations):
        legend.append(_swatch("c2", "evaluation: mean, middle half, least to greatest episode"))
    if facts.view.tested:
        legend.append(_swatch("gem c4", "test"))
    if facts.view.threshold is not None:
        legend.append(_swatch("dash", f"solved at {number(facts.view.threshold)}"))
    there = {mark.kind for mark in charts.marks(facts)}
    legend += [
        _swatch(f"flag {kind}", f"{name} (in every plot over env steps)")
        for kind, name in charts.MARKED.items()
        if kind in there
    ]
    return _section(
        "Score over env steps",
        el("ul", *legend, class_="legend"),
        el("div", wide, class_="wide"),
        el("div", narrow, class_="narrow"),
    )


def _seen(facts: Facts) -> Markup | None:
    """The film and the test, side by side where there is room."""
    test = charts.test_plot(facts)
    cards = [card for card in (_film(facts), _test(facts, test) if test else None) if card]
    return el("div", *cards, class_="columns") if cards else None


def _film(facts: Facts) -> Markup | None:
    video = facts.video
    if video is None:
        return None
    about = video.about
    reported = []
    if isinstance(about.get("score"), int | float):
        reported.append(f"score {score(about['score'])}")
    if isinstance(about.get("env_steps"), int):
        reported.append(f"policy after {count(about['env_steps'])} env steps")
    if about.get("seed") is not None:
        reported.append(f"seed {about['seed']}")
    caption = el("p", " · ".join(reported), class_="quiet small")
    if video.path.stat().st_size > INSIDE_BYTES:
        link = el("a", video.name, href=video.name)
        return _section("Best policy on film", el("p", "The film is beside this page: ", link))
    data = base64.b64encode(video.path.read_bytes()).decode()
    source = f"data:video/mp4;base64,{data}"
    film = Markup("<video controls muted loop playsinline preload=metadata src='{}'></video>")
    return _section("Best policy on film", Markup(film.format(source)), caption)


def _test(facts: Facts, plot: Markup) -> Markup:
    test = facts.view.tested
    assert test is not None, "there is a plot of it"
    mode = "most likely actions" if test.deterministic else "sampled actions"
    mean = plus_minus(test.mean, test.interval.half)
    about = (
        f"Mean {mean} over {count(len(test.scores))} episodes on seeds never seen in training, "
        f"{mode}."
    )
    return _section(
        "Every test episode",
        el("p", about, class_="small quiet"),
        plot,
        el("p", words.OVER_EPISODES, class_="small quiet"),
    )


def _scores(facts: Facts) -> Markup | None:
    if not facts.view.evaluations:
        return None
    newest = facts.view.evaluations[::-1]
    parts = [_score_table(newest[:_SHOWN_SCORES])]
    if newest[_SHOWN_SCORES:]:
        rest = _score_table(newest[_SHOWN_SCORES:])
        parts.append(_folded(f"{len(newest) - _SHOWN_SCORES} earlier evaluations", rest))
    if not facts.view.tested:  # else it stands below the test
        parts.append(el("p", words.OVER_EPISODES, class_="small quiet"))
    return _section("Scores", *parts)


def _score_table(scores: Iterable[Score]) -> Markup:
    return _table(words.SCORE_HEADER, [words.score_row(found) for found in scores], _NUMBERS)


def _table(
    header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()
) -> Markup:
    def kind(column: int) -> str:
        return "num" if column in numbers else "key" if column == 0 else "any"

    head = el("tr", *(el("th", text, class_=kind(i)) for i, text in enumerate(header)))
    body = (
        el("tr", *(el("td", cell, class_=kind(i)) for i, cell in enumerate(row))) for row in rows
    )
    return el("div", el("table", el("thead", head), el("tbody", *body)), class_="scroll")


def _folded(title: str, *content: object) -> Markup:
    return el("details", el("summary", title), *content)


def _alerts(facts: Facts) -> Markup:
    if not facts.view.alerts:
        return _section("Alerts", el("p", "No alert fired.", class_="quiet"))
    return _section("Alerts", *(_alert(alert) for alert in facts.view.alerts))


def _alert(alert: Alert) -> Markup:
    head = " · ".join(words.about(alert))
    lines = [el("h3", el("code", alert.id), " ", el("span", head, class_="quiet small"))]
    if alert.saw:
        lines.append(el("p", f"Saw {alert.saw.rstrip('.')}."))
    if alert.advice:
        lines.append(el("p", f"Try: {alert.advice.rstrip('.')}."))
    lines.append(el("p", "More in ", el("code", words.link(alert)), class_="small quiet"))
    return el("div", *lines, class_=f"alert {alert.level}")


def _training(facts: Facts) -> Markup | None:
    figures = [_figure(facts, key) for key in charts.watched(facts)]
    split = charts.time_plot(facts)
    if split:
        legend = [
            _swatch(f"block c{i % 8 + 1}", stage) for i, stage in enumerate(charts.stages(facts))
        ]
        heading = el("figcaption", el("code", "time/*_s"))
        meaning = el("p", "share of wall time by stage", class_="meaning")
        figures.append(el("figure", heading, meaning, split, el("ul", *legend, class_="legend")))
    if not figures:
        return None
    more = charts.others(facts)
    rest = [_folded(f"{len(more)} more curves", _plots([_figure(facts, k) for k in more]))]
    axis = "x axis: env steps; bands span the least and greatest value where rows were joined"
    return _section(
        "Training",
        el("p", axis, class_="small quiet"),
        _plots(figures),
        *(rest if more else ()),
    )


def _plots(figures: Iterable[Markup]) -> Markup:
    return el("div", *figures, class_="plots")


def _figure(facts: Facts, key: str) -> Markup:
    spec = facts.view.spec(key)
    meaning = f"{spec.meaning} ({spec.unit})" if spec.unit else spec.meaning
    now = el("span", words.metric(facts, key), class_="now", title="last value")
    return el(
        "figure",
        el("figcaption", el("code", key), now),
        el("p", meaning, class_="meaning"),
        charts.small_plot(facts, key),
    )


def _what_ran(facts: Facts) -> Markup:
    entries = [
        join(el("dt", label), el("dd", text)) for label, text in words.identity(facts) if text
    ]
    parts: list[Markup] = [el("dl", *entries)]
    if facts.changes is not None and facts.view.parent:
        heading = el("p", f"Settings that differ from its parent {facts.view.parent.get('run')}:")
        table = _table(("setting", "parent", "this run"), facts.changes)
        parts += [heading, table if facts.changes else el("p", "none", class_="quiet")]
    elif facts.view.parent:
        parts.append(el("p", "The config of its parent is not at hand.", class_="quiet"))
    return _section("What ran", *parts)


def _again(facts: Facts) -> Markup:
    recipe = facts.recipe
    words_ = "Run this in the run's folder:" if recipe.is_python else "The same config, again:"
    parts = [el("p", words_), el("pre", recipe.command)]
    parts += [el("p", f"Note: {note}.", class_="quiet small") for note in recipe.notes]
    own = [c for c in recipe.own if c.setting != "seed"]
    if own:
        title = f"{len(own)} settings differ from {recipe.address}"
        parts.append(_folded(title, _table(("setting", recipe.address, "this run"), own)))
    return _section("Reproduce", *parts)


def _timeline(facts: Facts) -> Markup | None:
    if not facts.timeline:
        return None
    rows = words.timeline_rows(facts)
    left = len(facts.timeline) - len(rows)
    note = [el("p", f"{count(left)} earlier events are in events.jsonl.", class_="quiet small")]
    table = _table(words.TIMELINE_HEADER, rows, {1})
    return _section("What happened", *(note if left else ()), table)


def _details(facts: Facts) -> Markup:
    table = _table(("metric", "shown", "every digit", "meaning"), words.last_row(facts), {1, 2})
    return _section(
        "Everything else",
        _folded("Last row of metrics.jsonl, every digit", table),
        _folded("Config, every setting", el("pre", to_yaml(facts.view.config))),
    )


def _footer() -> Markup:
    return el("footer", f"Made by Spotter {__version__}, {words.moment(identity.now())}.")
