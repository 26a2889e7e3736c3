"""What recipe, family and protocol files may hold, down to the sections that the models know about.

Each generator yields every problem of a file as `file:line: sentence`; each `check_` raises the
first of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spotter import plugins
from spotter.config import errors, recipes, synonyms, tree
from spotter.config.models import NOT_THE_GAME, RunConfig
from spotter.config.words import shown
from spotter.types import UserError

# What a protocol leaves open: which game it is, and how its envs are run.
_NOT_OF_A_PROTOCOL: Final = ("id", "family", "protocol", *NOT_THE_GAME)


def check_recipe(source: recipes.Source) -> None:
    _raise_first(recipe_problems(source))


def check_family(source: recipes.Source) -> None:
    _raise_first(family_problems(source))


def check_protocol(source: recipes.Source) -> None:
    _raise_first(protocol_problems(source))


def check_defaults(source: recipes.Source) -> None:
    _raise_first(defaults_problems(source))


def _raise_first(problems: Iterator[str]) -> None:
    for problem in problems:
        raise UserError(problem)


def recipe_problems(source: recipes.Source) -> Iterator[str]:
    yield from _top(source, recipes.TOP_KEYS)
    yield from _text(source, "family")
    yield from _sections(source, ("base",))
    names = recipes.variants(source)
    if not names and isinstance(source.data.get("variants", {}), Mapping):
        yield f"{source.where('variants')}: a recipe needs `variants`, one at least"
    for name in names:
        keys = ("variants", name)
        if not isinstance(source.data["variants"][name], Mapping):
            yield f"{source.where(*keys)}: variant {name} should be a map of settings"
            continue
        yield from _sections(source, keys, also=recipes.VARIANT_EXTRAS)
        yield from _text(source, *keys, "description")


def family_problems(source: recipes.Source) -> Iterator[str]:
    yield from _top(source, recipes.FAMILY_KEYS)
    yield from _sections(source, ("base",))
    yield from _text(source, "defaults")
    yield from _text(source, "protocol")
    patterns = source.data.get("matches", [])
    if not (isinstance(patterns, list) and all(isinstance(p, str) for p in patterns)):
        wish = "matches should be a list of patterns such as [CartPole-v*]"
        yield f"{source.where('matches')}: {wish}, got {shown(patterns)}"


def defaults_problems(source: recipes.Source) -> Iterator[str]:
    yield from _top(source, recipes.DEFAULTS_KEYS)
    yield from _text(source, "title")
    yield from _sections(source, ("base",))
    if "short" in source.data:
        yield from _short_problems(source)


def _short_problems(source: recipes.Source) -> Iterator[str]:
    """`short: {below: 100_000, base: …}`: settings for a budget of fewer env steps."""
    short = source.data["short"]
    if not isinstance(short, Mapping) or set(short) != {"below", "base"}:
        wish = "short should be a map with `below`, a number of env steps, and `base`"
        yield f"{source.where('short')}: {wish}, got {shown(short)}"
        return
    if not isinstance(short["below"], int) or short["below"] < 1:
        wish = "below should be a number of env steps"
        yield f"{source.where('short', 'below')}: {wish}, got {shown(short['below'])}"
    yield from _sections(source, ("short", "base"))


def protocol_problems(source: recipes.Source) -> Iterator[str]:
    """Game settings of one family, and no more."""
    yield from _top(source, recipes.PROTOCOL_KEYS)
    family = source.data.get("family")
    if family is not None and not isinstance(family, str):
        yield from _text(source, "family")
    elif family is None or not plugins.exists("envs", family):
        names = plugins.did_you_mean(str(family), plugins.names("envs"))
        missing = "a protocol needs `family`" if family is None else f"unknown family '{family}'"
        yield f"{source.where('family')}: {missing}{names}"
    yield from _sections(source, ("base",))
    for key in source.section("base"):
        if key in RunConfig.model_fields and key not in ("env", "reward"):
            yield f"{source.where('base', key)}: a protocol sets env and reward only"
    for key in source.section("base", "env"):
        if key in _NOT_OF_A_PROTOCOL:
            place = source.where("base", "env", key)
            yield f"{place}: env.{key} is no part of a protocol; it goes into recipes"


def _top(source: recipes.Source, allowed: Sequence[str]) -> Iterator[str]:
    for key, value in source.data.items():
        if key not in allowed:
            theirs = synonyms.hint(str(key), value, source.section("base"))
            hint = f"; {theirs}" if theirs else plugins.did_you_mean(str(key), allowed)
            yield f"{source.where(key)}: {key} is not a key of this file{hint}"
        elif key in ("base", "variants") and not isinstance(value, Mapping):
            wish = "a map of settings" if key == "base" else "a map of variants"
            yield f"{source.where(key)}: {key} should be {wish}, got {shown(value)}"
    yield from _text(source, "description")


def _text(source: recipes.Source, *keys: str) -> Iterator[str]:
    value = tree.value_at(source.data, keys)
    if value is not None and not isinstance(value, str):
        yield f"{source.where(*keys)}: {keys[-1]} should be text, got {shown(value)}"


def _sections(
    source: recipes.Source, keys: tuple[str, ...], also: Sequence[str] = ()
) -> Iterator[str]:
    """Unknown sections, found here because only here it is known what else may stand there."""
    data = source.section(*keys)
    for key in data:
        if key not in also and key not in RunConfig.model_fields:
            sentence = errors.unknown_key((key,), data, RunConfig, also)
            yield f"{source.where(*keys, key)}: {sentence}"
