"""The checkpoints of a run as a reader sees them: names, roles, scores. No weights, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotter.rundir import evaluations
from spotter.rundir.evaluations import Score
from spotter.rundir.files import read_json
from spotter.rundir.values import text

_ROLES: Final = ("best", "latest")
MOST_STATE: Final = 256_000_000
"""Bytes of state.json; environments may be saved in it."""


@dataclass(frozen=True)
class Checkpoint:
    """One saved state, and how its weights scored."""

    name: str
    env_steps: int
    roles: tuple[str, ...]
    """best, latest, both or none."""
    pinned: str
    """Why it is kept for good; empty if it is not."""
    certificates: Mapping[str, Score]
    """By kind of seeds: eval, test."""

    @property
    def scores(self) -> dict[str, float]:
        return {kind: score.mean for kind, score in self.certificates.items()}


def read(folder: Path, problems: list[str] | None = None) -> tuple[Checkpoint, ...]:
    """Those of a run folder, oldest first; what cannot be read is named in `problems`."""
    unread = [] if problems is None else problems
    place = folder / "checkpoints"
    pointed = {role: _json(place / f"{role}.json", unread).get("step") for role in _ROLES}
    found = []
    for step in place.glob("step-*"):
        if step.name[5:].isdecimal():
            roles = tuple(role for role, name in pointed.items() if name == step.name)
            pinned = text(_json(step / "pinned.json", unread).get("why"))
            found.append(_checkpoint(step, roles, pinned, unread))
    return tuple(sorted(found, key=lambda one: one.env_steps))


def spaces(folder: Path) -> Mapping[str, Mapping[str, object]]:
    """`observation` and `action` as the newest readable checkpoint describes them."""
    for step in sorted(folder.glob("checkpoints/step-*"), reverse=True):
        try:
            state = read_json(step / "state.json", MOST_STATE)
        except (OSError, ValueError):
            continue
        found = {part: state.get(part) for part in ("observation", "action")}
        return {part: each for part, each in found.items() if isinstance(each, Mapping)}
    return {}


def _checkpoint(step: Path, roles: tuple[str, ...], pinned: str, problems: list[str]) -> Checkpoint:
    env_steps = int(step.name[5:])
    written = _json(step / "score.json", problems)
    # format 1 holds one certificate, format 2 one per kind of seeds
    each = {text(written["seeds"]): written} if "seeds" in written else written
    certificates = {}
    for kind, certificate in each.items():
        score = evaluations.parse_certificate(certificate, kind, env_steps)
        if score is None:
            problems.append(f"the {kind} score of {step.name} cannot be read")
        else:
            certificates[kind] = score
    return Checkpoint(step.name, env_steps, roles, pinned, certificates)


def _json(path: Path, problems: list[str]) -> dict[str, object]:
    try:
        return read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        problems.append(f"{path.parent.name}/{path.name} cannot be read: {error}")
        return {}
