"""Changes to a run's settings, as overrides that are ready to use and computed from what it has.

`checked` drops what the strict config would refuse, so that no advice fails when it is followed.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from spotter.config import RunConfig, changed, resolve
from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.doctor.case import Case
from spotter.types import UserError

_NOT_WRITTEN = ("seed", "device", "threads")


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
    """A setting times a factor; of a schedule all values, so that its shape stays."""
    node: Any = case.settings
    for part in path.split("."):
        node = node[part]
    return to(path, _scaled(node, factor))


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
    if case.config is None or not overrides:
        return ()
    try:
        after = changed(case.config, overrides)
    except UserError:
        return ()
    return tuple(overrides) if after != case.config else ()


def command(case: Case, overrides: Sequence[str]) -> str | None:
    """The command line that trains the same again with these changes."""
    if case.config is None:
        return None
    address = str(case.info.get("address") or case.config.env.id)
    try:
        own = overrides_of(case.config, address)
    except UserError:
        return None
    touched = {text.partition("=")[0] for text in overrides}
    kept = [text for text in own if not _is_below(text.partition("=")[0], touched)]
    return shlex.join(["spotter", "train", address, *kept, *overrides])


def overrides_of(config: RunConfig, address: str) -> list[str]:
    """What was changed in a config on top of what its address stands for."""
    differ = difference(resolve(address).config.as_data(), config.as_data())
    return [to(path, after) for path, (_, after) in differ.items() if path not in _NOT_WRITTEN]


def _is_below(path: str, others: set[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") for other in others)
