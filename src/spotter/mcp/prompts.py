"""Prompts: ways of working an agent can be handed, each a plain text beside this module.

The texts name the server's tools. What a caller puts in goes in as data: on one line, not too long.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import Template
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from spotter.mcp import safe
from spotter.mcp.desk import Desk
from spotter.pages.digest.private import Discreet
from spotter.rundir import registry, selectors
from spotter.rundir.identity import Info
from spotter.text.numbers import count, number
from spotter.types import UserError

_TEXTS: Final = Path(__file__).parent / "texts"
_MOST_TRAINED: Final = 20
_MOST_ROUNDS: Final = 50
_MOST_STEPS: Final = 10**12
_MOST_MINUTES: Final = 60 * 24 * 365


class Prompt(NamedTuple):
    """One way of working."""

    function: Callable[..., str]
    title: str
    description: str

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(name for name in self.function.__annotations__ if name != "return")


Run = Annotated[str, Field(description="@last, @best-of:EnvId, an id, how it begins, or a tag")]
Address = Annotated[str, Field(description="recipe or environment, such as CartPole-v1:ppo")]
Steps = Annotated[int, Field(description="env steps of all runs together")]
Minutes = Annotated[float, Field(description="minutes of training of all runs together")]
Rounds = Annotated[int, Field(description="changes to try, one at a time")]
Goal = Annotated[str, Field(description="what they want to learn, in their own words")]


_MAY_ACT: Final = {
    "environment": " If it suspects the environment, ask again with `environment=true` (slower).",
    "play": " (with `play=true` if none was captured)",
    "new": ", or with `play=true` a new one of the best checkpoint",
    "conclude": "Change nothing and start nothing unless you are asked to; `note` your conclusion "
    "on the run.",
}
_READ_ONLY: Final = {
    "environment": " If it suspects the environment, say so: this server makes none.",
    "play": " (if one was captured)",
    "new": "",
    "conclude": "This server is read-only: it changes and starts nothing.",
}
"""What differs in the texts, by what the server may do."""


def tuning(trust: bool) -> Callable[..., str]:
    """The prompt `tune`; with the person's trust, of a recipe that names a package too."""

    def tune(
        address: Address,
        budget_steps: Steps = 2_000_000,
        budget_minutes: Minutes = 30.0,
        rounds: Rounds = 6,
    ) -> str:
        """The loop: look, hypothesis, launch, compare, keep or revert."""
        config = safe.resolved(_one_line(address), (), trust).config
        for name, value, most in (
            ("budget_steps", budget_steps, _MOST_STEPS),
            ("budget_minutes", budget_minutes, _MOST_MINUTES),
            ("rounds", rounds, _MOST_ROUNDS),
        ):
            if not 0 < value <= most:
                raise UserError(f"{name} should be above 0 and at most {count(most)}, got {value}")
        return _filled(
            "tune",
            address=_one_line(address),
            env=config.env.id,
            budget_steps=count(budget_steps),
            budget_minutes=number(budget_minutes),
            rounds=str(rounds),
        )

    return tune


def about_run(name: str, desk: Desk) -> Callable[..., str]:
    """A prompt about one run, which must be there; its text fits what the server may do."""
    phrases = _READ_ONLY if desk.terms.read_only else _MAY_ACT

    def fill(run: Run = "@last") -> str:
        return _filled(name, run=desk.select(run).id, **phrases)

    fill.__name__ = name
    return fill


def next_lesson(wish: Goal = "") -> str:
    """What to learn next, seen from what was trained here."""
    asked = f'They say: "{_one_line(wish)}"' if wish.strip() else ""
    return _filled("next_lesson", wish=asked, trained=_trained())


def _trained() -> str:
    """A line per recipe: how often, the best score, whether it was solved."""
    of_recipe: dict[str, list[Info]] = {}
    for info in registry.listing().infos:
        of_recipe.setdefault(_one_line(str(info["address"])), []).append(info)
    lines = [_recipe(address, infos) for address, infos in of_recipe.items()]
    if not lines:
        return "- nothing yet"
    more = len(lines) - _MOST_TRAINED
    rest = [f"- and {more} more recipes"] if more > 0 else []
    return "\n".join([*lines[:_MOST_TRAINED], *rest])


def _recipe(address: str, infos: list[Info]) -> str:
    times = "once" if len(infos) == 1 else f"{len(infos)} times"
    best = max(map(selectors.value, infos))
    score = "never scored" if best == float("-inf") else f"best score {number(best)}"
    solved = "solved" if any(info["solved"] for info in infos) else "not solved"
    return f"- {address}: {times}, {score}, {solved}"


def _one_line(text: str) -> str:
    """An argument, or a name from a run, as data: it must not look like a part of the prompt."""
    return Discreet(()).said(text, 120)


def _filled(name: str, **words: str) -> str:
    return _text(name).substitute(words).strip() + "\n"


@cache
def _text(name: str) -> Template:
    return Template((_TEXTS / f"{name}.md").read_text(encoding="utf-8"))


def prompts(desk: Desk) -> tuple[Prompt, ...]:
    """Every prompt these terms allow: without runs to start, there is nothing to tune."""
    tune = Prompt(
        tuning(desk.terms.trust),
        "Tune a recipe",
        "Improve a recipe in rounds within a budget: look, hypothesis, launch, compare, keep or "
        "revert.",
    )
    return (
        *(() if desk.terms.read_only else (tune,)),
        Prompt(
            about_run("diagnose", desk),
            "Diagnose a run",
            "Find out what is wrong with a run, and what to try.",
        ),
        Prompt(
            next_lesson,
            "The next lesson",
            "Propose what a learner should train next, from what was trained here.",
        ),
        Prompt(
            about_run("review_episode", desk),
            "Review an episode",
            "Watch an episode and name the decisive mistake.",
        ),
    )
