"""A page of sections within a budget of tokens: the lines of most worth first.

Every section is a list of lines with a rank each. A line is worth what its section is worth, less
for every line of it that goes before. Lines come onto the page in the order of their worth until
it is full; it shows them in the order of the sections, and says what was left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from spotter.pages.digest.tokens import clip, tokens

_SHARE: Final = 8
"""A line that cannot be left out takes at most this part of the budget."""


@dataclass(frozen=True)
class Line:
    """One item of a section; of two, the one with the smaller rank is worth more."""

    text: str
    rank: float = 0.0


@dataclass(frozen=True)
class Section:
    """A heading, a few words that stay with it, and items that may be left out."""

    title: str
    lines: Sequence[Line]
    what: str = "lines"
    """What the items are called when some are left out."""
    importance: float = 0.0
    """What its first line is worth."""
    fade: float = 5.0
    """How much less each line is worth than the one before."""
    intro: str = ""
    needed: int = 0
    """Items without which the page makes no sense."""


class _Place:
    """A section on the page: how many of its lines are there, and what they cost."""

    def __init__(self, section: Section) -> None:
        self.section = section
        count = len(section.lines)
        self._ranked = sorted(range(count), key=lambda i: section.lines[i].rank)
        self.kept = 0

    @property
    def frame(self) -> str:
        intro = f"{self.section.intro}\n\n" if self.section.intro else ""
        return f"{self.section.title}\n\n{intro}"

    def text_of(self, place: int) -> str:
        """What the line of that rank adds to the page."""
        line = self.section.lines[self._ranked[place]].text + "\n"
        return line if place else f"{self.frame}{line}\n"

    def text(self) -> str:
        if not self.kept:
            return ""
        there = sorted(self._ranked[: self.kept])
        return self.frame + "".join(f"{self.section.lines[i].text}\n" for i in there) + "\n"

    @property
    def missing(self) -> str:
        """`3 of 9 curves`, or the whole section by its name."""
        count = len(self.section.lines)
        if self.kept == count:
            return ""
        if not self.kept:
            return self.section.title.lstrip("# ").lower()
        return f"{count - self.kept} of {count} {self.section.what}"


def page(sections: Sequence[Section], budget: int) -> str:
    """The sections in their order, as much of them as `budget` tokens allow."""
    places = [_Place(section) for section in sections if section.lines]
    whole = sum(tokens(p.text_of(i)) for p in places for i in range(len(p.section.lines)))
    if whole <= budget:
        _fill(places, budget)
    else:
        places = [_Place(_bounded(place.section, budget // _SHARE)) for place in places]
        _fill(places, budget - _reserve(places, budget))
    text = "".join(place.text() for place in places) + _footer(places, budget)
    return text.rstrip("\n") + "\n"


def _fill(places: Sequence[_Place], budget: int) -> None:
    """By worth; a line that does not fit ends its section."""
    for place in places:
        for _ in range(place.section.needed):
            budget -= tokens(place.text_of(place.kept))
            place.kept += 1
    for place, number in _by_worth(places):
        if place.kept == number and (cost := tokens(place.text_of(number))) <= budget:
            budget -= cost
            place.kept += 1


def _by_worth(places: Sequence[_Place]) -> list[tuple[_Place, int]]:
    every = [(place, number) for place in places for number in range(len(place.section.lines))]

    def worth(entry: tuple[_Place, int]) -> float:
        section = entry[0].section
        return section.importance - section.fade * entry[1]

    return sorted(every, key=worth, reverse=True)


def _bounded(section: Section, most: int) -> Section:
    """With lines that cannot be left out no longer than the page can bear."""
    if not section.needed:
        return section
    lines = [Line(clip(line.text, most), line.rank) for line in section.lines]
    return replace(section, title=clip(section.title, most), lines=lines, intro="")


def _reserve(places: Sequence[_Place], budget: int) -> int:
    """Tokens of the longest sentence about what is missing that there could be."""
    longest = [
        max(place.section.title.lstrip("# ") * (not place.section.needed), part, key=tokens)
        for place in places
        for count in [len(place.section.lines)]
        for part in [f"{count} of {count} {place.section.what}"]
    ]
    return tokens(_sentence(budget, longest))


def _footer(places: Sequence[_Place], budget: int) -> str:
    missing = [place.missing for place in places if place.missing]
    return _sentence(budget, missing) if missing else ""


def _sentence(budget: int, missing: Sequence[str]) -> str:
    return f"Left out to stay within {budget:,} tokens: {', '.join(missing)}.\n"
