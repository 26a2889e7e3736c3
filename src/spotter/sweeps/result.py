"""Several seeds trained one after the other in this process: what they say together."""

import html
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from spotter.intervals import Interval, over_seeds
from spotter.system.interrupts import EXIT_CODES
from spotter.text.numbers import plural, plus_minus
from spotter.training.run import Result
from spotter.types import UserError


@dataclass(frozen=True)
class GroupResult:
    """The results of a group, one per seed; iterate over it, or read what they say together."""

    name: str
    results: tuple[Result, ...]

    @property
    def score(self) -> Interval | None:
        """Mean test score and its 95 % interval over seeds; None if no run was tested."""
        scores = [result.score for result in self.results if result.score is not None]
        return over_seeds(scores) if scores else None

    @property
    def solved(self) -> bool:
        """Whether every seed is."""
        return all(result.solved for result in self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        return f"<GroupResult {self._sentence}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, and every run with its chart."""
        runs = "".join(result._repr_html_() for result in self.results)
        summary = html.escape(self._sentence)
        return f"<details><summary>{summary}</summary>{runs}</details>"

    @property
    def _sentence(self) -> str:
        found = self.score
        if found is None:
            return f"{self.name}: not scored"
        solved = ""
        if any(result.threshold is not None for result in self.results):
            count = sum(result.solved for result in self.results)
            solved = f", {count} of {len(self.results)} solved"
        mean = plus_minus(found.mean, found.half)
        return f"{self.name}: score {mean} over {plural(found.count, 'seed')}{solved}"


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Each once; `UserError` if there is none, or one that is no seed."""
    found = list(dict.fromkeys(seeds))
    wrong = [seed for seed in found if isinstance(seed, bool) or not isinstance(seed, int)]
    if wrong or not found:
        got = repr(wrong[0]) if wrong else "none"
        raise UserError(f"seeds are whole numbers, such as range(5); got {got}")
    return found


def train_each(name: str, seeds: Iterable[int], train: Callable[[int], Result]) -> GroupResult:
    """One run per seed; a run that was interrupted is the last."""
    results = []
    for seed in seeds:
        results.append(train(seed))
        if results[-1].reason in EXIT_CODES:
            break
    return GroupResult(name, tuple(results))
