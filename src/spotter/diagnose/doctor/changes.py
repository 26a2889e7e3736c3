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
from spotter.diagnose.doctor.case import Case
from spotter.schedules import Schedule
from spotter.types import UserError

_NOT_WRITTEN = ("seed", "device", "threads")
_MOST_ENTROPY: Final = 0.1
USUAL_RETURN: Final = 10.0
LARGE_RETURN: Final = 300.0
"""Beyond it a critic without normalisation has trouble."""


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


def to(path: str, value: object) -> str:
    """`algo.lr=0.0003`"""
    return f"{path}={flow(value)}"


def scaled(case: Case, path: str, factor: float) -> str:
    """A setting times a factor; of a schedule all values, so that its shape stays.

    Empty where the run has no such setting, or none that can be read.
    """
    if not case.knows(path):
        return ""
    return to(path, _scaled(_at(case.settings, path), factor))


def _at(settings: Mapping[str, object], path: str) -> object:
    return tree.value_at(settings, tuple(path.split(".")))


def more_entropy(case: Case) -> str:
    """A larger bonus; empty where it is large already."""
    weight = case.number("algo.entropy", 0.0)
    if weight >= _MOST_ENTROPY:
        return ""
    return to("algo.entropy", number(max(0.01, min(_MOST_ENTROPY, 3 * weight))))


def _scaled(node: Any, factor: float) -> object:
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
        after = changed(case.config, wanted).as_data()
    except UserError:
        return ()
    return tuple(one for one in wanted if _at(after, name(one)) != _at(case.settings, name(one)))


def name(override: str) -> str:
    """The setting it changes."""
    return override.partition("=")[0]


def as_in_recipe(case: Case, overrides: Sequence[str]) -> tuple[str, ...]:
    """The recipe's own value where the run overrides it and the change goes the same way."""
    known = case.recipe.overridden
    of_another_rule = {"algo.lr", "algo.critic_lr"} if "algo.optimizer" in known else set()
    back = {
        one: known[name(one)].change
        for one in overrides
        if name(one) in known and name(one) not in of_another_rule
    }
    return tuple(
        back[one] if one in back and _same_way(case, one, back[one]) else one for one in overrides
    )


def _same_way(case: Case, change: str, back: str) -> bool:
    if not checked(case, [back]):
        return False
    wanted, usual = directions(case, [change]), directions(case, [back])
    return wanted == usual or not wanted or not usual


def with_scale(case: Case, overrides: Sequence[str]) -> tuple[str, ...]:
    """Another discount makes returns larger: a scale of rewards that they fit goes with it."""
    gamma = next((one for one in overrides if name(one) == "algo.gamma"), None)
    fixed = case.setting("reward.normalize") or case.setting("policy.normalize_values")
    scales = any(name(one) == "reward.scale" for one in overrides)
    if case.config is None or gamma is None or fixed or scales or not checked(case, [gamma]):
        return tuple(overrides)
    after = largest_gamma(changed(case.config, [gamma]))
    size = returns_at(case, after)
    if not size > LARGE_RETURN:
        return tuple(overrides)
    usual = case.recipe.overridden.get("reward.scale")
    scale = to("reward.scale", power(case.number("reward.scale", 1.0) * USUAL_RETURN / size))
    return (*overrides, usual.change if usual and case.recipe.solves else scale)


def returns_at(case: Case, gamma: float) -> float:
    """The size of returns with another discount: their mean grows with the horizon, their spread
    with its root."""
    length = max(1.0, case.late("train/length"))

    def horizon(discount: float) -> float:
        return length if discount >= 1 else min(length, 1 / (1 - discount))

    times = horizon(gamma) / horizon(case.number("algo.gamma"))
    mean, spread = abs(case.late("return/mean")), case.late("return/std")
    return max(mean * times, spread * math.sqrt(times))


def largest_gamma(config: RunConfig) -> float:
    return max(config.algo.gamma.values())


def directions(case: Case, overrides: Sequence[str]) -> dict[str, bool]:
    """Numbers that these changes raise (True) or lower, by the name of their setting."""
    if case.config is None or not overrides:
        return {}
    after = changed(case.config, overrides).as_data()
    found = {}
    for path in map(name, overrides):
        was, then = _size(_at(case.settings, path)), _size(_at(after, path))
        if was != then and math.isfinite(was) and math.isfinite(then):
            found[path] = then > was
    return found


def _size(setting: object) -> float:
    """A number, or the mean of a schedule's; NaN for anything else."""
    if isinstance(setting, Mapping) and {"start", "points"} & set(setting):
        return fmean(Schedule.model_validate(setting).values())
    return float(setting) if isinstance(setting, int | float) else math.nan


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
    touched = {name(text) for text in overrides}
    kept = [text for text in own if not _is_below(name(text), touched)]
    usual = {one.change for one in case.recipe.overridden.values()}
    wanted = [text for text in overrides if text not in usual]  # the address has it already
    return shlex.join(["spotter", "train", address, *kept, *wanted, *start_words(case.info)])


def start_words(info: Mapping[str, Any]) -> list[str]:
    """A run that began with another's weights needs them again."""
    parent = info.get("parent")
    if not parent:
        return []
    step = re.fullmatch(r"step-0*(\d+)", str(parent.get("checkpoint") or ""))
    source = f"{parent.get('run', '')}{f'/step={step[1]}' if step else ''}"
    typed = "--fresh-optimizer" in info.get("command", ())  # older runs did not write it down
    fresh = parent.get("fresh_optimizer", typed)
    return ["--from", source, *(["--fresh-optimizer"] if fresh else [])]


def overrides_of(config: RunConfig, address: str) -> list[str]:
    """What was changed in a config on top of what its address stands for."""
    differ = difference(resolve(address).config.as_data(), config.as_data())
    return [to(path, after) for path, (_, after) in differ.items() if path not in _NOT_WRITTEN]


def _is_below(path: str, others: set[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") for other in others)
