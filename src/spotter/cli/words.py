"""Numbers for people."""


def count(value: int) -> str:
    """31232 → `31,232`."""
    return f"{value:,}"


def number(value: float) -> str:
    """Scores and thresholds: `475`, `-13.25`, `0.7`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """`11.2 s`, `3 min 05 s`, `2 h 07 min`."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def plural(value: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"
