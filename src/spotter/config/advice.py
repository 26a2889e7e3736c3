"""Advice in words that fits a config: no setting its algorithm lacks, none that is so already."""

import re
from collections.abc import Mapping
from typing import Final

from spotter.config.load import changed
from spotter.config.models import RunConfig
from spotter.schedules import Schedule
from spotter.types import UserError

_NAMED: Final = re.compile(
    r"\b(?:algo|budget|checkpoint|env|eval|policy|reward)(?:\.[a-z]\w*)+", re.ASCII
)
"""A setting in a sentence."""
_VALUE: Final = r"\{[^}]*\}|\[[^\]]*\]|-?\d[\d.e+-]*(?<!\.)|\w+"
_WITH_VALUE: Final = re.compile(rf"({_NAMED.pattern})=({_VALUE})", re.ASCII)
_VERB: Final = re.compile(r"(?:or )?(set|keep|lower|take fewer|fewer)\b", re.IGNORECASE)
_OUTSIDE_BRACES: Final = r"(?![^{]*\})"
_SWITCHES: Final = (
    *("algo.target_kl", "algo.max_grad_norm", "algo.normalize_advantage", "policy.squash"),
    *("policy.normalize_obs", "policy.normalize_values", "policy.norm", "policy.orthogonal"),
    *("reward.normalize", "reward.clip"),
)
"""Settings that are on or off, whatever their value."""


_CONDITION: Final = re.compile(r"(?:if|where) ", re.IGNORECASE)
"""What begins a clause that means nothing without the one behind it."""


def fitting(config: RunConfig, text: str) -> str:
    """Advice without clauses about what the config does not have, or has already."""
    if not _NAMED.search(text):
        return text
    sentences = (_sentence(config, one) for one in re.split(r"(?<=[.?!]) ", text))
    return " ".join(filter(None, sentences))


def settings_in(text: str) -> tuple[str, ...]:
    """The dotted names in a sentence, each once."""
    return tuple(dict.fromkeys(_NAMED.findall(text)))


def knows(settings: Mapping[str, object], path: str) -> bool:
    """Whether settings have one of that dotted name, if only as null."""
    node: object = settings
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return False
        node = node[part]
    return True


def value_of(settings: Mapping[str, object], path: str) -> object:
    """A setting by its dotted name; a schedule as its largest value. None where there is none."""
    node: object = settings
    for part in path.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    if isinstance(node, Mapping) and {"start", "points"} & set(node):
        return max(Schedule.model_validate(node).values())
    return node


def _sentence(config: RunConfig, sentence: str) -> str:
    kept = []
    for part in sentence.rstrip(".").split("; "):
        clauses = re.split(rf", {_OUTSIDE_BRACES}", part)
        open_ = [clause for one in clauses if (clause := _clause(config, one))]
        while open_ and len(clauses) > 1 and _CONDITION.match(open_[-1]):
            open_.pop()
        kept.append(", ".join(open_))
    joined = "; ".join(filter(None, kept)).removeprefix("or ")
    if not joined:
        return ""
    is_whole = sentence.endswith((".", "?", "!"))
    is_phrase = sentence[:1].islower() and not _NAMED.match(sentence)
    end = "." if is_whole and not joined.endswith(("?", "!")) else ""
    as_is = is_phrase or _NAMED.match(joined)
    return f"{joined if as_is else joined[:1].upper() + joined[1:]}{end}"


def _clause(config: RunConfig, clause: str) -> str:
    """Of several ways to do one thing, those that are open."""
    verb = _VERB.match(clause)
    ways = re.split(rf" or {_OUTSIDE_BRACES}", clause)
    is_open = [_is_open(config, way, verb[1].lower() if verb else "") for way in ways]
    if all(is_open):
        return clause
    left = " or ".join(way for way, good in zip(ways, is_open, strict=True) if good)
    return f"{verb[0]} {left}" if left and verb and not is_open[0] else left


def _is_open(config: RunConfig, words: str, verb: str) -> bool:
    for path, value in _WITH_VALUE.findall(words):
        if not _changes(config, f"{path}={value}"):
            return False
    settings = config.as_data()
    bare = _NAMED.findall(_WITH_VALUE.sub("", words))
    return all(knows(settings, path) and not _is_so(settings, path, verb) for path in bare)


def _changes(config: RunConfig, override: str) -> bool:
    try:
        return changed(config, [override]) != config
    except UserError:
        return False


def _is_so(settings: Mapping[str, object], path: str, verb: str) -> bool:
    now = value_of(settings, path)
    if verb in ("", "set", "keep"):
        return path in _SWITCHES and bool(now)
    least = 1.0 if path == "algo.epochs" else 0.0
    return isinstance(now, int | float) and now <= least
