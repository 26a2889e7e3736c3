"""Traces of format version 1: what they did not say, from the settings they keep."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from spotter.episodes.format import Meta

_UNITS: Final = (
    "an older episode: its actions are in the policy's units, from -1 to 1; "
    "play it again to see what the environment received"
)


def brought_up(data: Mapping[str, Any]) -> dict[str, object]:
    """The fields of `trace.json` as version 2 has them."""
    found, settings = {**data}, data.get("settings")
    algo = settings.get("algo") if isinstance(settings, Mapping) else None
    if isinstance(algo, Mapping) and algo.get("name") == "reinforce":
        found["baseline"] = algo.get("baseline", "mean")
        found["credit"] = algo.get("returns", "to_go")
        if found["baseline"] != "value":  # it was what an untrained critic said
            found["final_value"] = 0.0
    if data.get("action_kind") == "box":
        found["warnings"] = [*data.get("warnings", []), _UNITS]
    return found


def hidden(meta: "Meta") -> tuple[str, ...]:
    """Columns of a critic that nothing ever trained."""
    return () if meta.baseline == "value" else ("value",)
