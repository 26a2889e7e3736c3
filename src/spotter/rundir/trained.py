"""Which settings a run was trained with, and for how many env steps each.

config.yaml holds the last ones only; run.json says what every resume changed, and when. Settings
that learning does not depend on (budget, evaluation, videos …) are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotter.config import NOT_THE_GAME
from spotter.config.dump import flow

_BESIDE_LEARNING: Final = (
    *("budget", "eval", "checkpoint", "video", "alerts", "sinks", "launch", "device", "threads"),
    *(f"env.{name}" for name in NOT_THE_GAME if name != "count"),
    *("policy.engine", "policy.precision"),
)


@dataclass(frozen=True)
class Span:
    """So many env steps in a row with one value."""

    value: Any
    env_steps: int


Changed = Mapping[str, tuple[Span, ...]]
"""Setting -> its values in the order of training; the last one stands in config.yaml."""


def changed(info: Mapping[str, Any]) -> Changed:
    """Settings that were not the same all the way; empty for nearly every run."""
    end = _end(info)
    found: dict[str, list[tuple[int, Any]]] = {}
    for resume in info["resumes"]:
        for name, (before, after) in pairs(resume).items():
            if _is_beside(name):
                continue
            found.setdefault(name, [(0, before)]).append((_steps(resume), after))
    spans = {name: _spans(values, end) for name, values in found.items()}
    return {name: several for name, several in spans.items() if len(several) > 1}


def _end(info: Mapping[str, Any]) -> int:
    """How far it is; run.json may be a few seconds behind the last resume."""
    return max([int(info["env_steps"]), *(_steps(resume) for resume in info["resumes"])])


def _steps(resume: Mapping[str, object]) -> int:
    steps = resume.get("env_steps")
    return steps if isinstance(steps, int) else 0


def pairs(resume: Mapping[str, object]) -> dict[str, Sequence[object]]:
    """What one resume changed: setting -> before and after."""
    written = resume.get("changes")
    return {
        name: pair
        for name, pair in (written.items() if isinstance(written, Mapping) else ())
        if isinstance(pair, list | tuple) and len(pair) == 2
    }


def _is_beside(name: str) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in _BESIDE_LEARNING)


def _spans(values: Sequence[tuple[int, object]], end: int) -> tuple[Span, ...]:
    """Without values nothing was trained with, unless it is the one that stands in config.yaml."""
    ends = [start for start, _ in values[1:]] + [end]
    found: list[Span] = []
    for place, ((start, value), stop) in enumerate(zip(values, ends, strict=True)):
        steps = max(0, stop - start)
        if found and found[-1].value == value:
            found[-1] = Span(value, found[-1].env_steps + steps)
        elif steps or place == len(values) - 1:
            found.append(Span(value, steps))
    return tuple(found)


def words(spans: Sequence[Span]) -> str:
    """`0.3 for 30,208 env steps then 0.98 for 3,072`"""
    first, *later = spans
    parts = [f"{flow(first.value)} for {first.env_steps:,} env steps"]
    parts += [f"{flow(span.value)} for {span.env_steps:,}" for span in later]
    return " then ".join(parts)


def warning(run_id: str, info: Mapping[str, object]) -> str:
    """A sentence about what config.yaml does not show; empty where it shows everything."""
    end = _end(info)
    reported = [
        f"{span.env_steps:,} of {end:,} env steps with {name}={flow(span.value)}"
        for name, spans in changed(info).items()
        for span in spans
        if span.value != spans[-1].value
    ]
    return f"{run_id} trained {', '.join(reported)}" if reported else ""


def mostly(settings: Mapping[str, object], ways: Changed) -> dict[str, object]:
    """`settings` with the values that most env steps were trained with; of equals, the later.

    Arguments of the environment stay: there, null may stand for one that was not given at all.
    """
    found = dict(settings)
    for name, spans in ways.items():
        if not name.startswith("env.kwargs."):
            found = _with(found, name.split("."), _commonest(spans))
    return found


def _commonest(spans: Sequence[Span]) -> object:
    def steps(span: Span) -> int:
        return sum(other.env_steps for other in spans if other.value == span.value)

    return max(reversed(spans), key=steps).value


def _with(section: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    key, *rest = path
    inner = section.get(key)
    if not rest:
        return {**section, key: value}
    return {**section, key: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
