"""Values as a run's files hold them: whatever a file says, these give the right type or None."""

import math


def number(value: object) -> float | None:
    """A float, perhaps not a finite one; None for what is no number or too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def finite(value: object) -> float | None:
    found = number(value)
    return found if found is not None and math.isfinite(found) else None


def whole(value: object) -> int | None:
    """A count; None for anything but a whole number of a size a machine can count to."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 2**63 else None


def text(value: object) -> str:
    """Empty for what is no text."""
    return value if isinstance(value, str) else ""
