"""From single measurements to tables: medians, spreads, ratios, the machine, the page."""

import json
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from contestants import CONTESTANTS, REFERENCE
from works import WORKS, Work

from spotter.system.machine import cores

_TITLES = {contestant.name: contestant.title for contestant in CONTESTANTS}
ENOUGH = 0.7
"""Share of a core below which wall time says more about other processes than about this one."""
_HEAD = (
    "| | steps/s, median | min – max | × SB3 | × best peer | start-up s | s to score | peak MB "
    "| steps/CPU s | × SB3 |\n|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Run:
    """One contestant's turn in one round."""

    work: str
    contestant: str
    round: int
    seed: int
    result: Mapping[str, Any]

    def speed(self) -> float | None:
        value = self.result["steps_per_s"]
        return None if value is None else float(value)

    def cpu_speed(self) -> float | None:
        """Steps per CPU second, which others on the machine hardly change."""
        seconds = self.result.get("cpu_seconds")
        return None if not seconds else float(self.result["env_steps"]) / float(seconds)


def speeds(
    runs: Sequence[Run], work: str, of: Callable[[Run], float | None] = Run.speed
) -> dict[str, dict[int, float]]:
    """Steps per second by contestant and round."""
    found: dict[str, dict[int, float]] = {}
    for run in runs:
        speed = of(run)
        if run.work == work and speed is not None:
            found.setdefault(run.contestant, {})[run.round] = speed
    return found


def least_share(runs: Sequence[Run], work: str) -> float:
    """Of a core's time that any process got which computes alone, in one thread."""
    shares = [
        float(run.result["cpu_seconds"]) / float(run.result["seconds"])
        for run in runs
        if run.work == work and WORKS[work].threads == 1 and run.result.get("cpu_seconds")
    ]
    return min(shares, default=1.0)


def ratio(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Median over rounds of the ratio within a round, so that a busy machine slows both sides."""
    both = [one[index] / other[index] for index in one if index in other]
    return statistics.median(both) if both else None


def best_peer(found: Mapping[str, Mapping[int, float]]) -> str | None:
    """The fastest of the others by its median."""
    ours = {contestant.name for contestant in CONTESTANTS if contestant.is_spotter}
    peers = {name: rounds for name, rounds in found.items() if name not in ours}
    return max(peers, key=lambda name: statistics.median(peers[name].values()), default=None)


def table(runs: Sequence[Run], work: str) -> str:
    found, rows = speeds(runs, work), [_HEAD]
    by_cpu = speeds(runs, work, Run.cpu_speed)
    if least_share(runs, work) < ENOUGH:
        found = {}
    best = best_peer(found)
    for name in _TITLES:
        results = [run.result for run in runs if run.work == work and run.contestant == name]
        if results:
            rows.append(_row(name, results, found, best, by_cpu))
    return "\n".join(rows)


def _row(
    name: str,
    results: Sequence[Mapping[str, Any]],
    found: Mapping[str, Mapping[int, float]],
    best: str | None,
    by_cpu: Mapping[str, Mapping[int, float]],
) -> str:
    rounds, cpu_rounds = found.get(name, {}), by_cpu.get(name, {})
    spread = f"{min(rounds.values()):,.0f} – {max(rounds.values()):,.0f}" if rounds else ""
    cells = [
        _TITLES[name],
        _median(rounds),
        spread,
        _times(ratio(rounds, found.get(REFERENCE, {}))),
        _times(ratio(rounds, found.get(best, {})) if best else None),
        _middle(results, "start_s"),
        _to_score(results),
        _middle(results, "peak_mb", digits=0),
        _median(cpu_rounds),
        _times(ratio(cpu_rounds, by_cpu.get(REFERENCE, {}))),
    ]
    return f"| {' | '.join(cells)} |"


def _median(rounds: Mapping[int, float]) -> str:
    return f"{statistics.median(rounds.values()):,.0f}" if rounds else ""


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _middle(results: Sequence[Mapping[str, Any]], key: str, digits: int = 1) -> str:
    values = [result[key] for result in results if result.get(key) is not None]
    return f"{statistics.median(values):.{digits}f}" if values else ""


def _to_score(results: Sequence[Mapping[str, Any]]) -> str:
    """Runs that never got there count as the slowest: the median is honest or missing."""
    if not any("to_score_s" in result and WORKS[result["work"]].score for result in results):
        return ""
    times = sorted(result["to_score_s"] or float("inf") for result in results)
    reached = [value for value in times if value != float("inf")]
    if not reached:
        return f"never (0/{len(times)})"
    middle = statistics.median(times)
    shown = f"{middle:.1f}" if middle != float("inf") else "no median"
    share = "" if len(reached) == len(times) else f", {len(reached)}/{len(times)} runs"
    return f"{shown} ({reached[0]:.1f} – {reached[-1]:.1f}{share})"


def machine() -> str:
    """One line about where this runs."""
    return (
        f"{_processor()}, {cores()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def section(runs: Sequence[Run], skipped: Mapping[str, str], work: Work, command: str) -> str:
    """What the page says about one work."""
    rounds = len({run.round for run in runs if run.work == work.name})
    plural = "s" if work.threads > 1 else ""
    here = {run.contestant for run in runs if run.work == work.name}
    notes = [f"- {c.title}: {c.note}" for c in CONTESTANTS if c.note and c.name in here]
    left_out = [f"- {_TITLES[name]}: {reason}" for name, reason in skipped.items()]
    parts = [
        f"Measured {date.today()} on {machine()}; {rounds} rounds, {work.env_steps:,} env steps, "
        f"{work.threads} thread{plural}; versions: {versions(runs, work.name)}.",
        f"`{command}`",
        table(runs, work.name),
    ]
    share = least_share(runs, work.name)
    if share < ENOUGH:
        parts.append(
            "The machine was busy, so speeds by wall time are left out: a process got as little as "
            f"{share:.0%} of a core."
        )
    if notes:
        parts.append("Not quite the same:\n\n" + "\n".join(notes))
    if left_out:
        parts.append("Left out:\n\n" + "\n".join(left_out))
    return "\n\n".join(parts)


def versions(runs: Sequence[Run], work: str) -> str:
    found = {
        f"{name} {number}"
        for run in runs
        if run.work == work
        for name, number in run.result.get("versions", {}).items()
    }
    return ", ".join(sorted(found))


def replace_section(page: str, name: str, text: str) -> str:
    """The page with the part between two markers replaced; markers that are missing are added."""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    if start not in page:
        page = f"{page.rstrip()}\n\n## {name}\n\n{start}\n{end}\n"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{text}\n{end}{after}"


def save(path: Path, runs: Sequence[Run], skipped: Mapping[str, Mapping[str, str]]) -> None:
    """Every single measurement, as it came; works that were not measured now keep theirs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    now = {run.work for run in runs}
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept = [run for run in before.get("runs", []) if run["work"] not in now]
    data = {
        "machine": machine(),
        "skipped": {**before.get("skipped", {}), **skipped},
        "runs": [*kept, *(asdict(run) for run in runs)],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
