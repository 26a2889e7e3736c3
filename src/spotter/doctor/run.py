"""What is wrong with a run: ranked plain sentences, the evidence, and the one change to try first.

`diagnose` reads the run's files only, without torch; with `environment=True` it also tries the
run's environment, in a process of its own. The rules are in rules.py.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from spotter.doctor import changes
from spotter.doctor.case import FEWEST_ROWS, Case, Recorded
from spotter.doctor.found import About, Found, Level
from spotter.doctor.remedies import remedy
from spotter.doctor.rules import BY_ID, LAST, LASTING, PLAYED, RULES, Rule
from spotter.metrics.alerts import PAGE
from spotter.metrics.rules import urgency
from spotter.rundir import trained
from spotter.rundir.history import History
from spotter.rundir.run import Run

_T = TypeVar("_T")
_LASTING: Final = 0.1
"""An alert that held on fewer of the rows, and is over, is told as a hint only."""


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
        return f"{PAGE}#{self.id}"


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor has to say about one run."""

    run: str
    verdict: str
    problems: tuple[Problem, ...]
    """The gravest cause first."""
    times: Mapping[str, float]
    """Share of the wall time by part, largest first."""
    command: str | None
    """Trains it again with the first change."""
    not_checked: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        return all(problem.level == "info" for problem in self.problems)


def diagnose(
    run: Run,
    *,
    environment: bool = False,
    history: History | None = None,
    trusted: bool = True,
) -> Diagnosis:
    """Everything the rules find in a run, causes before symptoms.

    `history`: its metrics, where they were read already. `trusted`: its config may name plug-ins of
    other packages, which are imported then.
    """
    case = Case(run, history, trusted)
    played: list[tuple[Rule, Found]] = []
    if environment and case.config is not None:
        from spotter.doctor.surroundings import examine

        played = [(BY_ID[name], found) for name, found in examine(case)]
    else:
        case.not_checked.append("the environment itself")
    problems = _agreeing(case, _ranked([*_found(case, played)]))
    if all(one.level == "info" for one in problems):
        problems = _ranked([*problems, *_last_word(case)])
    first = next((one for one in problems if one.overrides and one.about != "speed"), None)
    return Diagnosis(
        run=run.id,
        verdict=_verdict(case, problems),
        problems=tuple(problems),
        times=case.times,
        command=changes.command(case, first.overrides) if first else None,
        not_checked=tuple(case.not_checked),
    )


def _found(case: Case, played: list[tuple[Rule, Found]]) -> Iterator[Problem]:
    """Causes, then what they do not explain; `played` is what the environment itself showed."""
    judged = [(rule, seen) for rule in RULES if (seen := _judged(case, rule))]
    played = _unexplained(played, judged)
    known = {rule.id for rule, _ in played}
    found = [*played, *((rule, seen) for rule, seen in judged if rule.id not in known)]
    told: list[tuple[Rule, Found]] = []
    explained: dict[str, str] = {}
    for rule, seen in found:
        if rule.id in explained:
            continue
        told.append((rule, seen))
        above = {other.id for other, _ in told}  # what was told before is no symptom of this
        for name in rule.explains:
            if name not in above:
                explained.setdefault(name, rule.id)
    known = {rule.id for rule, _ in found}
    alerts = [one for one in case.alerts.values() if one.id not in {*explained, *known}]
    for alert in alerts:
        for name in LASTING.get(alert.id, ()) if _lasted(alert) else ():
            explained.setdefault(name, alert.id)
    below = [name for name in explained if explained[name] in LASTING]
    for rule, seen in told:
        if rule.id not in below:
            yield _problem(case, rule, seen, _alerts_of(case, explained, rule.id))
    for alert in alerts:
        if alert.id not in below:
            yield _from_alert(case, alert, _alerts_of(case, explained, alert.id))


def _unexplained(
    played: list[tuple[Rule, Found]], judged: list[tuple[Rule, Found]]
) -> list[tuple[Rule, Found]]:
    """Without what only playing shows, where the run's own files tell of it already."""
    known = {name for rule, _ in judged for name in rule.explains}
    return [(rule, seen) for rule, seen in played if rule not in PLAYED or rule.id not in known]


def _alerts_of(case: Case, explained: Mapping[str, str], cause: str) -> list[str]:
    return [name for name in case.alerts if explained.get(name) == cause]


def _judged(case: Case, rule: Rule) -> Found | None:
    def judge() -> Found | None:
        if rule.failing and (case.well or case.history.rows < FEWEST_ROWS):
            return None
        return rule.judge(case)

    return _guarded(case, f"rule {rule.id}", judge)


def _guarded(case: Case, what: str, ask: Callable[[], _T]) -> _T | None:
    """What fails costs its own line, never the page."""
    try:
        return ask()
    except Exception as error:
        case.not_checked.append(f"{what} failed: {type(error).__name__}: {error}")
        return None


def _last_word(case: Case) -> list[Problem]:
    seen = _judged(case, LAST)
    return [_problem(case, LAST, seen, [])] if seen else []


def _problem(case: Case, rule: Rule, seen: Found, also: Sequence[str]) -> Problem:
    return Problem(
        rule.id,
        seen.level or rule.level,
        seen.sentence,
        (*_evidence(rule, seen), *_changed(case, seen), *_explains(also)),
        changes.checked(case, seen.overrides),
        changes.fitting(case, seen.then or rule.then),
        rule.about,
    )


def _evidence(rule: Rule, seen: Found) -> tuple[str, ...]:
    """What nobody measured is no evidence; elsewhere a line may quote an error about a NaN."""
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


def _lasted(alert: Recorded) -> bool:
    return alert.share >= _LASTING or alert.at_end


def _from_alert(case: Case, alert: Recorded, also: Sequence[str]) -> Problem:
    """What the run itself objected to while it trained."""
    change = _guarded(case, f"the remedy for {alert.id}", lambda: remedy(case, alert.id))
    level: Level = "info"
    if alert.level == "critical":
        level = "critical"
    elif alert.level == "warning" and _lasted(alert) and not case.well:
        level = "warning"
    return Problem(
        alert.id,
        level,
        f"The run recorded the alert {alert.id}: {alert.saw}.",
        (
            f"on {alert.share:.0%} of the rows, first at {alert.first:,.0f} env steps",
            *_explains(also),
        ),
        changes.checked(case, change or ()),
        changes.fitting(case, f"{alert.advice[:1].upper()}{alert.advice[1:]}."),
        "speed" if alert.id == "fps-drop" else "learning",
    )


def _ranked(problems: list[Problem]) -> list[Problem]:
    """The gravest first; among equals, the order in which they were found."""
    return sorted(problems, key=lambda one: (urgency(one.level), one.about == "speed"))


def _agreeing(case: Case, problems: list[Problem]) -> list[Problem]:
    """Without those whose change would undo that of a graver one."""
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
    if case.solved:
        state = "Solved"
    elif case.info.get("status") == "running":
        state = f"Still training, {score}"
    else:
        state = f"Not solved, {score}" if case.threshold is not None else f"Ended with {score}"
    if grave:
        more = f" There {_are(len(grave) - 1)} besides." if len(grave) > 1 else ""
        return f"{state}. {grave[0].sentence}{more}"
    if case.history.rows < FEWEST_ROWS and not case.solved:
        return f"{state}; too early to say more: {case.history.updates} updates so far."
    return f"{state}; nothing is wrong with it that the doctor can see."


def _score(case: Case) -> str:
    name, score = case.judged
    return f"{name} {score:.4g}" if math.isfinite(score) else "no score yet"


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
    if diagnosis.not_checked:
        lines += ["", f"not checked: {'; '.join(diagnosis.not_checked)}"]
    return "\n".join(lines)


def as_data(diagnosis: Diagnosis) -> dict[str, Any]:
    """The same as plain data."""
    data = asdict(diagnosis) | {"healthy": diagnosis.healthy, "times": dict(diagnosis.times)}
    for entry, problem in zip(data["problems"], diagnosis.problems, strict=True):
        entry["link"] = problem.link
    return data
