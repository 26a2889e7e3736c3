"""The columns of a list of runs, and which runs a query means.

A query is words: plain text is looked for in id, recipe, status, group and tags;
`env=CartPole-v1`, `score>100`, `solved=true`, `tag=baseline`, `group=NAME`, `created>2026-11-01`
compare a column, `algo.lr=1e-4` and `algo.gamma>0.98` a setting; all must hold.
"""

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from spotter.config import recipes
from spotter.rundir import identity, settings
from spotter.rundir.identity import Info
from spotter.types import UserError

Kind = Literal["text", "number", "bool", "time", "list"]


@dataclass(frozen=True)
class Column:
    kind: Kind
    of: Callable[[Info], Any]


def _field(name: str, kind: Kind) -> Column:
    return Column(kind, operator.itemgetter(name))


COLUMNS: Final[dict[str, Column]] = {
    "id": _field("id", "text"),
    "recipe": _field("address", "text"),
    "env": _field("env", "text"),
    "algo": _field("algo", "text"),
    "seed": _field("seed", "number"),
    "group": _field("group", "text"),
    "status": _field("status", "text"),
    "reason": _field("reason", "text"),
    "solved": _field("solved", "bool"),
    "score": _field("score", "number"),
    "best": _field("best", "number"),
    "env_steps": _field("env_steps", "number"),
    "vector_steps": _field("vector_steps", "number"),
    **{name: _field(name, "number") for name in identity.REACHED},
    "threshold": _field("threshold", "number"),
    "seconds": Column("number", identity.seconds),
    "created": _field("created", "time"),
    "heartbeat": _field("heartbeat", "time"),
    "ended": _field("ended", "time"),
    "by": _field("by", "text"),
    "host": _field("host", "text"),
    "tags": _field("tags", "list"),
    "parent": Column("text", lambda info: (info["parent"] or {}).get("run")),
    "resumes": Column("number", lambda info: len(info["resumes"])),
    "protocol": _field("protocol", "text"),
    "fingerprint": _field("fingerprint", "text"),
    "grade": Column("text", lambda info: (info["resume_grade"] or {}).get("grade")),
    "foreign": _field("foreign", "bool"),
    "why": _field("why", "text"),
}
_ALIASES: Final = {"tag": "tags"}
_FILTER: Final = re.compile(r"([A-Za-z_][\w.]*)(!=|>=|<=|=|>|<)(.*)", re.DOTALL)
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_BOOLS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def row(info: Info) -> dict[str, Any]:
    """A run as plain values, one per column."""
    return {name: column.of(info) for name, column in COLUMNS.items()}


def matching(infos: Iterable[Info], words: Sequence[str]) -> list[Info]:
    """The runs that all words fit."""
    infos = list(infos)
    tests = [_test(word, infos) for word in words]
    return [info for info in infos if all(test(info) for test in tests)]


def _test(word: str, infos: Sequence[Info]) -> Callable[[Info], bool]:
    match = _FILTER.fullmatch(word)
    if not match:
        return lambda info: word.lower() in _searchable(info)
    key, sign, text = match.groups()
    column = COLUMNS.get(_ALIASES.get(key, key))
    if column is None:
        return _test_of_setting(key, sign, text, infos)
    if not text:
        missing = _missing(key, sign)
        return lambda info: (column.of(info) in (None, "", [])) == missing
    wanted = _wanted(key, sign, text, column.kind)
    compare = _comparison(sign, column.kind)
    return lambda info: (value := column.of(info)) is not None and compare(value, wanted)


def _test_of_setting(
    key: str, sign: str, text: str, infos: Sequence[Info]
) -> Callable[[Info], bool]:
    if key not in settings.known(infos):
        raise UserError(settings.unknown(key, COLUMNS, infos))
    values = {name: found.get(key) for name, found in settings.of_runs(infos).items()}
    if not text:
        missing = _missing(key, sign)
        return lambda info: (values.get(info["id"]) is None) == missing
    wanted = recipes.plain(recipes.parse(text, key, lines=False))
    number = settings.number_of(wanted)
    if number is not None:
        order = _COMPARE[sign]
        return lambda info: (
            (value := settings.number_of(values.get(info["id"]))) is not None
            and order(value, number)
        )
    if sign not in ("=", "!="):
        raise UserError(f"{key}{sign} is compared with a number, got '{text}'")
    if isinstance(wanted, str):
        return lambda info: _like(str(values.get(info["id"])), wanted) == (sign == "=")
    return lambda info: (values.get(info["id"]) == wanted) == (sign == "=")


def _searchable(info: Info) -> str:
    words = (info["id"], info["address"], info["status"], info["group"], *info["tags"])
    return " ".join(words).lower()


def _missing(key: str, sign: str) -> bool:
    """`parent=` means none, `parent!=` means any."""
    if sign not in ("=", "!="):
        raise UserError(f"'{key}{sign}' needs something to compare with")
    return sign == "="


def _wanted(key: str, sign: str, text: str, kind: Kind) -> object:
    if sign not in ("=", "!=") and kind not in ("number", "time"):
        raise UserError(f"{key} has no order; write {key}={text} or {key}!={text}")
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            raise UserError(f"{key} is compared with a number, got '{text}'") from None
    if kind == "bool":
        if text.lower() not in _BOOLS:
            raise UserError(f"{key} is true or false, got '{text}'")
        return _BOOLS[text.lower()]
    return text


def _comparison(sign: str, kind: Kind) -> Callable[[Any, Any], bool]:
    """Text ignores case and may hold `*`; a time is compared as far as it was written."""
    if kind in ("number", "bool"):
        return _COMPARE[sign]
    if kind == "time":
        compare = _COMPARE[sign]
        return lambda value, wanted: compare(value[: len(wanted)], wanted)
    equal = _any_like if kind == "list" else _like
    return equal if sign == "=" else lambda value, wanted: not equal(value, wanted)


def _like(value: str, wanted: str) -> bool:
    return fnmatch.fnmatchcase(value.lower(), wanted.lower())


def _any_like(values: Iterable[str], wanted: str) -> bool:
    return any(_like(value, wanted) for value in values)
