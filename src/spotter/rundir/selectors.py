"""How runs are named on the command line and in Python; pure functions on what run.json holds.

`@last`, `@last:<env>`, `@best-of:<env>`, an id or its unique beginning, a tag (the newest run that
has it), or the path of a run folder.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spotter.plugins import did_you_mean
from spotter.rundir.identity import Info, home
from spotter.rundir.judged import judged
from spotter.types import UserError

FORMS: Final = "@last, @last:<env>, @best-of:<env>, an id or how it begins, a tag, or a folder"
_WORDS: Final = ("@last", "@best-of")


def as_folder(selector: str) -> Path | None:
    """The folder a selector is the path of."""
    path = Path(selector)
    return path if (path / "run.json").is_file() else None


def choose(selector: str, infos: Sequence[Info]) -> str:
    """The id of the one run that is meant; `infos` are newest first."""
    run, slash, checkpoint = selector.rpartition("/")
    if slash and run and checkpoint.startswith(("@", "step=")):
        raise UserError(f"'{selector}' names a checkpoint; write the run: {run}")
    if selector.startswith("@"):
        return _by_word(selector, infos)
    matches = [info["id"] for info in infos if selector and info["id"].startswith(selector)]
    if selector in matches or len(matches) == 1:
        return selector if selector in matches else str(matches[0])
    if matches:
        shown = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
        raise UserError(f"'{selector}' fits {len(matches)} runs: {shown}")
    tagged = [info["id"] for info in infos if selector in info["tags"]]
    if tagged:
        return str(tagged[0])
    grouped = [info["id"] for info in infos if selector and info["group"] == selector]
    if grouped:
        raise UserError(
            f"'{selector}' is a group of {len(grouped)} runs; name one, such as {grouped[0]}"
        )
    known = {*(info["id"] for info in infos), *(tag for info in infos for tag in info["tags"])}
    known |= {info["group"] for info in infos if info["group"]}
    raise UserError(f"there is no run '{selector}' in {home()}{did_you_mean(selector, known)}")


def _by_word(selector: str, infos: Sequence[Info]) -> str:
    word, _, env = selector.partition(":")
    if word not in _WORDS or (word == "@best-of" and not env):
        if word == "@best-of":
            example = min((info["env"] for info in infos), default="CartPole-v1")
            raise UserError(f"'{selector}' needs an environment, such as @best-of:{example}")
        hint = did_you_mean(word, _WORDS)
        raise UserError(f"unknown selector '{selector}'{hint or f'; write {FORMS}'}")
    there = [info for info in infos if not env or info["env"] == env]
    if not there:
        what = f"run of {env}" if env else "run"
        hint = did_you_mean(env, {info["env"] for info in infos}) if env else ""
        first = f"; train one first: spotter train {env or 'CartPole-v1:ppo'}"
        raise UserError(f"there is no {what} in {home()}{hint if '?' in hint else first}")
    if word == "@last":
        return str(there[0]["id"])
    scored = [info for info in there if value(info) > -math.inf]
    if not scored:
        raise UserError(f"no run of {env} in {home()} has been scored yet")
    return str(max(scored, key=_rank)["id"])  # of equals, max takes the first: the newest


def value(info: Info) -> float:
    """What a run is judged by: its test score, else the best of its evaluations."""
    found = judged(info)
    return -math.inf if found is None else found.mean


def _rank(info: Info) -> tuple[float, bool, float]:
    """Of equal scores, solved wins, with the fewest env steps."""
    steps = info["steps_to_threshold"]
    cost = info["env_steps"] if steps is None else steps
    return value(info), bool(info["solved"]), -cost
