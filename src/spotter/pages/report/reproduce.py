"""How to get the same run again, and how two configs differ.

The command is checked before it is shown: its address and overrides must resolve to the very
config the run was saved with.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spotter.config import resolve, validate
from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.diagnose.doctor.changes import start_words
from spotter.rundir import trust
from spotter.rundir.compare import differing
from spotter.types import UserError

_BY_HAND: Final = """\
from pathlib import Path
from spotter.config import recipes, validate
from spotter.training import train

train(validate(recipes.plain(recipes.read(Path("config.yaml")).data)))"""


class Change(NamedTuple):
    """One setting that differs, as config.yaml writes it; `-` where there is none."""

    setting: str
    before: str
    after: str


@dataclass(frozen=True)
class Recipe:
    """How to run it again. `own` are the settings that differ from what the address means here."""

    address: str
    command: str
    is_python: bool
    own: tuple[Change, ...]
    notes: tuple[str, ...]


def recipe(info: Mapping[str, object], config: Mapping[str, object], changed: bool) -> Recipe:
    """The shortest command that resolves to the saved config, else a few lines of Python."""
    notes = list(_notes(info, changed))
    for address in dict.fromkeys(_addresses(info)):
        found = _overrides(address, info, config) if trust.may_resolve(address, info) else None
        if found is not None:
            own, overrides = found
            words = ["spotter", "train", address, *overrides, *start_words(info)]
            return Recipe(address, shlex.join(words), False, own, tuple(notes))
    notes.append("no address known here leads to this config, so it is read from config.yaml")
    return Recipe(str(info["address"]), _BY_HAND, True, (), tuple(notes))


def _addresses(info: Mapping[str, Any]) -> Iterator[str]:
    """Where the config may have come from: its recipe, what was typed, the bare environment."""
    yield str(info["address"])
    command = [str(word) for word in info.get("command", ())]
    if "train" in command:
        words = command[command.index("train") + 1 :]
        yield from (word for word in words[:1] if not word.startswith("-"))
    yield f"{info['env']}:{info['algo']}"


def _overrides(
    address: str, info: Mapping[str, object], config: Mapping[str, object]
) -> tuple[tuple[Change, ...], list[str]] | None:
    """What must be added to an address to get this config; None if that cannot be said."""
    try:
        trust.check(info, config)
        wanted = validate(config).as_data()  # with the defaults of settings it did not know yet
        usual = resolve(address).config.as_data()
        own = changes(usual, wanted)
        texts = [f"{change.setting}={change.after}" for change in own if change.setting != "seed"]
        texts.append(f"seed={flow(wanted['seed'])}")
        again = resolve(address, texts).config.as_data()
    except (UserError, ImportError):
        return None
    return None if difference(again, wanted) else (own, texts)


def _notes(info: Mapping[str, Any], changed: bool) -> Iterator[str]:
    resumes = info.get("resumes") or ()
    if resumes:
        times = "once" if len(resumes) == 1 else f"{len(resumes)} times"
        yield f"this run was interrupted and resumed {times}; the command runs it in one piece"
    if changed:
        yield "settings were changed while it ran (see the timeline); these are the last ones"


def changes(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Change, ...]:
    """Settings whose values differ."""
    found = differing([before, after])
    return tuple(Change(setting, *texts) for setting, texts in found.items())
