"""Advice in words that fits a run: no setting its algorithm lacks, none that is so already."""

import re
from typing import Any, Final

from spotter.config import changed
from spotter.doctor.case import Case
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


def fitting(case: Case, text: str) -> str:
    """Advice without clauses about what the run does not have, or has already."""
    if case.config is None or not _NAMED.search(text):
        return text
    sentences = (_sentence(case, one) for one in re.split(r"(?<=[.?!]) ", text))
    return " ".join(filter(None, sentences))


def _sentence(case: Case, sentence: str) -> str:
    kept = []
    for part in sentence.rstrip(".").split("; "):
        clauses = re.split(rf", {_OUTSIDE_BRACES}", part)
        kept.append(", ".join(filter(None, (_clause(case, one) for one in clauses))))
    joined = "; ".join(filter(None, kept)).removeprefix("or ")
    names = _NAMED.match(joined)
    end = "" if joined.endswith(("?", "!")) else "."
    return f"{joined if names else joined[:1].upper() + joined[1:]}{end}" if joined else ""


def _clause(case: Case, clause: str) -> str:
    """Of several ways to do one thing, those that are open."""
    verb = _VERB.match(clause)
    ways = re.split(rf" or {_OUTSIDE_BRACES}", clause)
    is_open = [_is_open(case, way, verb[1].lower() if verb else "") for way in ways]
    if all(is_open):
        return clause
    left = " or ".join(way for way, good in zip(ways, is_open, strict=True) if good)
    return f"{verb[0]} {left}" if left and verb and not is_open[0] else left


def _is_open(case: Case, words: str, verb: str) -> bool:
    for path, value in _WITH_VALUE.findall(words):
        if not _changes(case, f"{path}={value}"):
            return False
    bare = _NAMED.findall(_WITH_VALUE.sub("", words))
    return all(case.knows(path) and not _is_so(case, path, verb) for path in bare)


def _changes(case: Case, override: str) -> bool:
    assert case.config is not None
    try:
        return changed(case.config, [override]) != case.config
    except UserError:
        return False


def _is_so(case: Case, path: str, verb: str) -> bool:
    now: Any = case.setting(path)
    if verb in ("", "set", "keep"):
        return path in _SWITCHES and bool(now)
    least = 1.0 if path == "algo.epochs" else 0.0
    return isinstance(now, int | float) and now <= least
