"""Whether two stored episodes are one: what the same policy played under the same circumstances."""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spotter.episodes.format import Trace


def signature(trace: "Trace") -> tuple[object, ...]:
    """Equal for episodes that are copies of each other: who played what, and all that came of it.

    Observations stay out: they are large, and what the policy thought of them is in.
    """
    meta, digest = trace.meta, hashlib.sha256()
    for name in sorted(name for name in trace.columns if not name.startswith("obs/")):
        column = trace.columns[name]
        digest.update(f"{name} {column.dtype} {column.shape} ".encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    who = (meta.run, meta.checkpoint, meta.mode, meta.seed, meta.fingerprint, meta.changes)
    return (*who, meta.length, meta.end, meta.warnings, digest.hexdigest())
