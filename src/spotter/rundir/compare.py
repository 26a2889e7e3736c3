"""Several runs side by side: outcomes with honest intervals, settings that differ.

Episodes of one run say how sure its score is; only several seeds say how good a recipe is. The two
intervals are kept apart, and neither is ever computed from the other's numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from spotter.config import NOT_THE_GAME
from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.intervals import Interval, interval
from spotter.rundir import identity, trained
from spotter.rundir.run import Run
from spotter.rundir.values import finite
from spotter.types import UserError


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    run: Run
    info: Mapping[str, Any]
    score: Interval | None
    """Over the episodes of one evaluation."""
    seeds: str
    """Which held-out seeds these were: test, eval, or empty if it was never scored."""
    fingerprint: str
    seconds: float
    fps: float | None
    """Median env steps per second while training."""


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    outcomes: tuple[Outcome, ...]
    score: Interval
    """Over seeds, one score each."""


def outcome(run: Run) -> Outcome:
    info = run.info()
    evaluations = run.evaluations()
    judged = _judged_by(evaluations)
    speeds = [fps for row in run.metrics() if (fps := finite(row.get("time/fps")))]
    return Outcome(
        run=run,
        info=info,
        score=interval(judged["scores"]) if judged else None,
        seeds=judged["seeds"] if judged else "",
        fingerprint=(judged or {}).get("fingerprint") or "",
        seconds=identity.seconds(info),
        fps=median(speeds) if speeds else None,
    )


def _judged_by(evaluations: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The last score on test seeds, else the best evaluation."""
    scored = [found for found in evaluations if found["scores"]]
    tests = [found for found in scored if found["seeds"] == "test"]
    if tests:
        return tests[-1]
    return max(scored, key=lambda found: float(found["score"]), default=None)


def groups(outcomes: Sequence[Outcome]) -> list[Group]:
    """Where several seeds of the same settings were given, what they say together.

    A run whose settings changed on the way is no other seed of those it ended with.
    """
    alike: dict[str, dict[int, Outcome]] = {}
    for one in outcomes:
        if one.score is not None and not trained.changed(one.info):
            settings = {key: v for key, v in one.run.settings().items() if key != "seed"}
            alike.setdefault(flow(settings), {}).setdefault(one.info["seed"], one)
    return [
        Group(
            tuple(of_seed.values()), interval([o.score.mean for o in of_seed.values() if o.score])
        )
        for of_seed in alike.values()
        if len(of_seed) > 1
    ]


def warnings(outcomes: Sequence[Outcome]) -> list[str]:
    """Why scores in this table should not be compared, if there is a reason."""
    found = []
    envs = sorted({one.info["env"] for one in outcomes})
    if len(envs) > 1:
        found.append(f"these are different environments ({', '.join(envs)}): scores do not compare")
    elif unlike := _unlike(outcomes):
        found.append(f"{envs[0]} {unlike}")
    if {"test", "eval"} <= {one.seeds for one in outcomes}:
        found.append("an eval score is the best of several and flatters; a test score is not")
    return found + [text for one in outcomes if (text := trained.warning(one.run.id, one.info))]


def _unlike(outcomes: Sequence[Outcome]) -> str:
    """How one game differs between runs, as the rest of a sentence; empty if it does not."""
    facts = [_facts(one) for one in outcomes]
    if unlike := unlike_terms(facts, "game"):
        return f"was played on unlike terms ({unlike}): scores do not compare"
    prints = {one.fingerprint for one in outcomes}
    old = not all(one.info["facts"] for one in outcomes)  # whose prints were made another way
    if (not old and "" not in prints and len(prints) > 1) or (not all(facts) and _games(outcomes)):
        return "was set up differently (see env.* below): scores may not compare"
    if unlike := unlike_terms(facts, "training"):
        return f"was trained on unlike terms ({unlike}), which scores leave out: they do compare"
    return ""


def unlike_terms(facts: Sequence[Mapping[str, Any] | None], part: str = "") -> str:
    """`sticky 0 / 0.25, stack 4 / 1`: what differs in the `game`, in `training`, or in both.

    `facts` are what fingerprints are made from; where one is not known, nothing can be said.
    """
    if not all(facts):
        return ""
    found: dict[str, list[str]] = {}
    for name in [part] if part else ["game", "training"]:
        found |= differing([(one or {}).get(name, {}) for one in facts])
    return ", ".join(f"{name} {' / '.join(values)}" for name, values in found.items())


def _facts(one: Outcome) -> Mapping[str, Any] | None:
    """Those written down; of an older run, those its settings stand for today."""
    if one.info["facts"]:
        return dict(one.info["facts"])
    from spotter.envs.fingerprint import facts  # who compares new runs needs no environments

    try:
        config = one.run.config()
        return facts(config.env, config.reward)
    except UserError:
        return None


def _games(outcomes: Sequence[Outcome]) -> bool:
    """Whether settings that count differ, in runs of which no more is known."""
    return len({_game(one.run) for one in outcomes}) > 1


def _game(run: Run) -> str:
    env = run.settings().get("env", {})
    skipped = ("protocol", *NOT_THE_GAME)
    game = {key: value for key, value in env.items() if key not in skipped}
    game["wrappers"] = [w for w in env.get("wrappers", []) if not w.get("train_only")]
    return flow(game)


def differing(sides: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Dotted names whose values are not the same everywhere, each with one text per side."""
    first, *others = sides
    names = dict.fromkeys(name for other in others for name in difference(first, other))
    return {name: [_shown(side, name) for side in sides] for name in names}


def differing_settings(
    settings: Sequence[Mapping[str, Any]], infos: Sequence[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """The same for the settings of runs; one that changed on the way is told with its env steps."""
    found = differing(settings)
    ways = [trained.changed(info) for info in infos]
    for name in dict.fromkeys(name for way in ways for name in way):
        texts = [
            trained.words(way[name]) if name in way else _shown(side, name)
            for side, way in zip(settings, ways, strict=True)
        ]
        found.pop(name, None)
        if len(set(texts)) > 1:
            found[name] = texts
    return found


def _shown(data: Any, name: str) -> str:
    """As config.yaml writes it; `-` where there is nothing."""
    for key in name.split("."):
        if not isinstance(data, Mapping) or key not in data:
            return "-"
        data = data[key]
    return flow(data)
