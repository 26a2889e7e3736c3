"""`spotter list`: what can be trained, and what can be named in a config."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter import plugins
from spotter.cli import table
from spotter.text.numbers import count, number
from spotter.types import NoMatchError, UserError

if TYPE_CHECKING:
    from spotter.config.catalogue import Entry

Row = tuple[str, ...]
Listing = tuple[tuple[str, ...], list[Row]]
"""Columns and rows."""
_COLUMNS: Final = ("address", "algorithm", "env steps", "promises", "description")
_GIVES: Final = ("description…", "algorithm", "promises", "description")


def show(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help=(
                "Only recipes with these words, or close to them. First algos, envs, families, "
                "wrappers, signals, encoders, sinks, launchers, defaults, metrics or settings."
            ),
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
) -> None:
    """List recipes; or algorithms, environments, wrappers, metrics, settings.

    Of a recipe: address, algorithm, budget, the score it reaches. In a pipe: one line each, columns
    separated by tabs.
    """
    words = text or []
    if words and words[0] in KINDS:
        _show_kind(words[0], words[1:])
        return
    from spotter.config.catalogue import find

    entries = find(" ".join(words))
    # what is wrong with a broken one is read to its end
    wraps = ("description",) if any(entry.problem for entry in entries) else ()
    table.show(_COLUMNS, [_cells(entry) for entry in entries], wraps, _GIVES)


def _cells(entry: "Entry") -> list[str]:
    if entry.problem:
        return [entry.address, "", "", "", f"broken: {entry.problem}"]
    budget = count(entry.env_steps) if entry.env_steps else "until solved"
    promise = "" if entry.score is None else number(entry.score)
    return [entry.address, entry.algo, budget, promise, entry.description]


def _show_kind(kind: str, words: Sequence[str]) -> None:
    columns, rows = KINDS[kind]()
    found = [row for row in rows if all(w.lower() in " ".join(row).lower() for w in words)]
    if not found:
        raise NoMatchError(f"none of {len(rows)} {kind} has '{' '.join(words)}' in it")
    table.show(columns, found, wraps=columns[-1:], gives=columns[1:-1])


def _plugins(kind: str) -> Callable[[], Listing]:
    def listing() -> Listing:
        names = plugins.names(kind)
        return ("name", "description"), [(name, plugins.purpose(kind, name)) for name in names]

    return listing


def _envs() -> Listing:
    """Every id Gymnasium knows, the families' own included, and every recipe's."""
    import gymnasium as gym

    from spotter.config import recipes

    for family in plugins.names("envs"):
        try:
            vars(plugins.load("envs", family)).get("register", lambda: None)()
        except (UserError, ImportError):
            continue  # not installed
    known = recipes.files()
    ids = sorted({*gym.registry, *known})
    return ("environment", "family", "recipe"), [
        (env_id, recipes.family_of(env_id), "yes" if env_id in known else "") for env_id in ids
    ]


def _defaults() -> Listing:
    """Kinds of environments, for what has no recipe."""
    from spotter.config import recipes

    sources = {kind: recipes.open_source(path) for kind, path in recipes.defaults_files().items()}
    return ("kind", "title", "description"), [
        (kind, *(str(source.data.get(key, "")) for key in ("title", "description")))
        for kind, source in sorted(sources.items())
    ]


def _metrics() -> Listing:
    from spotter.rundir.catalogue import catalogue

    specs = sorted(catalogue(plugins.names("algos")), key=lambda spec: spec.key)
    return ("metric", "better", "meaning"), [(s.key, s.better or "", s.meaning) for s in specs]


def _settings() -> Listing:
    from spotter.config.reference import entries

    columns = ("setting", "of", "type", "default", "range", "elsewhere", "meaning")
    return columns, [
        (e.name, e.section, e.type, e.default, e.range, ", ".join(e.also), e.meaning)
        for e in entries()
    ]


KINDS: Final[dict[str, Callable[[], Listing]]] = {
    "algos": _plugins("algos"),
    "envs": _envs,
    "families": _plugins("envs"),
    "wrappers": _plugins("wrappers"),
    "signals": _plugins("signals"),
    "intrinsic": _plugins("intrinsic"),
    "encoders": _plugins("nets"),
    "cores": _plugins("cores"),
    "sinks": _plugins("sinks"),
    "launchers": _plugins("launchers"),
    "defaults": _defaults,
    "metrics": _metrics,
    "settings": _settings,
}
