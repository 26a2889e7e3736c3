"""What the doctor found, as a section of the digest."""

from typing import Final

from spotter.diagnose.doctor.run import Diagnosis, Problem
from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.text.numbers import share

_LONGEST: Final = 1000


def section(facts: Facts, diagnosis: Diagnosis) -> Section:
    lines = [Line(f"{facts.discreet.said(diagnosis.verdict)}\n", -1)]
    lines += [Line(_line(facts, problem), rank) for rank, problem in enumerate(diagnosis.problems)]
    spent = [f"{name} {share(part)}" for name, part in _spent(diagnosis)]
    if spent:
        lines.append(Line(f"- Time: {', '.join(spent)}", 90))
    command = _whole(facts, diagnosis.command or "")
    if command:
        lines.append(Line(f"- Try first: `{command}`", 0.5))
    lines += [Line(f"- Or: {one}", 80) for one in diagnosis.variants]
    return Section(
        "## Doctor",
        lines,
        what="findings of the doctor",
        importance=90,
    )


def _spent(diagnosis: Diagnosis) -> list[tuple[str, float]]:
    """The largest parts of the wall time first."""
    return sorted(diagnosis.times.items(), key=lambda item: (-item[1], item[0]))


def _whole(facts: Facts, words: str) -> str:
    """Something to run or set, or nothing of it: its end is what matters."""
    said = facts.discreet.said(words, len(words) + _LONGEST)
    return said if len(said) <= _LONGEST else ""


def _line(facts: Facts, problem: Problem) -> str:
    said = facts.discreet.said
    text = f"- {said(problem.id, 60)} ({problem.level}, {problem.about}): {said(problem.sentence)}"
    if problem.evidence:
        text += f" Evidence: {said('; '.join(problem.evidence))}."
    change = _whole(facts, " ".join(problem.overrides))
    if change:
        text += f" Change: `{change}`."
    return text + (f" Then: {said(problem.then)}" if problem.then else "")
