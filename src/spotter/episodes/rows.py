"""A trace as rows for a CSV file."""

from collections.abc import Mapping, Sequence
from typing import Final

from spotter.episodes.format import Array, Trace
from spotter.episodes.labels import action_label, choices

_MOST_NUMBERS: Final = 32  # of an observation leaf; images stay out


def table(trace: Trace, more: Mapping[str, Array] | None = None) -> list[list[object]]:
    """Rows for a CSV file, the header first; `more` are further columns [T].

    Images and long vectors stay out. What `advantages.judged` found goes in as
    `table(trace, judged(trace).columns())`.
    """
    columns: dict[str, Sequence[object]] = {
        "step": range(trace.meta.length),
        "action": [action_label(trace, t) for t in range(trace.meta.length)],
    }
    parts = {"part": trace.meta.parts, "info": trace.meta.info, "probability": choices(trace.meta)}
    parts["mask"] = parts["probability"]
    for name in sorted(trace.columns, key=_order):
        column = trace.columns[name]
        key = "choice" if name == "action" else name
        columns |= _flat(key, column, parts.get(name, ()))
    columns |= {name: column.tolist() for name, column in (more or {}).items()}
    return [list(columns), *(list(row) for row in zip(*columns.values(), strict=True))]


_COLUMNS: Final = (
    "action", "received", "reward", "training_reward", "value", "log_prob", "greedy",
    "probability", "mask", "part", "info",
)  # fmt: skip


def _order(name: str) -> tuple[int, str]:
    return (_COLUMNS.index(name) if name in _COLUMNS else len(_COLUMNS), name)


def _flat(name: str, column: Array, names: Sequence[str]) -> dict[str, list[object]]:
    """A column per number."""
    if column.ndim == 1:
        return {name: column.tolist()}
    flat = column.reshape(len(column), -1)
    if flat.shape[1] > _MOST_NUMBERS and not names:
        return {}
    labels = names if len(names) == flat.shape[1] else range(flat.shape[1])
    return {f"{name}/{label}": flat[:, i].tolist() for i, label in enumerate(labels)}
