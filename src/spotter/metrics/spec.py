"""A metric is declared before it is written; table, charts, alerts and docs read the same entry."""

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric, or a family of them where `key` holds a `*`."""

    key: str
    meaning: str
    unit: str = ""
    better: Literal["high", "low"] | None = None
    low: float | None = None
    high: float | None = None
    """Bounds the value cannot leave if the code is right."""
    precision: int = 3
    """Decimals in tables; files keep every digit."""
    shown: bool = False
    """In the live table."""
    priority: int = 100
    """Order in tables and summaries, small first."""
    advice: str = ""
    """What to try when it looks wrong."""


class Catalogue:
    """Every metric a run may write."""

    def __init__(self, specs: Iterable[MetricSpec]) -> None:
        self._exact: dict[str, MetricSpec] = {}
        self._matched: dict[str, MetricSpec] = {}
        self._patterns: list[MetricSpec] = []
        for spec in specs:
            if "*" in spec.key:
                self._patterns.append(spec)
            else:
                assert spec.key not in self._exact, f"metric {spec.key} is declared twice"
                self._exact[spec.key] = spec

    def find(self, key: str) -> MetricSpec | None:
        """The entry of a metric; one with its full name goes before a family."""
        found = self._exact.get(key) or self._matched.get(key)
        if found is None:
            for spec in self._patterns:
                if fnmatch.fnmatchcase(key, spec.key):
                    found = self._matched[key] = spec
                    break
        return found

    def __iter__(self) -> Iterator[MetricSpec]:
        yield from (*self._exact.values(), *self._patterns)
