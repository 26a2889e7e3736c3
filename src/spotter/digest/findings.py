"""What the doctor found, as a section of the digest."""

from spotter.digest.budget import Line, Section
from spotter.digest.facts import Facts
from spotter.display.words import share
from spotter.doctor.run import Diagnosis, Problem


def section(facts: Facts, diagnosis: Diagnosis) -> Section:
    lines = [Line(f"{facts.discreet.said(diagnosis.verdict)}\n", -1)]
    lines += [Line(_line(facts, problem), rank) for rank, problem in enumerate(diagnosis.problems)]
    spent = [f"{name} {share(part)}" for name, part in _spent(diagnosis)]
    if spent:
        lines.append(Line(f"- Time: {', '.join(spent)}", 90))
    if diagnosis.command:
        command = facts.discreet.said(diagnosis.command, 240)
        lines.append(Line(f"- Try first: `{command}`", 0.5))
    return Section(
        "## Doctor",
        lines,
        what="findings of the doctor",
        importance=90,
    )


def _spent(diagnosis: Diagnosis) -> list[tuple[str, float]]:
    """The largest parts of the wall time first."""
    return sorted(diagnosis.times.items(), key=lambda item: (-item[1], item[0]))


def _line(facts: Facts, problem: Problem) -> str:
    said = facts.discreet.said
    text = f"- {said(problem.id, 60)} ({problem.level}, {problem.about}): {said(problem.sentence)}"
    if problem.evidence:
        text += f" Evidence: {said('; '.join(problem.evidence))}."
    if problem.overrides:
        text += f" Change: `{said(' '.join(problem.overrides))}`."
    return text + (f" Then: {said(problem.then)}" if problem.then else "")
