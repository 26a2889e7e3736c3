"""What the recipe of a run has: settings the run overrides, and variants that solve the task.

A recipe that is expected to reach the threshold is a run that went well: what differs from it is
the first suspect. Reads recipes only, never the run's own files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from spotter.config import RunConfig, advice, recipes
from spotter.config.diff import difference
from spotter.config.dump import flow
from spotter.config.foreign import recipe_of
from spotter.config.models import Expect

_LEARNING: Final = ("algo.", "policy.", "reward.", "env.")
_NOT_LEARNING: Final = (
    *("policy.engine", "policy.precision", "env.threshold", "env.backend", "env.workers"),
    *("env.restarts", "env.timeout_s"),
)
_COMPARED: Final = (*_LEARNING, "budget.", "eval.")
_MOST_VARIANTS: Final = 3


@dataclass(frozen=True)
class Overridden:
    """A setting that is not as the recipe has it."""

    path: str
    mine: object
    usual: object

    @property
    def words(self) -> str:
        return f"you override {self.path}={flow(self.mine)}; the recipe has {flow(self.usual)}"

    @property
    def change(self) -> str:
        """Back to the recipe."""
        return f"{self.path}={flow(self.usual)}"

    @property
    def teaches(self) -> bool:
        """Whether it can change what is learnt."""
        return self.path.startswith(_LEARNING) and self.path not in _NOT_LEARNING


@dataclass(frozen=True)
class Recipe:
    """The recipe of a run, beside the run."""

    address: str
    overridden: Mapping[str, Overridden]
    """By the name of the setting."""
    solves: bool
    """Whether it is expected to reach the run's threshold."""
    variants: tuple[str, ...]
    """Other variants that are, each with what is expected of it."""


NONE: Final = Recipe("", {}, False, ())


def beside(
    config: RunConfig, written: Mapping[str, object], address: str, threshold: float | None
) -> Recipe:
    """`written`: the config as the run saved it; what it does not mention was not overridden."""
    usual = recipe_of(address)
    own = usual.address if usual else address
    variants = tuple(_variants(config.env.id, own, threshold))[:_MOST_VARIANTS]
    if usual is None:
        return Recipe(address, {}, False, variants)
    found = {
        path: Overridden(path, mine, other)
        for path, (other, mine) in difference(usual.config.as_data(), config.as_data()).items()
        if path.startswith(_COMPARED) and advice.knows(written, path)
    }
    return Recipe(usual.address, found, _is_enough(usual.expect, threshold), variants)


def _is_enough(expect: Expect | None, threshold: float | None) -> bool:
    return expect is not None and (threshold is None or expect.score >= threshold)


def _variants(env_id: str, address: str, threshold: float | None) -> Iterator[str]:
    """Variants of the same environment that are expected to reach the threshold.

    Read as they stand: to check a variant is to load the environment's library.
    """
    path = recipes.files().get(env_id)
    if path is None or threshold is None:
        return
    source = recipes.open_source(path)
    for variant in recipes.variants(source):
        name = f"{env_id}:{variant}"
        promise = recipes.plain(source.section("variants", variant, "expect"))
        score, steps = promise.get("score"), promise.get("env_steps")
        good = isinstance(score, int | float) and isinstance(steps, int) and score >= threshold
        if good and name != address:
            yield f"{name} is expected to score {score:g} within {steps:,} env steps"
