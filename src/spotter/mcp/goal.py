"""The score at which a run counts as solved: as it was scored, else as it will be."""

import re
from typing import Final

from spotter.config.tree import value_at
from spotter.launch.local import tail
from spotter.mcp import safe
from spotter.rundir.run import Run
from spotter.types import UserError

_WRITTEN: Final = re.compile(r'"threshold": ?(-?[\d.]+(?:e[+-]?\d+)?)')
_GLIMPSE_BYTES: Final = 1 << 15


def threshold(run: Run, trust: bool) -> float | None:
    """Of its latest evaluation; before there is one, the config's or the environment's own."""
    for event in reversed(run.evaluations()):
        if isinstance(level := event.get("threshold"), int | float):
            return float(level)
    try:
        return _expected(run, trust)
    except (UserError, ImportError):  # a stranger's, or an environment that is not installed here
        return None


def glimpsed(run: Run) -> float | None:
    """From the end of the events alone: cheap enough for a list of runs."""
    found = _WRITTEN.findall(tail(run.events_path, _GLIMPSE_BYTES))
    return float(found[-1]) if found else None


def _expected(run: Run, trust: bool) -> float | None:
    settings = run.settings()
    own = value_at(settings, ("env", "threshold"))
    if isinstance(own, int | float):
        return float(own)
    safe.check_run(run, trust)
    from spotter.config import validate
    from spotter.envs.base import threshold as of_env

    return of_env(validate(settings).env)
