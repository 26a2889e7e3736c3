"""Writes docs/reference/metrics.md from the catalogue; a test compares the two.

python docs/reference/metrics_page.py
"""

from collections.abc import Iterable
from pathlib import Path

from spotter import plugins
from spotter.metrics import common
from spotter.metrics.spec import MetricSpec

INTRODUCTION = """\
# Metrics

Every number a run may write, as declared in `metrics/common.py` and each algorithm's `METRICS`;
this page is made from them by `python docs/reference/metrics_page.py`. A name that is not declared
stops the run. Both axes, env steps and vector steps, come with every row of `metrics.jsonl`.

**Bounds** are hard: a value beyond them is a bug, and the alert
[out-of-bounds](../troubleshooting.md#out-of-bounds) says so. More follow from the run: entropy
cannot exceed the logarithm of the number of actions, rewards cannot exceed `reward.clip`. Spread
is always a standard deviation. A **•** marks what the live table shows; files and other sinks have
everything, at full precision.
"""


def page() -> str:
    """The whole page."""
    sections = [("Every algorithm", common.METRICS)]
    for name in plugins.names("algos"):
        metrics = plugins.load("algos", name).METRICS
        if metrics:
            sections.append((f"Only {name}", metrics))
    return "\n".join(
        [INTRODUCTION, *(f"## {title}\n\n{table(specs)}" for title, specs in sections)]
    )


def table(specs: Iterable[MetricSpec]) -> str:
    lines = ["| metric | meaning | better | bounds | | what to try |", "|---|---|---|---|---|---|"]
    for spec in sorted(specs, key=lambda spec: spec.priority):
        unit = f" ({spec.unit})" if spec.unit else ""
        cells = [f"`{spec.key}`", f"{spec.meaning}{unit}", spec.better or "", _bounds(spec)]
        lines.append(f"| {' | '.join([*cells, '•' if spec.shown else '', spec.advice])} |")
    return "\n".join(lines) + "\n"


def _bounds(spec: MetricSpec) -> str:
    if spec.low is None and spec.high is None:
        return ""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (spec.low, spec.high))
    return f"{low} … {high}".strip()


if __name__ == "__main__":
    Path(__file__).with_name("metrics.md").write_text(page(), encoding="utf-8")
