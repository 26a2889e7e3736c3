"""One run as the rules of the doctor see it: settings, curves, evaluations, alerts, in numbers.

Read once from the files of the run, without torch and without the environment.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from spotter.config import RunConfig, validate
from spotter.config.foreign import check_names
from spotter.doctor.recipe import NONE, Recipe, beside
from spotter.doctor.stretch import is_constant, mean, median, stretch
from spotter.metrics.rules import IDS
from spotter.rundir import trained
from spotter.rundir.history import Doubles, History
from spotter.rundir.run import Run
from spotter.schedules import Schedule
from spotter.types import UserError

WELL: Final = 0.9
"""Share of the way to the threshold from which nothing is called a failure."""
FEWEST_ROWS: Final = 8
_CLEARLY: Final = 4.0
"""Times the wobble of the score."""
_SOON: Final = 0.04
"""Share of the whole way that a quarter of the run gained."""
_BEGUN: Final = 0.05
"""Share of the whole way from which a steady gain counts, however small."""
_UNBOUNDED: Final = 1e6
_MOST_BINNED: Final = 15
"""Numbers of an observation that state_count can cut into its ten slices each."""
_PARTS: Final = ("env", "policy", "transfer", "learn", "eval", "save", "idle")


@dataclass(frozen=True, slots=True)
class Recorded:
    """An alert the run recorded while it trained."""

    id: str
    level: str
    saw: str
    advice: str
    share: float
    """Of the rows."""
    first: float
    """Env steps."""
    at_end: bool


class Case:
    """Everything a rule may ask about one run."""

    def __init__(self, run: Run, history: History | None = None, trusted: bool = True) -> None:
        self.run = run
        self.info = run.info()
        self.history = history or History(run.metrics_path).refresh()
        self.events = list(run.events())
        self.scored = run.evaluations()
        """On seeds of all kinds."""
        self.evaluations = [one for one in self.scored if one["seeds"] == "eval"]
        self.not_checked: list[str] = []
        self.trusted = trusted
        self.changed = trained.changed(self.info)
        """Settings that were not the same all the way."""
        self.config = self._read_config()
        self.recipe = self._read_recipe()

    def _read_recipe(self) -> Recipe:
        if self.config is None:
            return NONE
        address = str(self.info.get("address") or "")
        found = beside(self.config, self.run.written(), address, self.threshold)
        return replace(found, solves=False) if self.info.get("parent") else found

    def _read_config(self) -> RunConfig | None:
        """What most env steps were trained with, and if that makes no config, its last one."""
        said = "settings, which this version cannot read"
        try:
            written = self.run.settings()
            if not self.trusted:
                said = "settings that name code of another package"
                check_names(written)
                said = "settings, which this version cannot read"
            config = validate(written)
        except (UserError, OSError, AssertionError) as error:
            self.not_checked.append(f"{said}: {error}")
            return None
        return self._mostly(written, config) if self.changed else config

    def _mostly(self, written: Mapping[str, Any], last: RunConfig) -> RunConfig:
        ways = ", ".join(f"{name} {trained.words(each)}" for name, each in self.changed.items())
        usual, judged = trained.mostly(written, self.changed), "those of most env steps"
        try:
            if not self.trusted:
                check_names(usual)
            config = validate(usual)
        except UserError:
            config, judged = last, "the last ones"
        self.not_checked.append(f"settings changed on the way, judged by {judged}: {ways}")
        return config

    # --- settings --------------------------------------------------------------------------------

    def setting(self, path: str) -> Any:
        """A setting by its dotted name; a schedule as its largest value. None where there is none.

        The config has the last word on names: `algo.lambda`, not `lambda_`.
        """
        node: Any = self.settings
        for part in path.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        return _largest(node)

    def knows(self, path: str) -> bool:
        """Whether its config has a setting of that dotted name, if only as null."""
        node: Any = self.settings
        for part in path.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return False
            node = node[part]
        return True

    @cached_property
    def settings(self) -> dict[str, Any]:
        return self.config.as_data() if self.config else {}

    def number(self, path: str, default: float = math.nan) -> float:
        value = self.setting(path)
        return float(value) if isinstance(value, int | float) else default

    @property
    def lr(self) -> float:
        """The largest learning rate the optimizer had; of the config where none was recorded."""
        used = self.highest("hp/algo.lr")
        return used if math.isfinite(used) else self.number("algo.lr")

    @cached_property
    def is_clipped(self) -> bool:
        return str(self.setting("algo.name")) == "ppo"

    @cached_property
    def images(self) -> bool:
        """Whether anything that is seen is an image; from the newest checkpoint."""
        return any(leaf.get("kind") == "image" for leaf in self._spaces("observation").values())

    @cached_property
    def vector(self) -> bool:
        """Whether all that is seen is plain numbers, of which a wrong scale can be told."""
        kinds = {leaf.get("kind") for leaf in self._spaces("observation").values()}
        return kinds == {"vector"}

    @cached_property
    def countable(self) -> bool:
        """Whether the state_count signal can tell states apart: one leaf, discrete or bounded."""
        leaves = [*self._spaces("observation").values()]
        if len(leaves) != 1 or leaves[0].get("kind") == "discrete":
            return len(leaves) == 1
        ends = [float(end) for part in ("low", "high") for end in leaves[0].get(part) or ()]
        bounded = all(abs(end) < _UNBOUNDED for end in ends)
        return leaves[0].get("kind") == "vector" and bounded and 2 <= len(ends) <= 2 * _MOST_BINNED

    @cached_property
    def continuous(self) -> bool:
        """Whether actions are numbers, not choices."""
        return self._spaces("action").get("kind") == "box"

    @cached_property
    def actions(self) -> int | None:
        """How many there are to choose from; None where that is unknown or no whole number."""
        nvec = self._spaces("action").get("nvec") or self._choices()
        return int(np.prod(nvec)) if nvec else None

    def _choices(self) -> list[int]:
        shares = [key for key in self.history.keys if key.startswith("action/share/")]
        return [len(shares)] if shares else []

    def _spaces(self, part: str) -> Mapping[str, Any]:
        for folder in sorted(self.run.folder.glob("checkpoints/step-*"), reverse=True):
            try:
                state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            found = state.get(part)
            if isinstance(found, Mapping):
                return found
        return {}

    @cached_property
    def rollout(self) -> float:
        """Samples an update learns from."""
        steps = self.number("algo.steps")
        if math.isfinite(steps):
            return steps * self.number("env.count", 1)
        x = self.history.curve("update")[0]  # whole episodes: as many as there were
        return float(np.median(np.diff(x))) if len(x) > 1 else math.nan

    @cached_property
    def minibatch(self) -> float:
        """Samples of one gradient step."""
        size = self.setting("algo.minibatch")
        if isinstance(size, float):
            return size * self.rollout
        return float(size) if isinstance(size, int) else self.rollout

    @property
    def gradient_steps(self) -> float:
        """Of one update."""
        return self.number("algo.epochs", 1) * self.rollout / max(1.0, self.minibatch)

    # --- curves ----------------------------------------------------------------------------------

    def values(self, key: str) -> Doubles:
        return self.history.curve(key)[1]

    def has(self, key: str) -> bool:
        return len(self.values(key)) > 0

    def whole(self, key: str) -> float:
        """Median over the run; NaN where it was never written."""
        return median(self.values(key))

    def early(self, key: str) -> float:
        """Mean over the first quarter."""
        return mean(stretch(self.values(key), 0.0, 0.25))

    def late(self, key: str) -> float:
        """Median over the last quarter."""
        return median(stretch(self.values(key), 0.75, 1.0))

    def highest(self, key: str) -> float:
        """The largest mean over a tenth of the run."""
        values = self.values(key)
        if not len(values):
            return math.nan
        return max(float(np.mean(part)) for part in np.array_split(values, min(10, len(values))))

    @property
    def env_steps(self) -> int:
        """run.json is written now and then, a row at every update."""
        told = self.history.last("env_steps")
        return max(int(self.info.get("env_steps") or 0), int(told) if math.isfinite(told) else 0)

    # --- how it went -----------------------------------------------------------------------------

    @cached_property
    def threshold(self) -> float | None:
        for event in reversed(self.scored):
            if event.get("threshold") is not None:
                return float(event["threshold"])
        own = self.number("env.threshold")
        return own if math.isfinite(own) else None

    @property
    def solved(self) -> bool:
        """The test at its end has the last word, an evaluation before there was one."""
        tested = self.info.get("solved")
        if tested is not None:
            return bool(tested)
        return any(one.get("solved") for one in self.evaluations)

    @property
    def start(self) -> float:
        """Mean training score of the first tenth."""
        return mean(stretch(self.values("train/score"), 0.0, 0.1))

    @property
    def last(self) -> float:
        """Mean training score of the last tenth."""
        return mean(stretch(self.values("train/score"), 0.9, 1.0))

    @property
    def best(self) -> float:
        """The best tenth of the training scores."""
        return self.highest("train/score")

    @property
    def judged(self) -> tuple[str, float]:
        """The one score it is judged by, with its full name: test, best evaluation, training."""
        tested = [float(one["score"]) for one in self.scored if one["seeds"] == "test"]
        if tested:
            return "test score", tested[-1]
        if self.evaluations:
            return "best evaluation", max(float(one["score"]) for one in self.evaluations)
        return "training score", self.last

    def way(self, score: float) -> float:
        """How far a score is on the way from the first one to the threshold: 0 to 1 and beyond."""
        if self.threshold is None or not math.isfinite(score):
            return math.nan
        distance = self.threshold - self.start
        if distance <= 0:  # it began beyond the threshold, as a fork may
            return float(score >= self.threshold)
        return (score - self.start) / distance

    @cached_property
    def well(self) -> bool:
        """Solved, or nearly so, or clearly better than at the start where nothing says how far."""
        if self.solved or self.way(self.last) >= WELL:
            return True
        if self.threshold is not None:
            return False
        return self.rising or self.last - self.start > _CLEARLY * self.spread

    @cached_property
    def spread(self) -> float:
        """How much the training score wobbles from row to row, its drift taken out."""
        y = self.values("train/score")
        if len(y) < FEWEST_ROWS:
            return math.nan
        return max(float(np.std(part)) for part in np.array_split(y, 4))

    @cached_property
    def gain(self) -> float:
        """How much better the last quarter of the training scores is than the one before."""
        y = self.values("train/score")
        if len(y) < FEWEST_ROWS:
            return 0.0
        return mean(stretch(y, 0.75, 1.0)) - mean(stretch(y, 0.5, 0.75))

    @cached_property
    def rising(self) -> bool:
        """It ends near its best, and would arrive within a few times this budget."""
        y = self.values("train/score")
        if len(y) < FEWEST_ROWS or self.gain <= 0:
            return False
        near_best = self.last >= float(np.max(y)) - 0.25 * float(np.ptp(y))
        if self.threshold is None:
            return near_best and self.gain > _CLEARLY * self.spread
        begun = self.way(self.last) > _BEGUN and self.gain > 0.15 * (self.last - self.start)
        return near_best and (begun or self.gain > _SOON * (self.threshold - self.start))

    @cached_property
    def constant(self) -> bool:
        """Every training episode scored the same."""
        scores, last = self.values("train/score"), self.values("train/score_last")
        return len(scores) >= FEWEST_ROWS and is_constant(scores) and is_constant(last)

    @cached_property
    def alerts(self) -> dict[str, Recorded]:
        """What the run recorded, by id; how often is counted from the rows themselves."""
        held = _held(self.run.metrics_path)
        rows, steps = max(1, self.history.rows), self.history.column("env_steps")
        found = {}
        for event in self.events:
            name = event.get("event") == "alert" and event.get("id")
            if name not in IDS:
                continue
            at = held.get(name, [])
            found[name] = Recorded(
                name,
                str(event.get("level")),
                str(event.get("saw")),
                str(event.get("advice")),
                share=len(at) / rows,
                first=float(steps[at[0]]) if at and at[0] < len(steps) else _at(event),
                at_end=bool(at) and at[-1] >= 0.9 * rows - 1,
            )
        return found

    @cached_property
    def times(self) -> dict[str, float]:
        """Share of the wall time by part, largest first."""
        spent = {part: float(np.sum(self.values(f"time/{part}_s"))) for part in _PARTS}
        total = sum(spent.values())
        shares = {part: seconds / total for part, seconds in spent.items() if total and seconds}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _at(event: Mapping[str, Any]) -> float:
    return float(event.get("env_steps") or 0)


def _held(path: Path) -> dict[str, list[int]]:
    """Alert id -> the numbers of the rows that had it; no row is read as a whole for it."""
    found: dict[str, list[int]] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return found
    for number, line in enumerate(lines):
        begin = line.rfind(b'"alerts": [')
        if begin >= 0:
            for name in re.findall(rb'"([\w-]+)"', line[begin + 10 :]):
                found.setdefault(name.decode(), []).append(number)
    return found


def _largest(node: Any) -> Any:
    if isinstance(node, Mapping) and {"start", "points"} & set(node):
        return max(Schedule.model_validate(node).values())
    return node
