"""What a run page shows, as plain data: status of the run, settings with their origin,
certificates, films, alerts. Read from the run folder alone; no page, no torch.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from spotter.config import Resolved, RunConfig, resolve, tree
from spotter.config.dump import flow
from spotter.episodes import format as traces
from spotter.episodes.human import Baseline, baselines
from spotter.pages.report import reproduce
from spotter.rundir.access import is_name
from spotter.rundir.evaluations import Score
from spotter.rundir.files import json_or_empty
from spotter.rundir.judged import Judged
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.studio.context import Context
from spotter.text.numbers import count, plus_minus
from spotter.types import UserError

_USER_ERROR: Final = "UserError: "
_LABEL: Final = 40  # letters of a setting and its value beside a mark


@dataclass
class Now:
    """A snapshot of the files; read in a thread."""

    view: RunView
    version: int
    changes: "list[Retuned]"
    people: list[Baseline]
    has_checkpoint: bool
    has_episodes: bool

    @property
    def is_living(self) -> bool:
        return self.view.status == "running"


def read(context: Context, id: str) -> Now:
    """Everything the page follows, as it is now."""
    run = context.run_of(id)
    view = RunView(run, context.histories.of(run))
    view.alerts, view.score  # noqa: B018  # here, in this thread
    return Now(
        view,
        view.history.version,
        changes(view),
        baselines([run]),
        has_checkpoint(run),
        bool(traces.listing(run)),
    )


def has_checkpoint(run: Run) -> bool:
    return any((run.folder / "checkpoints").glob("step-*"))


def no_checkpoint(status: str) -> str:
    """Why something that needs a checkpoint cannot be done."""
    if status in ("running", "stopping"):
        return "There is no checkpoint yet: the first one is saved within a minute of training"
    return "There is no checkpoint: the run ended before it saved one"


def failure(now: Now) -> str:
    """What a failed run died of, in one sentence; empty for others."""
    view = now.view
    if view.status != "failed":
        return ""
    when = f"after {count(view.env_steps)} env steps" if view.updates else "before its first update"
    # a user's mistake is a sentence already; of any other error its kind is half of what is known
    why = str(view.info["reason"] or "it did not say why").removeprefix(_USER_ERROR)
    return f"This run failed {when}: {why}"


def score_text(found: Judged | None) -> tuple[str, str]:
    """The score ± its interval, and its mark: `eval` where there is no test score."""
    if found is None or not math.isfinite(found.mean):
        return "", ""
    return plus_minus(found.mean, found.half), "" if found.seeds == "test" else "eval"


class Line(NamedTuple):
    """A setting, and where it comes from."""

    name: str
    value: str
    origin: str


def settings(run: Run) -> list[Line]:
    """The config of a run; the origin is empty where no recipe known here leads to it."""
    data = run.settings()
    resolved = _resolved(run, data)
    lines = []
    for name in _names(run, data):
        path = tuple(name.split("."))
        origin = resolved.origin(path) if resolved else ""
        lines.append(Line(name, flow(tree.value_at(data, path)), origin))
    return lines


def _names(run: Run, data: Mapping[str, object]) -> list[str]:
    """In the order of the config; settings this version does not know are left out.

    Which settings there are depends on plug-ins, and those of a stranger are not asked.
    """
    try:
        run.check_trust(data, played=False)
    except UserError:
        return [f"{section}.{key}" for section in data for key in _keys(data[section])]
    return list(tree.paths(RunConfig, data))


def _keys(section: object) -> list[str]:
    return list(section) if isinstance(section, Mapping) else []


def _resolved(run: Run, data: Mapping[str, object]) -> Resolved | None:
    """The same config as its recipe and overrides make it, which know where each value is from."""
    try:
        recipe = reproduce.recipe(run.info(), data, changed=False)
        if recipe.is_python:
            return None
        return resolve(recipe.address, [f"{one.setting}={one.after}" for one in recipe.own])
    except (UserError, ImportError):
        return None


def parent_changes(context: Context, run: Run) -> tuple[reproduce.Change, ...] | None:
    """Settings that differ from the run it was forked from; None without a parent that is here."""
    parent = run.info()["parent"]
    if not parent:
        return None
    try:
        before = context.run_of(str(parent["run"])).settings()
    except UserError:
        return None
    return reproduce.changes(before, run.settings())


def certificate(score: Score | None) -> str:
    """A score beside saved weights, with what it rests on."""
    if score is None:
        return ""
    mode = "greedy" if score.deterministic else "sampled"
    solved = ", solved" if score.solved else ""
    mean = plus_minus(score.mean, score.interval.half)
    return f"{mean} over {score.episodes or '?'} episodes, {mode}{solved}"


@dataclass(frozen=True)
class Film:
    name: str
    caption: str


def films(run: Run) -> list[Film]:
    """Newest first, the best one before all."""
    folder = run.folder / "videos"
    best = json_or_empty(folder / "best.json").get("file")
    names = sorted((path.name for path in folder.glob("*.mp4")), reverse=True)
    names.sort(key=lambda name: name != best)
    return [Film(name, _caption(folder, name, best)) for name in names if is_name(name)]


def _caption(folder: Path, name: str, best: object) -> str:
    written = json_or_empty((folder / name).with_suffix(".json"))
    if written.get("kind") == "film":
        return " · ".join(_of_film(name, written))
    steps, scored = written.get("env_steps"), written.get("score")
    parts = ["best" if name == best else ""]
    parts.append(f"after {steps:,} env steps" if isinstance(steps, int) else name)
    parts.append(f"score {scored:g}" if isinstance(scored, int | float) else "")
    return " · ".join(part for part in parts if part)


def _of_film(name: str, written: Mapping[str, object]) -> Iterator[str]:
    """What distinguishes films of learning; the score would only be the last policy's."""
    yield f"film of learning: {name}"
    stages, seconds, seed = (written.get(key) for key in ("stages", "seconds", "seed"))
    if isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages):
        steps = [stage.get("env_steps") for stage in stages]
        if steps and all(isinstance(step, int) for step in steps):
            to = f"{steps[0]:,} to {steps[-1]:,}" if len(steps) > 1 else f"{steps[0]:,}"
            noun = "policy" if len(steps) == 1 else "policies"
            yield f"{len(steps)} {noun}, after {to} env steps"
    if isinstance(seconds, int | float):
        yield f"{seconds:.0f} s"
    if isinstance(seed, int):
        yield f"seed {seed}"


@dataclass(frozen=True)
class Retuned:
    """Settings that changed while the run was trained, or when it was resumed."""

    env_steps: int
    text: str


def changes(view: RunView) -> list[Retuned]:
    """In the order they happened; older runs did not say where an intervention did it."""
    found = []
    for (steps, _), group in groupby(view.changes, key=lambda one: (one.env_steps, one.by_alert)):
        if steps is not None:
            reported = [f"{change.setting} = {flow(change.after)}" for change in group]
            rest = f", {len(reported) - 1} more" if len(reported) > 1 else ""
            first = reported[0] if len(reported[0]) <= _LABEL else f"{reported[0][: _LABEL - 1]}…"
            found.append(Retuned(steps, f"{first}{rest}"))
    return found
