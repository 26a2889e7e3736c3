"""What is wrong with a run: ranked plain sentences, the evidence, and the one change to try first.

`diagnose` reads the run's files only, without torch; with `environment=True` it also tries the
run's environment, in a process of its own. The rules are in rules.py.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from spotter.config import changed
from spotter.config.advice import fitting
from spotter.diagnose.alerts import HELP
from spotter.diagnose.doctor import changes
from spotter.diagnose.doctor.case import FEWEST_ROWS, Case
from spotter.diagnose.doctor.found import About, Found, Level
from spotter.diagnose.doctor.outcome import overridden
from spotter.diagnose.rule import Rule, urgency
from spotter.diagnose.rules import ALERTS, BY_ID, LAST, LASTING, OVERRIDDEN, PLAYED, RULES
from spotter.rundir import trained
from spotter.rundir.alerts import Alert
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.text.numbers import count, number, often, plural

_T = TypeVar("_T")
_BUDGET: Final = "budget.env_steps"
_LASTING: Final = 0.1
"""An alert that held on fewer of the rows, and is over, is reported as a hint only."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    id: str
    level: Level
    sentence: str
    evidence: tuple[str, ...]
    overrides: tuple[str, ...]
    """The one change to try first; empty where no setting helps."""
    then: str
    about: About

    @property
    def link(self) -> str:
        return f"{HELP} doctor.{self.id}"


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor has to say about one run."""

    run: str
    verdict: str
    problems: tuple[Problem, ...]
    """The most serious cause first."""
    times: Mapping[str, float]
    """Share of the wall time by part, largest first."""
    change: tuple[str, ...]
    """What to change first; of several faults that a recipe does not have, all of them."""
    command: str | None
    """Trains it again with that change."""
    variants: tuple[str, ...]
    """Other recipes for the same environment that are expected to solve it."""
    not_checked: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        return all(problem.level == "info" for problem in self.problems)


def diagnose(
    run: Run | RunView,
    *,
    environment: bool = False,
    trusted: bool = True,
) -> Diagnosis:
    """Everything the rules find in a run, causes before symptoms.

    `run`: its view, where it was read already. `trusted`: its config may name plug-ins of
    other packages, which are imported then.
    """
    view = run if isinstance(run, RunView) else RunView(run)
    case = Case(view, trusted)
    played: list[tuple[Rule, Found]] = []
    if environment and case.config is not None:
        from spotter.diagnose.doctor.surroundings import examine

        played = [(BY_ID[name], found) for name, found in examine(case)]
    else:
        case.not_checked.append("the environment itself")
    problems = _agreeing(case, _ranked(case, [*_found(case, played)]))
    if all(one.level == "info" for one in problems):
        problems = _ranked(case, [*problems, *_last_word(case)])
    change = _first_change(case, problems)
    return Diagnosis(
        run=run.id,
        verdict=_verdict(case, problems),
        problems=tuple(problems),
        times=case.times,
        change=change,
        command=changes.command(case, change) if change else None,
        variants=() if case.solved else case.recipe.variants,
        not_checked=tuple(case.not_checked),
    )


def _first_change(case: Case, problems: Sequence[Problem]) -> tuple[str, ...]:
    """That of the first problem, and with it every setting that a recipe which solves it has."""
    able = [one for one in problems if one.overrides and one.about != "speed"]
    if not able:
        return ()
    wanted = {changes.name(one): one for one in able[0].overrides}
    for problem in able[1:]:
        if problem.level == able[0].level and _is_suspect(case, problem):
            wanted = {changes.name(one): one for one in problem.overrides} | wanted
    return changes.checked(case, tuple(wanted.values())) or able[0].overrides


def _is_suspect(case: Case, problem: Problem) -> bool:
    """Whether it is about a setting that differs from a recipe that is expected to solve it."""
    known = case.recipe.overridden
    own = [known[path] for path in map(changes.name, problem.overrides) if path in known]
    return case.recipe.solves and any(one.teaches or one.path == _BUDGET for one in own)


def _found(case: Case, played: list[tuple[Rule, Found]]) -> Iterator[Problem]:
    """Causes, then what they do not explain; `played` is what the environment itself showed."""
    judged = [(rule, seen) for rule in RULES if (seen := _judged(case, rule))]
    played = _unexplained(played, judged)
    known = {rule.id for rule, _ in played}
    found = [*played, *((rule, seen) for rule, seen in judged if rule.id not in known)]
    reported: list[tuple[Rule, Found]] = []
    explained: dict[str, str] = {}
    for rule, judged_so in found:
        now = judged_so if rule.id != OVERRIDDEN.id else _rest_of_recipe(case, reported)
        if rule.id in explained or now is None:
            continue
        reported.append((rule, now))
        if now.level == "info":
            continue
        above = {
            other.id for other, _ in reported
        }  # what was reported before is no symptom of this
        for name in rule.explains:
            if name not in above:
                explained.setdefault(name, rule.id)
    known = {rule.id for rule, _ in found}
    unexplained = ALERTS.keys() - explained.keys() - known
    alerts = [one for one in case.alerts.values() if one.id in unexplained]
    for alert in alerts:
        for name in LASTING.get(alert.id, ()) if _lasted(alert) else ():
            explained.setdefault(name, alert.id)
    below = [name for name in explained if explained[name] in LASTING]
    for rule, seen in reported:
        if rule.id not in below:
            yield _problem(case, rule, seen, _alerts_of(case, explained, rule.id))
    for alert in alerts:
        if alert.id not in below:
            yield _from_alert(case, alert, _alerts_of(case, explained, alert.id))


def _rest_of_recipe(case: Case, reported: Sequence[tuple[Rule, Found]]) -> Found | None:
    """What else differs from the recipe, besides what earlier causes are about."""
    return overridden(case, {changes.name(one) for _, seen in reported for one in seen.overrides})


def _unexplained(
    played: list[tuple[Rule, Found]], judged: list[tuple[Rule, Found]]
) -> list[tuple[Rule, Found]]:
    """Without what only playing shows, where the run's own files show it already."""
    known = {name for rule, _ in judged for name in rule.explains}
    return [(rule, seen) for rule, seen in played if rule not in PLAYED or rule.id not in known]


def _alerts_of(case: Case, explained: Mapping[str, str], cause: str) -> list[str]:
    return [name for name in case.alerts if name in ALERTS and explained.get(name) == cause]


def _judged(case: Case, rule: Rule) -> Found | None:
    def judge() -> Found | None:
        if rule.failing and (case.well or case.history.rows < FEWEST_ROWS):
            return None
        return rule.offline(case) if rule.offline else None

    return _guarded(case, f"rule {rule.id}", judge)


def _guarded(case: Case, what: str, ask: Callable[[], _T]) -> _T | None:
    """What fails costs its own line, never the page."""
    try:
        return ask()
    except Exception as error:
        case.not_checked.append(f"{what} failed: {type(error).__name__}: {error}")
        return None


def _last_word(case: Case) -> list[Problem]:
    found = [(rule, seen) for rule in LAST if (seen := _judged(case, rule))]
    return [_problem(case, rule, seen, []) for rule, seen in found[:1]]


def _problem(case: Case, rule: Rule, seen: Found, also: Sequence[str]) -> Problem:
    overrides = changes.checked(case, _settled(case, seen.overrides))
    return Problem(
        rule.id,
        seen.level or rule.level,
        seen.sentence,
        (
            *_beside_recipe(case, rule, seen, overrides),
            *_evidence(rule, seen),
            *_with_gamma(case, overrides),
            *_changed(case, seen),
            *_explains(also),
        ),
        overrides,
        _fitting(case, seen.then or rule.then),
        rule.about,
    )


def _fitting(case: Case, text: str) -> str:
    return text if case.config is None else fitting(case.config, text)


def _settled(case: Case, overrides: Sequence[str]) -> tuple[str, ...]:
    """With the recipe's own values, and with a scale that fits another discount."""
    return changes.with_scale(case, changes.as_in_recipe(case, tuple(filter(None, overrides))))


def _beside_recipe(case: Case, rule: Rule, seen: Found, overrides: Sequence[str]) -> Iterator[str]:
    """What the run overrides of all that a finding would change."""
    if rule.id == OVERRIDDEN.id:
        return
    paths = dict.fromkeys(changes.name(one) for one in (*seen.overrides, *overrides))
    for path in paths:
        if path in case.recipe.overridden:
            yield case.recipe.overridden[path].words


def _with_gamma(case: Case, overrides: Sequence[str]) -> Iterator[str]:
    gamma = next((one for one in overrides if changes.name(one) == "algo.gamma"), None)
    scale = next((one for one in overrides if changes.name(one) == "reward.scale"), None)
    if gamma and scale and case.config is not None:
        size = changes.returns_at(case, changes.largest_gamma(changed(case.config, [gamma])))
        yield f"with {gamma} returns would be about {size:,.2g} at the present reward.scale"


def _evidence(rule: Rule, seen: Found) -> tuple[str, ...]:
    """What was not measured is no evidence; elsewhere a line may quote an error about a NaN."""
    if rule.about != "learning":
        return seen.evidence
    return tuple(line for line in seen.evidence if not re.search(r"\bnan\b", line))


def _changed(case: Case, seen: Found) -> Iterator[str]:
    """Of a setting that a finding is about: that it had this value for a part of the run only."""
    said = "\n".join((*seen.evidence, *seen.overrides))
    for name, spans in case.changed.items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", said):
            yield f"{name} changed on the way: {trained.words(spans)}"


def _explains(also: Sequence[str]) -> tuple[str, ...]:
    return (f"alerts it explains: {', '.join(also)}",) if also else ()


def _lasted(alert: Alert) -> bool:
    return (alert.share or 0.0) >= _LASTING or alert.at_end


def _from_alert(case: Case, alert: Alert, also: Sequence[str]) -> Problem:
    """What the run itself objected to while it trained."""
    rule = BY_ID[alert.id]
    change = _guarded(case, f"the remedy for {alert.id}", lambda: _remedy(case, rule))
    level: Level = "info"
    if alert.level == "critical":
        level = "critical"
    elif alert.level == "warning" and _lasted(alert) and not case.well and rule.about != "speed":
        level = "warning"
    return Problem(
        alert.id,
        level,
        f"The run recorded the alert {alert.id}: {alert.saw}.",
        (
            f"{often(alert.updates, alert.share or 0.0)}, first at "
            f"{count(alert.first or 0)} env steps",
            *_explains(also),
        ),
        changes.checked(case, _settled(case, change or ())),
        _fitting(case, f"{alert.advice[:1].upper()}{alert.advice[1:]}."),
        rule.about,
    )


def _remedy(case: Case, rule: Rule) -> tuple[str, ...]:
    """Empty where no setting is at fault, or the run's settings cannot be read."""
    return (rule.remedy(case),) if rule.remedy and case.config is not None else ()


def _ranked(case: Case, problems: list[Problem]) -> list[Problem]:
    """The most serious first; among equals what differs from the recipe, then as found."""

    def rank(one: Problem) -> tuple[int, bool, bool]:
        differs = one.about == "environment" or _is_suspect(case, one)
        return urgency(one.level), one.about == "speed", case.recipe.solves and not differs

    return sorted(problems, key=rank)


def _agreeing(case: Case, problems: list[Problem]) -> list[Problem]:
    """Without those whose change would undo that of a more serious one."""
    wanted: dict[str, bool] = {}
    kept = []
    for one in problems:
        own = changes.directions(case, one.overrides)
        if all(wanted.get(path, up) == up for path, up in own.items()):
            kept.append(one)
            wanted = own | wanted
    return kept


def _verdict(case: Case, problems: list[Problem]) -> str:
    grave = [one for one in problems if one.level != "info"]
    score = _score(case)
    if case.view.solved:
        state = f"Solved, {score}"
    elif case.solved:
        state = f"An evaluation reached the threshold, {score}"
    elif case.info.get("status") == "running":
        state = f"Still training, {score}"
    else:
        state = f"Not solved, {score}" if case.threshold is not None else f"Ended with {score}"
    if grave:
        more = f" There {_are(len(grave) - 1)} besides." if len(grave) > 1 else ""
        return f"{state}. {grave[0].sentence}{more}"
    if case.history.rows < FEWEST_ROWS and not case.solved:
        return f"{state}; too early to say more: {plural(case.history.updates, 'update')} so far."
    return f"{state}; nothing is wrong with it that the doctor can see."


def _score(case: Case) -> str:
    name, score = case.judged
    if not math.isfinite(score):
        return "no score yet"
    found = case.view.score
    half = f" ± {number(found.half)}" if found and found.half is not None else ""
    over = f" over {plural(found.episodes, 'episode')}" if found and found.episodes else ""
    return f"{name} {number(score)}{half}{over}"


def _are(number: int) -> str:
    return "is one more problem" if number == 1 else f"are {number} more problems"


# --- for people and for programs -----------------------------------------------------------------


def as_text(diagnosis: Diagnosis) -> str:
    """Plain text: the verdict, then each problem with its evidence and its change."""
    lines = [f"run {diagnosis.run}", diagnosis.verdict]
    for place, one in enumerate(diagnosis.problems, 1):
        lines += ["", f"{place}. {one.level}: {one.sentence} [{one.id}]"]
        lines += [f"   saw: {line}" for line in one.evidence]
        if one.overrides:
            lines.append(f"   try: {' '.join(one.overrides)}")
        if one.then:
            lines.append(f"   then: {one.then}")
        lines.append(f"   read: {one.link}")
    if diagnosis.times:
        shares = ", ".join(f"{part} {share:.0%}" for part, share in diagnosis.times.items())
        lines += ["", f"time: {shares}"]
    if diagnosis.command:
        lines += ["", f"first: {diagnosis.command}"]
    if diagnosis.variants:
        lines += ["", *(f"or: {one}" for one in diagnosis.variants)]
    if diagnosis.not_checked:
        lines += ["", f"not checked: {'; '.join(diagnosis.not_checked)}"]
    return "\n".join(lines)


def as_data(diagnosis: Diagnosis) -> dict[str, Any]:
    """The same as plain data."""
    data = asdict(diagnosis) | {"healthy": diagnosis.healthy, "times": dict(diagnosis.times)}
    for entry, problem in zip(data["problems"], diagnosis.problems, strict=True):
        entry["link"] = problem.link
    return data
