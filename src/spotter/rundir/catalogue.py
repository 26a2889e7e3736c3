"""What the metrics of runs mean."""

import sys
from collections.abc import Iterable

from spotter import plugins
from spotter.metrics import common
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.types import UserError


def catalogue(algos: Iterable[str]) -> Catalogue:
    """Those every run shares, and those of these algorithms.

    One that is not installed says nothing, and no module is imported that only a run names.
    """
    found: dict[str, MetricSpec] = {spec.key: spec for spec in common.METRICS}
    for algo in algos:
        if algo in plugins.names("algos") or algo in sys.modules:
            try:
                found |= {spec.key: spec for spec in plugins.load("algos", algo).METRICS}
            except (UserError, ImportError, AttributeError, TypeError):
                continue
    return Catalogue(found.values())
