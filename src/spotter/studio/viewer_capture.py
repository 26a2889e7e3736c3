"""Capturing for the inspector, in the worker: tells how far it is, and can be stopped."""

from collections.abc import Callable
from typing import Any, Final

_REPORT_EVERY: Final = 50  # steps


def capture(report: Callable[[Any], bool] | None = None, **how: Any) -> str:
    """`spotter.traces.capture.capture_to_disk`; the folder of the new episode."""
    from spotter.traces.capture import capture_to_disk

    return capture_to_disk(on_step=telling(report), **how)


def telling(report: Callable[[Any], bool] | None) -> Callable[[int], bool] | None:
    """Reports now and then, for every message costs; False, once nobody waits any more."""
    if report is None:
        return None
    return lambda steps: report(steps) if steps % _REPORT_EVERY == 0 else True
