"""Capturing for the inspector, in the worker: reports progress, and can be stopped."""

from collections.abc import Callable
from typing import Any, Final

from spotter.types import UserError

_REPORT_EVERY: Final = 50  # steps


def capture(report: Callable[[object], bool] | None = None, **how: Any) -> str:
    """`spotter.episodes.capture.capture_to_disk`; the folder of the new episode."""
    from spotter.episodes.capture import capture_to_disk

    return capture_to_disk(on_step=telling(report), **how)


def telling(report: Callable[[object], bool] | None) -> Callable[[int], bool] | None:
    """Reports now and then, because every message costs time; an abandoned episode is not kept."""
    if report is None:
        return None

    def tell(steps: int) -> bool:
        if steps % _REPORT_EVERY == 0 and not report(steps):
            raise UserError("the episode was cancelled")
        return True

    return tell
