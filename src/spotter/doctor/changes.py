"""Changes to a run's settings, as overrides that are ready to use and computed from what it has.

`checked` drops what the strict config would refuse, so that no advice fails when it is followed.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from spotter.config import RunConfig, changed, resolve, tree
from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.config.foreign import is_recipe
from spotter.doctor.case import Case
from spotter.schedules import Schedule
from spotter.types import UserError

_NOT_WRITTEN = ("seed", "device", "threads")
_MOST_ENTROPY: Final = 0.1
_NAMED: Final = re.compile(
    r"\b(?:algo|budget|checkpoint|env|eval|policy|reward)(?:\.[a-z]\w*)+", re.ASCII
)
"""A setting in a sentence."""
_OUTSIDE_BRACES: Final = r"(?![^{]*\})"


def number(value: float) -> float:
    """Two significant digits: advice is no measurement."""
    return float(f"{value:.1e}") if math.isfinite(value) else value


def power(value: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten: 0.01, 0.02, 0.05 …"""
    if not value > 0 or not math.isfinite(value):
        return value
    exponent = math.floor(math.log10(value))
    steps = [float(f"{n}e{exponent}") for n in (1, 2, 5, 10)]
    return min(steps, key=lambda step: abs(math.log(step / value)))


def to(path: str, value: Any) -> str:
    """`algo.lr=0.0003`"""
    return f"{path}={flow(value)}"


def scaled(case: Case, path: str, factor: float) -> str:
    """A setting times a factor; of a schedule all values, so that its shape stays.

    Empty where the run has no such setting, or none that can be read.
    """
    if not case.knows(path):
        return ""
    return to(path, _scaled(_at(case.settings, path), factor))


def _at(settings: Mapping[str, Any], path: str) -> Any:
    return tree.value_at(settings, tuple(path.split(".")))


def more_entropy(case: Case) -> str:
    """A larger bonus; empty where it is large already."""
    weight = case.number("algo.entropy", 0.0)
    if weight >= _MOST_ENTROPY:
        return ""
    return to("algo.entropy", number(max(0.01, min(_MOST_ENTROPY, 3 * weight))))


def _scaled(node: Any, factor: float) -> Any:
    if isinstance(node, Mapping):
        parts = {
            key: _scaled(node[key], factor) for key in ("start", "end", "floor") if key in node
        }
        if "points" in node:
            parts["points"] = [[at, number(value * factor)] for at, value in node["points"]]
        return {**node, **parts}
    return number(float(node) * factor)


def whole(value: float) -> int:
    return max(1, round(value))


def checked(case: Case, overrides: Sequence[str]) -> tuple[str, ...]:
    """The overrides, or none of them where the run's config would not take them together."""
    wanted = tuple(filter(None, overrides))
    if case.config is None or not wanted:
        return ()
    try:
        after = changed(case.config, wanted)
    except UserError:
        return ()
    return wanted if after != case.config else ()


def directions(case: Case, overrides: Sequence[str]) -> dict[str, bool]:
    """Numbers that these changes raise (True) or lower, by the name of their setting."""
    if case.config is None or not overrides:
        return {}
    after = changed(case.config, overrides).as_data()
    found = {}
    for path in (text.partition("=")[0] for text in overrides):
        was, then = _size(_at(case.settings, path)), _size(_at(after, path))
        if was != then and math.isfinite(was) and math.isfinite(then):
            found[path] = then > was
    return found


def _size(setting: Any) -> float:
    """A number, or the mean of a schedule's; NaN for anything else."""
    if isinstance(setting, Mapping) and {"start", "points"} & set(setting):
        return fmean(Schedule.model_validate(setting).values())
    return float(setting) if isinstance(setting, int | float) else math.nan


def fitting(case: Case, text: str) -> str:
    """Advice without the clauses that name a setting the run's algorithm does not have."""
    if case.config is None or all(map(case.knows, _NAMED.findall(text))):
        return text
    sentences = (_without_unknown(case, one) for one in re.split(r"(?<=[.?!]) ", text))
    return " ".join(filter(None, sentences))


def _without_unknown(case: Case, sentence: str) -> str:
    kept = []
    for part in sentence.rstrip(".").split("; "):
        clauses = re.split(rf", {_OUTSIDE_BRACES}", part)
        fit = [one for one in clauses if all(map(case.knows, _NAMED.findall(one)))]
        kept.append(", ".join(fit))
    joined = "; ".join(filter(None, kept)).removeprefix("or ")
    names = _NAMED.match(joined)
    end = "" if joined.endswith(("?", "!")) else "."
    return f"{joined if names else joined[:1].upper() + joined[1:]}{end}" if joined else ""


def command(case: Case, overrides: Sequence[str]) -> str | None:
    """The command line that trains the same again with these changes."""
    if case.config is None:
        return None
    address = str(case.info.get("address") or case.config.env.id)
    if not case.trusted and not is_recipe(address):
        return None
    try:
        own = overrides_of(case.config, address)
    except UserError:
        return None
    touched = {text.partition("=")[0] for text in overrides}
    kept = [text for text in own if not _is_below(text.partition("=")[0], touched)]
    return shlex.join(["spotter", "train", address, *kept, *overrides, *_start(case)])


def _start(case: Case) -> list[str]:
    """A run that began with another's weights needs them again."""
    parent = case.info.get("parent")
    if not parent:
        return []
    step = re.fullmatch(r"step-0*(\d+)", str(parent.get("checkpoint") or ""))
    source = f"{parent['run']}/step={step[1]}" if step else str(parent["run"])
    return ["--from", source, *(["--fresh-optimizer"] if parent.get("fresh_optimizer") else [])]


def overrides_of(config: RunConfig, address: str) -> list[str]:
    """What was changed in a config on top of what its address stands for."""
    differ = difference(resolve(address).config.as_data(), config.as_data())
    return [to(path, after) for path, (_, after) in differ.items() if path not in _NOT_WRITTEN]


def _is_below(path: str, others: set[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") for other in others)
