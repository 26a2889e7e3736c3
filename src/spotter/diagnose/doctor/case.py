"""One run as the rules of the doctor see it: settings, curves, evaluations, alerts, in numbers.

Everything comes from the run's `RunView`, so that no number differs from what other commands show.
No torch, no environment.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from spotter.config import RunConfig, advice, validate
from spotter.config.foreign import check_names
from spotter.diagnose.doctor.recipe import NONE, Recipe, beside
from spotter.diagnose.doctor.stretch import is_constant, mean, median, parts, stretch
from spotter.rundir import trained
from spotter.rundir.alerts import Alert
from spotter.rundir.history import Doubles
from spotter.rundir.view import RunView
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


class Case:
    """Everything a rule may ask about one run."""

    def __init__(self, view: RunView, trusted: bool = True) -> None:
        self.view = view
        self.info, self.history = self.view.info, self.view.history
        self.evaluations = [one for one in view.evaluations if one.seeds == "eval"]
        self.not_checked: list[str] = []
        self.trusted = trusted
        self.changed = self.view.changed
        """Settings that were not the same all the way."""
        self.config = self._read_config()
        self.recipe = self._read_recipe()

    def _read_recipe(self) -> Recipe:
        if self.config is None:
            return NONE
        address = str(self.info.get("address") or "")
        found = beside(self.config, self.view.written, address, self.threshold)
        return replace(found, solves=False) if self.info.get("parent") else found

    def _read_config(self) -> RunConfig | None:
        """What most env steps were trained with, and if that makes no config, its last one."""
        written, said = self.view.config, "settings, which this version cannot read"
        if self.view.config_problem:
            self.not_checked.append(f"{said}: {self.view.config_problem}")
            return None
        try:
            if not self.trusted:
                said = "settings that name code of another package"
                check_names(written)
                said = "settings, which this version cannot read"
            config = validate(written)
        except UserError as error:
            self.not_checked.append(f"{said}: {error}")
            return None
        return self._mostly(written, config) if self.changed else config

    def _mostly(self, written: Mapping[str, object], last: RunConfig) -> RunConfig:
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
        return advice.value_of(self.settings, path)

    def knows(self, path: str) -> bool:
        """Whether its config has a setting of that dotted name, if only as null."""
        return advice.knows(self.settings, path)

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

    @property
    def _leaves(self) -> list[Mapping[str, Any]]:
        """What is observed, leaf by leaf."""
        leaves = self.view.spaces.get("observation", {}).values()
        return [leaf for leaf in leaves if isinstance(leaf, Mapping)]

    @property
    def _action(self) -> Mapping[str, Any]:
        return self.view.spaces.get("action", {})

    @cached_property
    def images(self) -> bool:
        """Whether anything that is seen is an image; from the newest checkpoint."""
        return any(leaf.get("kind") == "image" for leaf in self._leaves)

    @cached_property
    def vector(self) -> bool:
        """Whether all observations are plain numbers, whose scale can be judged."""
        kinds = {leaf.get("kind") for leaf in self._leaves}
        return kinds == {"vector"}

    @cached_property
    def countable(self) -> bool:
        """Whether the state_count signal can distinguish states: one leaf, discrete or bounded."""
        leaves = self._leaves
        if len(leaves) != 1 or leaves[0].get("kind") == "discrete":
            return len(leaves) == 1
        ends = [float(end) for part in ("low", "high") for end in leaves[0].get(part) or ()]
        bounded = all(abs(end) < _UNBOUNDED for end in ends)
        return leaves[0].get("kind") == "vector" and bounded and 2 <= len(ends) <= 2 * _MOST_BINNED

    @cached_property
    def continuous(self) -> bool:
        """Whether actions are numbers, not choices."""
        return self._action.get("kind") == "box"

    @cached_property
    def actions(self) -> int | None:
        """How many there are to choose from; None where that is unknown or no whole number."""
        nvec = self._action.get("nvec") or self._choices()
        return int(np.prod(nvec)) if nvec else None

    @cached_property
    def action_numbers(self) -> int:
        """How many numbers an action has; 0 where actions are choices."""
        if self.actions is not None:
            return 0
        shape = self._action.get("shape") or [1]
        return max(1, int(np.prod(shape)))

    def _choices(self) -> list[int]:
        shares = [key for key in self.history.keys if key.startswith("action/share/")]
        return [len(shares)] if shares else []

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
        return mean(self.part(key, 0.0, 0.25))

    def late(self, key: str) -> float:
        """Median over the last quarter."""
        return median(self.part(key, 0.75, 1.0))

    def part(self, key: str, begin: float, end: float) -> Doubles:
        """Values between two shares of the run's env steps."""
        return stretch(self.history.curve(key), begin, end)

    def highest(self, key: str) -> float:
        """The largest mean over a tenth of the run."""
        return max(map(mean, parts(self.history.curve(key), 10)), default=math.nan)

    @property
    def env_steps(self) -> int:
        return self.view.env_steps

    # --- how it went -----------------------------------------------------------------------------

    @property
    def threshold(self) -> float | None:
        return self.view.threshold

    @property
    def solved(self) -> bool:
        """The test has the last word, an evaluation before there was one."""
        tested = self.view.solved
        return self.view.steps_to_threshold is not None if tested is None else tested

    @property
    def start(self) -> float:
        """Mean training score of the first tenth."""
        return mean(self.part("train/score", 0.0, 0.1))

    @property
    def last(self) -> float:
        """Mean training score of the last tenth."""
        return mean(self.part("train/score", 0.9, 1.0))

    @property
    def best(self) -> float:
        """The best tenth of the training scores."""
        return self.highest("train/score")

    @property
    def judged(self) -> tuple[str, float]:
        """The one score it is judged by, with its full name: test, best evaluation, training."""
        score = self.view.score
        if score is None:
            return "training score", self.last
        return "test score" if score.seeds == "test" else "best evaluation", score.mean

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
        curve = self.history.curve("train/score")
        if len(curve[1]) < FEWEST_ROWS:
            return math.nan
        return max(float(np.std(part)) for part in parts(curve, 4))

    @cached_property
    def gain(self) -> float:
        """How much better the last quarter of the training scores is than the one before."""
        if len(self.values("train/score")) < FEWEST_ROWS:
            return 0.0
        return mean(self.part("train/score", 0.75, 1.0)) - mean(self.part("train/score", 0.5, 0.75))

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
    def alerts(self) -> dict[str, Alert]:
        """What the run recorded, by id; what held in most updates first."""
        return {alert.id: alert for alert in sorted(self.view.alerts, key=lambda a: -a.updates)}

    @cached_property
    def times(self) -> dict[str, float]:
        """Share of the wall time by part, largest first."""
        spent = {part: float(np.sum(self.values(f"time/{part}_s"))) for part in _PARTS}
        total = sum(spent.values())
        shares = {part: seconds / total for part, seconds in spent.items() if total and seconds}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))
