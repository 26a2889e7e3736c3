"""The settings of a run that are not the usual ones, and who set them."""

from collections.abc import Iterator, Mapping
from typing import Final

from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.config.foreign import recipe_of
from spotter.config.load import Resolved
from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.rundir import trained

_ORDER: Final = ("algo", "reward", "policy", "env", "budget", "eval", "seed")
_LONG: Final = 160


def section(facts: Facts) -> Section:
    """What changed on the way, what this run changed, what its recipe sets; no defaults."""
    usual = recipe_of(str(facts.view.info["address"]))
    if not facts.view.config:
        return Section(
            "## Settings", [Line("Its config.yaml cannot be read.")], importance=75, fade=4
        )
    if usual is None:
        intro = "Its recipe is not known here, so these are all of them:"
        leaves = _leaves(facts.view.config)
        lines = [Line(_line(facts, name, after), rank(name)) for name, after in leaves]
    else:
        intro = "Settings that are not the defaults, and who set them:"
        lines = list(_lines(facts, usual))
    lines += _on_the_way(facts)
    if not lines:
        return Section("## Settings", [Line("All as in the defaults.")], importance=75, fade=4)
    return Section(
        "## Settings",
        sorted(lines, key=lambda line: line.rank),
        what="settings",
        importance=75,
        fade=4,
        intro=intro,
    )


def _on_the_way(facts: Facts) -> Iterator[Line]:
    """Before all others: the values below are the last ones only."""
    for name, spans in facts.view.changed.items():
        text = facts.discreet.said(f"{name}: {trained.words(spans)}", 2 * _LONG)
        yield Line(f"- {text} (changed when it was resumed)", rank(name) - 2000)


def _lines(facts: Facts, usual: Resolved) -> Iterator[Line]:
    normal = usual.config.as_data()
    known = dict(_leaves(facts.view.config))  # an older run lacks settings that came later
    own = {n: pair for n, pair in difference(normal, facts.view.config).items() if n in known}
    for name, (before, after) in own.items():
        line = f"{_line(facts, name, after)} (this run; the recipe has {_shown(facts, before)})"
        yield Line(line, rank(name) - 1000)
    for name, value in _leaves(normal):
        origin = usual.origin(tuple(name.split(".")))
        if origin != "default" and name not in own:
            yield Line(f"{_line(facts, name, value)} (from {origin})", rank(name))


def _line(facts: Facts, name: str, value: object) -> str:
    return f"- {facts.discreet.said(name, 80)}: {_shown(facts, value)}"


def _shown(facts: Facts, value: object) -> str:
    """As config.yaml writes it, on one line."""
    if isinstance(value, Mapping) and not value:
        return "{}"
    return facts.discreet.said(flow(value), _LONG)


def _leaves(data: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Every setting by its dotted name; a schedule is one."""
    for key, value in data.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping) and value and not {"start", "points"} & set(value):
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def rank(name: str) -> float:
    """What learning depends on first."""
    part = name.partition(".")[0]
    return float(_ORDER.index(part) if part in _ORDER else len(_ORDER))
