"""Named groups: runs that were started together and differ in nothing but the seed.

The name stands in every run.json (`group`); there is no other record of a group. Its runs are
ordinary runs.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotter.config import RunConfig
from spotter.config.diff import NO_RESULT, difference
from spotter.config.dump import flow
from spotter.intervals import Interval, over_seeds
from spotter.rundir import registry, selectors
from spotter.rundir.identity import Info, home
from spotter.rundir.judged import test
from spotter.rundir.run import Run, select
from spotter.types import UserError

# A letter first, so that no name looks like the beginning of an id.
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_LONGEST_ADDRESS: Final = 48
MOST_SEEDS: Final = 1000


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UserError(
            f"'{name}' cannot be the name of a group: a letter, then letters, digits, dots, "
            "dashes, underscores, 64 at most"
        )
    return name


Parent = Mapping[str, Any] | None
"""As run.json holds it: the run whose weights were taken; None for new weights."""


def default_name(address: str, config: RunConfig, start: Parent = None) -> str:
    """The same for the same settings and the same `start`, so that a group can be completed."""
    text = flow([_but_the_seed(config.as_data()), _weights(start)])
    mark = hashlib.sha256(text.encode()).hexdigest()[:4]
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", address).strip("-.")[:_LONGEST_ADDRESS]
    return f"{words if words[:1].isalpha() else f'g-{words}'}-{mark}"


def unused_name(name: str, infos: Iterable[Info]) -> str:
    """The name itself, or with a number behind it."""
    taken = {info["group"] for info in infos}
    names = (name if at == 1 else f"{name}-{at}" for at in range(1, len(taken) + 2))
    return next(free for free in names if free not in taken)


def parse_seeds(text: str) -> list[int]:
    """`1-5`, `3`, `1,4,9`, `1-3,8`: each once, in the order in which they are written."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise UserError(f"seeds are written like 1-5 or 1,4,9, not '{text}'")
        if len(seeds) + last - first >= MOST_SEEDS:
            raise UserError(f"'{text}' are more than {MOST_SEEDS} seeds")
        seeds |= dict.fromkeys(range(first, last + 1))
    return list(seeds)


def members(name: str, infos: Iterable[Info]) -> list[Info]:
    """The runs of a group, by seed; of one seed, the older first."""
    found = [info for info in infos if name and info["group"] == name]
    return sorted(found, key=lambda info: (info["seed"], info["created"], info["id"]))


def select_all(names: Sequence[str]) -> list[Run]:
    """The runs that are meant, each once: selectors of single runs, or names of groups."""
    infos = registry.listing().infos
    found: dict[Any, Run] = {}
    for name in names:
        grouped = [] if selectors.as_folder(name) else members(name, infos)
        runs = [Run(home() / info["id"]) for info in grouped] or [select(name)]
        found |= {run.folder.resolve(): run for run in runs}
    return list(found.values())


def refuse_group(selector: str) -> None:
    """`UserError` where one run is resumed and a group is named."""
    infos = registry.listing().infos
    named = [info for info in infos if selector in (info["id"], *info["tags"])]
    if not named and (runs := members(selector, infos)):
        unfinished = [info["id"] for info in runs if info["status"] != "finished"]
        one = f", or give one run, such as {unfinished[0]}" if unfinished else ""
        raise UserError(
            f"--resume continues one run and {selector} is a group: the command that started it, "
            f"with --seeds, continues what is missing{one}"
        )


def of_seed(seed: int, group: Iterable[Info]) -> Info | None:
    """The run that stands for a seed: a finished one, else the newest."""
    runs = [info for info in group if info["seed"] == seed]
    finished = [info for info in runs if info["status"] == "finished"]
    return max(finished or runs, key=lambda info: str(info["created"]), default=None)


def check_alike(name: str, config: RunConfig, group: Iterable[Info], start: Parent = None) -> None:
    """`UserError` if a run of the group has other settings than `config`, or started otherwise."""
    wanted = _but_the_seed(config.as_data())
    for info in group:
        settings = _but_the_seed(Run(home() / info["id"]).settings())
        if unlike := list(difference(settings, wanted)):
            raise UserError(
                f"group {name} has a run with another {unlike[0]} ({info['id']}): "
                "name this group otherwise with --group NAME"
            )
        if _weights(info["parent"]) != _weights(start):
            raise UserError(
                f"group {name} has a run that started with other weights ({info['id']}): "
                "name this group otherwise with --group NAME"
            )


def _weights(parent: Parent) -> list[object]:
    return [] if parent is None else [parent["run"], parent["checkpoint"]]


def _but_the_seed(settings: Mapping[str, object]) -> dict[str, object]:
    """What runs of a group have in common: not where they are trained and their numbers go."""
    beside = ("seed", "sinks", *NO_RESULT)
    return {key: value for key, value in settings.items() if key not in beside}


@dataclass(frozen=True)
class Verdict:
    """What the test scores of several seeds say together."""

    score: Interval | None
    """Over seeds; None where no run was tested."""
    seeds: tuple[int, ...]
    """Those that were tested."""
    solved: int
    threshold: float | None


def verdict(group: Sequence[Info]) -> Verdict:
    """Of one run per seed."""
    tested = [(info, score) for info in group if (score := test(info)) is not None]
    return Verdict(
        over_seeds([score.mean for _, score in tested]) if tested else None,
        tuple(info["seed"] for info, _ in tested),
        sum(bool(info["solved"]) for info, _ in tested),
        next((info["threshold"] for info, _ in tested if info["threshold"] is not None), None),
    )
