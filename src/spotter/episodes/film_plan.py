"""What a film shows: which checkpoints, which part of each episode, and how fast. No torch here.

Only checkpoints that were kept can be shown; the film says how many of them it chose. Plain
functions on numbers: the episodes themselves are played in film.py.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from spotter.episodes.film_cards import Captions, Card, Curve, points
from spotter.rundir import checkpoints
from spotter.rundir.checkpoints import Checkpoint
from spotter.rundir.files import json_or_empty
from spotter.rundir.history import History
from spotter.rundir.run import Run
from spotter.rundir.values import finite
from spotter.text.numbers import count, duration, number, plural
from spotter.types import UserError

TITLE_S: Final = 2.4
END_S: Final = 4.0
FADE_S: Final = 0.6
HOLD_S: Final = 0.6
"""The last image of an episode stays for so long, so that one can see how it ended."""
SHORTEST_S: Final = 2.0
"""Of an episode on the screen: time to read its captions."""
_FASTEST: Final = 0.4  # of those times, in a film that has to be short
_SPEEDS: Final = {0.25: "quarter speed", 0.5: "half speed", 1.0: "", 2.0: "double speed"}
_ENOUGH_EVALUATIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """A policy at one point of its training."""

    env_steps: int
    checkpoint: str
    """The folder's name; empty for the weights training began with."""
    evaluated: float | None = None
    """Mean score on held-out seeds."""
    episodes: int = 0
    """How many that is the mean of."""
    training_score: float | None = None
    seconds: float | None = None
    """Of training until then."""

    @property
    def worth(self) -> float | None:
        return self.training_score if self.evaluated is None else self.evaluated


@dataclass(frozen=True, slots=True)
class Part:
    """What of an episode is shown: raw images `first` up to `last`, so many seconds long."""

    first: int
    last: int
    speed: float
    seconds: float

    def indexes(self, env_fps: float, fps: int) -> list[int]:
        """The raw image each frame of the film shows; the last one is always seen."""
        frames = max(1, round(self.seconds * fps))
        pace = env_fps * self.speed / fps
        shown = [min(self.first + int(frame * pace), self.last) for frame in range(frames)]
        return [*shown[:-1], self.last]

    def words(self, pictures: int, fps: float) -> str:
        how = _SPEEDS[self.speed]
        if self.last - self.first + 1 >= pictures:
            return f"whole episode{', ' if how else ''}{how}"
        span = (self.first / fps, (self.last + 1) / fps, pictures / fps)
        return "from {:.0f} s to {:.0f} s of {:.0f} s".format(*span)


# --- checkpoints ---------------------------------------------------------------------------------


def stages(run: Run) -> list[Stage]:
    """Every policy of a run that can be shown, oldest first: up to its best, or to its latest."""
    found = checkpoints.read(run.folder)
    end = [one for one in found if "best" in one.roles] or found[-1:]
    if not end:
        raise UserError(f"run {run.id} has no checkpoint yet; there is nothing to film")
    shown = [_stage(run, one) for one in found if one.env_steps <= end[0].env_steps]
    if run.info()["parent"]:
        return shown  # it began with weights of another run
    scores = History(run.metrics_path).refresh().column("train/score")[:1].tolist()
    return [Stage(0, "", training_score=finite(scores[0] if scores else None)), *shown]


def _stage(run: Run, one: Checkpoint) -> Stage:
    row = json_or_empty(run.folder / "checkpoints" / one.name / "metrics.json")
    score = one.certificates.get("eval") or one.certificates.get("test")
    return Stage(
        one.env_steps,
        one.name,
        finite(score.mean) if score else None,
        score.episodes if score else 0,
        finite(row.get("train/score")),
        finite(row.get("time/elapsed_s")),
    )


def choose(there: Sequence[Stage], most: int) -> list[Stage]:
    """The first, the last, and between them those nearest to evenly spaced scores.

    Env steps are spaced where not every score is known. A single one is the last.
    """
    if most >= len(there):
        return list(there)
    if most == 1:
        return [there[-1]]
    worths = [stage.worth for stage in there]
    known = [worth for worth in worths if worth is not None]
    keys = known if len(known) == len(there) else [float(stage.env_steps) for stage in there]
    levels = np.linspace(keys[0], keys[-1], most)
    picked = [0]
    for index in range(1, most - 1):
        free = range(picked[-1] + 1, len(there) - (most - 1 - index))
        picked.append(min(free, key=lambda at: abs(keys[at] - levels[index])))
    return [there[at] for at in (*picked, len(there) - 1)]


def curve(run: Run, threshold: float | None, until: int = 1) -> Curve:
    """Evaluation scores where there are a few; else the training score. `until`: steps at least."""
    evaluations = [
        (float(one["env_steps"]), float(one["score"]))
        for one in run.evaluations()
        if one["seeds"] == "eval"
    ]
    trained = History(run.metrics_path).refresh().curve("train/score")
    enough = len(evaluations) >= _ENOUGH_EVALUATIONS
    steps, scores = points(evaluations if enough else list(zip(*trained, strict=True)))
    end = int(max([1, until, *(at for at, _ in evaluations), *trained.env_steps]))
    label = "score in evaluations" if enough else "score in training"
    return Curve(label, *_fewer(steps, scores), end, threshold)


def _fewer(steps: Any, scores: Any, most: int = 600) -> tuple[Any, Any]:
    """As many points as can be distinguished: means of neighbours, the first and the last kept."""
    if len(steps) <= most:
        return steps, scores
    groups = np.array_split(np.arange(len(steps)), most)
    means = np.array([scores[group].mean() for group in groups])
    places = np.array([steps[group].mean() for group in groups])
    places[0], places[-1], means[0], means[-1] = steps[0], steps[-1], scores[0], scores[-1]
    return places, means


# --- time ----------------------------------------------------------------------------------------


def pace(count: int, seconds: float) -> float:
    """What cards, fades and rests are multiplied with, so that so many episodes fit: 1 or less."""
    least = others_s(count) + count * SHORTEST_S
    if seconds < _FASTEST * least:
        raise UserError(
            f"{seconds:g} seconds are too short for {count} checkpoints; "
            f"{math.ceil(_FASTEST * least)} would do, or fewer checkpoints"
        )
    return min(1.0, seconds / least)


def others_s(count: int) -> float:
    """Of a film of so many episodes, without the episodes: cards, fades and rests."""
    return TITLE_S + END_S + FADE_S + count * (FADE_S + HOLD_S)


def shares(lengths_s: Sequence[float], seconds: float) -> float:
    """How long each episode may be, such that all fit; short ones leave the rest to others."""
    left, todo = seconds, sorted(lengths_s)
    for index, length in enumerate(todo):
        share = left / (len(todo) - index)
        if length > share:
            return share
        left -= length
    return todo[-1]


def part(
    rewards: Sequence[float], fps: float, share_s: float, shortest_s: float = SHORTEST_S
) -> Part:
    """All of an episode, slowed down or sped up a little if need be; else its best excerpt."""
    pictures = len(rewards) + 1
    own = pictures / fps
    for speed in _SPEEDS:  # slowest first; slow only what is very short
        if own / speed <= (share_s if speed >= 1 else min(share_s, shortest_s)):
            return Part(0, pictures - 1, speed, own / speed)
    size = max(1, int(share_s * fps))
    first = best_window(rewards, size)
    return Part(first, first + size - 1, 1.0, size / fps)


def best_window(rewards: Sequence[float], size: int) -> int:
    """Where so many images begin that see the most reward; of equals, the last.

    Image k is what reward k - 1 led to.
    """
    total = np.concatenate([[0.0], np.cumsum(np.asarray(rewards, dtype=np.float64))])
    gains = total[size - 1 :] - total[: len(total) - size + 1]
    rounded = np.round(gains, 9)
    return int(len(rounded) - 1 - np.argmax(rounded[::-1]))


# --- words ---------------------------------------------------------------------------------------


def captions(stage: Stage, index: int, of: int, title: str, note: str) -> Captions:
    facts = []
    if not stage.checkpoint:
        facts.append("before any training")
    elif stage.seconds is not None:
        facts.append(f"after {duration(stage.seconds)} of training")
    if stage.evaluated is not None:
        episodes = plural(stage.episodes, "episode")
        facts.append(f"{number(stage.evaluated)} on average over {episodes}")
    return Captions(title, f"{index + 1} of {of}", count(stage.env_steps), "env steps",
                    tuple(facts), note)  # fmt: skip


def title_card(
    info: Mapping[str, object], title: str, chosen: Sequence[Stage], there: Sequence[Stage]
) -> Card:
    game = f"{info['env']} · {info['algo']}"
    last = chosen[-1]
    took = "" if last.seconds is None else f" and {duration(last.seconds)}"
    return Card(
        above=game if title else f"learning with {info['algo']}",
        loud=title or str(info["env"]),
        lines=(
            f"{count(last.env_steps)} env steps{took} of training",
            _shown(chosen, there),
        ),
    )


def _shown(chosen: Sequence[Stage], there: Sequence[Stage]) -> str:
    """Training keeps few checkpoints by default, so the film says which it had."""
    kept, shown = (sum(1 for stage in stages if stage.checkpoint) for stages in (there, chosen))
    which = "latest" if chosen[-1].evaluated is None else "best"
    few = f"{shown} of {kept}" if shown < kept else f"all {kept}"
    what = f"the {which} checkpoint" if kept == 1 else f"{few} kept checkpoints up to the {which}"
    before = "" if chosen[0].checkpoint else "the untrained policy and "
    return f"{before}{what}, the same seed each time"


def end_card(run: Run, command: str) -> Card:
    """The score that counts, what it is worth, and how to get it again."""
    info, found = run.info(), run.evaluations()
    test = [one for one in found if one["seeds"] == "test" and one["scores"]]
    scored = test or sorted((one for one in found if one["scores"]), key=lambda one: one["score"])
    where = f"run {info['id']}"
    if not scored:
        return Card("", "not scored yet", (where,), command)
    one = scored[-1]
    of = plural(len(one["scores"]), f"held-out {one['seeds']} episode")
    spread = f"lowest {number(min(one['scores']))}, highest {number(max(one['scores']))}"
    goal = one.get("threshold")
    verdict = "" if goal is None else (
        f"solved: {number(goal)} or more" if one["solved"] else f"solved from {number(goal)} on"
    )  # fmt: skip
    print_ = f"game {one['fingerprint']}, " if one.get("fingerprint") else ""
    lines = (f"mean score of {of}", ", ".join(filter(None, (verdict, spread))), print_ + where)
    return Card(f"{info['env']} · {info['algo']}", number(one["score"]), lines, command)
