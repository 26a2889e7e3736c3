"""Several runs side by side: outcomes with honest intervals, settings that differ.

Episodes of one run say how sure its score is; only several seeds say how good a recipe is. The two
intervals are kept apart, and neither is ever computed from the other's numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spotter.config import NOT_THE_GAME
from spotter.config.diff import NO_RESULT, difference
from spotter.config.dump import brief, flow
from spotter.intervals import FEWEST_SEEDS, Interval, over_seeds
from spotter.rundir import trained
from spotter.rundir.view import RunView
from spotter.types import UserError

_RESAMPLED: Final = 2000
_LEVELS: Final = (2.5, 97.5)
_MOST_NAMED: Final = 3


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but the seed."""

    views: tuple[RunView, ...]
    score: Interval
    """Over seeds, one score each."""

    @property
    def name(self) -> str:
        """As it was given; of runs that were started one by one, the first and how many more."""
        first, *others = self.views
        name = first.info["group"]
        if name and all(view.info["group"] == name for view in others):
            return str(name)
        return f"{first.id} + {len(others)}"


def groups(views: Sequence[RunView]) -> list[Group]:
    """Where several seeds of the same settings were given, what they say together.

    A run whose settings changed on the way is no other seed of those it ended with.
    """
    alike: dict[str, dict[int, RunView]] = {}
    for one in views:
        if one.score is not None and one.config and not one.changed:
            beside = ("seed", *NO_RESULT)
            settings = {key: v for key, v in one.config.items() if key not in beside}
            alike.setdefault(flow(settings), {}).setdefault(one.info["seed"], one)
    several = [tuple(of_seed.values()) for of_seed in alike.values() if len(of_seed) > 1]
    return [Group(them, over_seeds([v.score.mean for v in them if v.score])) for them in several]


@dataclass(frozen=True)
class Improvement:
    """How likely a run of one group scores higher than a run of another; a tie is one half."""

    probability: float
    low: float | None
    high: float | None
    """The 95 % interval; None where one group has too few seeds."""


def improvement(group: Group, over: Group) -> Improvement | None:
    """Over all pairs of seeds, with a percentile bootstrap over seeds (Agarwal et al. 2021).

    None where the scores do not compare: another environment, or other settings of it.
    """
    games = {(one.info["env"], one.fingerprint) for one in (*group.views, *over.views)}
    if len(games) > 1:
        return None
    mine, theirs = (
        np.array([view.score.mean for view in side.views if view.score]) for side in (group, over)
    )
    wins = (mine[:, None] > theirs) + 0.5 * (mine[:, None] == theirs)  # [mine, theirs]
    found = float(wins.mean())
    if min(wins.shape) < FEWEST_SEEDS:
        return Improvement(found, None, None)
    rng = np.random.default_rng(0)  # the same runs give the same interval
    rows, columns = (rng.integers(0, count, (_RESAMPLED, count)) for count in wins.shape)
    resampled = wins[rows[:, :, None], columns[:, None, :]].mean(axis=(1, 2))
    low, high = np.percentile(resampled, _LEVELS)
    return Improvement(found, float(low), float(high))


def distinguishing(views: Sequence[RunView]) -> list[str]:
    """For each run `lr 0.001, clip 0.1`: its values of the settings that differ, but the seed."""
    infos = [one.info for one in views]
    if len(views) < 2:
        return [""] * len(views)
    found = differing_settings([one.config for one in views], infos, brief)
    found.pop("seed", None)
    if len(found) > _MOST_NAMED:
        return [f"{len(found)} settings" for _ in views]
    names = {name: name.rpartition(".")[2] for name in found}
    return [
        ", ".join(f"{names[name]} {texts[at]}" for name, texts in found.items())
        for at in range(len(views))
    ]


def sides(views: Sequence[RunView], groups: Sequence[Group]) -> dict[str, RunView]:
    """By name, one run for all seeds of a group, and every run that is in none."""
    names = [group.name for group in groups]
    together = {
        view.id: name if names.count(name) == 1 else f"{name} ({group.views[0].id})"
        for group, name in zip(groups, names, strict=True)
        for view in group.views
    }
    found: dict[str, RunView] = {}
    for view in views:
        found.setdefault(together.get(view.id, view.id), view)
    return found


def settings_of_sides(views: Sequence[RunView], groups: Sequence[Group]) -> dict[str, list[str]]:
    """The settings that differ between `sides`; seeds of groups stand elsewhere."""
    shown = list(sides(views, groups).values())
    if len(shown) < 2:
        return {}
    found = differing_settings([one.config for one in shown], [one.info for one in shown])
    if groups:
        found.pop("seed", None)
    return found


def warnings(views: Sequence[RunView]) -> list[str]:
    """Why scores in this table should not be compared, if there is a reason."""
    found = []
    envs = sorted({one.info["env"] for one in views})
    if len(envs) > 1:
        found.append(f"these are different environments ({', '.join(envs)}): scores do not compare")
    elif unlike := _unlike(views):
        found.append(f"{envs[0]} {unlike}")
    if {"test", "eval"} <= {one.score.seeds for one in views if one.score}:
        found.append("an eval score is the best of several and flatters; a test score is not")
    return found + [text for one in views if (text := trained.warning(one.id, one.info))]


def _unlike(views: Sequence[RunView]) -> str:
    """How one game differs between runs, as the rest of a sentence; empty if it does not."""
    facts = [_facts(one) for one in views]
    if unlike := unlike_terms(facts, "game"):
        return f"was played on unlike terms ({unlike}): scores do not compare"
    prints = {one.fingerprint for one in views}
    old = not all(one.info["facts"] for one in views)  # whose prints were made another way
    if (not old and "" not in prints and len(prints) > 1) or (not all(facts) and _games(views)):
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


def _facts(one: RunView) -> Mapping[str, object] | None:
    """Those written down; of an older run, those its settings stand for today."""
    if one.info["facts"]:
        return dict(one.info["facts"])
    from spotter.envs.fingerprint import facts  # who compares new runs needs no environments

    try:
        config = one.run.config()
        return facts(config.env, config.reward)
    except UserError:
        return None


def _games(views: Sequence[RunView]) -> bool:
    """Whether settings that count differ, in runs of which no more is known."""
    return len({_game(one.config) for one in views}) > 1


def _game(config: Mapping[str, object]) -> str:
    written = config.get("env")
    env = written if isinstance(written, Mapping) else {}
    skipped = ("protocol", *NOT_THE_GAME)
    game = {key: value for key, value in env.items() if key not in skipped}
    wrappers = env.get("wrappers")
    game["wrappers"] = [
        wrapper
        for wrapper in (wrappers if isinstance(wrappers, list) else [])
        if not isinstance(wrapper, Mapping) or not wrapper.get("train_only")
    ]
    return flow(game)


def differing(
    sides: Sequence[Mapping[str, object]], words: Callable[[object], str] = flow
) -> dict[str, list[str]]:
    """Dotted names whose values are not the same everywhere, each with one text per side."""
    first, *others = sides
    names = dict.fromkeys(name for other in others for name in difference(first, other))
    return {name: [_shown(side, name, words) for side in sides] for name in names}


def differing_settings(
    settings: Sequence[Mapping[str, object]],
    infos: Sequence[Mapping[str, object]],
    words: Callable[[object], str] = flow,
) -> dict[str, list[str]]:
    """The same for settings of runs; one that changed on the way is shown with its env steps."""
    found = differing(settings, words)
    ways = [trained.changed(info) for info in infos]
    for name in dict.fromkeys(name for way in ways for name in way):
        texts = [
            trained.words(way[name]) if name in way else _shown(side, name, words)
            for side, way in zip(settings, ways, strict=True)
        ]
        found.pop(name, None)
        if len(set(texts)) > 1:
            found[name] = texts
    return found


def _shown(data: object, name: str, words: Callable[[object], str]) -> str:
    """`-` where there is nothing."""
    for key in name.split("."):
        if not isinstance(data, Mapping) or key not in data:
            return "-"
        data = data[key]
    return words(data)
