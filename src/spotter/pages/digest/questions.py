"""What the files of a run cannot tell, as questions, each with what would answer it."""

from collections.abc import Iterator, Sequence
from typing import Final

from spotter.pages.digest.budget import Line, Section
from spotter.pages.digest.facts import Facts
from spotter.pages.digest.others import Other
from spotter.rundir.trend import trend
from spotter.text.numbers import count, number, plural

_GAP: Final = 0.25
"""Part of the better of two scores by which they differ, to be worth a question."""


def section(facts: Facts, others: Sequence[Other], unchecked: Sequence[str]) -> Section:
    lines = [Line(f"- {text}", rank) for rank, text in enumerate(_questions(facts, others))]
    lines += [Line(f"- Not checked by the doctor: {text}", 50) for text in unchecked]
    return Section(
        "## Open questions",
        lines,
        what="open questions",
        importance=60,
        intro="What these files cannot tell." if lines else "",
    )


def _questions(facts: Facts, others: Sequence[Other]) -> Iterator[str]:
    yield from _about_ending(facts)
    yield from _about_score(facts)
    yield from _about_more_steps(facts)
    yield from _about_seeds(facts, others)
    yield from _about_changes(facts, others)
    if not any((facts.view.run.folder / "episodes").glob("*/trace.json")):
        yield (
            "What does it do on the screen? No episode has been captured "
            f"(`spotter inspect {facts.view.info['id']}`)."
        )


def _about_ending(facts: Facts) -> Iterator[str]:
    status = facts.view.info["status"]
    if status == "silent":
        yield "Why did it fall silent? Its process is gone and left no reason; see run.log."
    elif status == "running":
        yield "How will it end? It is still training, and everything here may change."


def _about_score(facts: Facts) -> Iterator[str]:
    view = facts.view
    judged = view.score
    if judged is None:
        yield "How good is it? It was never scored on held-out seeds (`spotter eval`)."
        return
    if judged.seeds != "test":
        yield "Does its best evaluation hold on test seeds? It is the best of several and flatters."
    half, threshold = judged.half, view.threshold
    if half and threshold is not None and abs(judged.mean - threshold) < half:
        yield (
            f"Is it above the threshold of {number(threshold)}? {number(judged.mean)} ± "
            f"{number(half)} over {plural(judged.episodes, 'episode')} does not decide it."
        )
    training = facts.view.history.last("train/score")
    gap = training - judged.mean
    if abs(gap) > _GAP * max(abs(training), abs(judged.mean)):
        which = "better" if gap > 0 else "worse"
        yield (
            f"Why is it {which} in training ({number(training)}) than when it is evaluated "
            f"({number(judged.mean)})? Sampling, other terms, or other weights."
        )


def _about_more_steps(facts: Facts) -> Iterator[str]:
    found = trend(*facts.view.history.curve("train/score"))
    if found is None or facts.view.info["status"] == "running":
        return
    if found.direction == "rising" and not facts.view.info["solved"]:
        yield "Would more env steps help? The training score was still rising at the end."
    if found.direction == "falling":
        yield "What made it forget? The training score was falling at the end."


def _about_seeds(facts: Facts, others: Sequence[Other]) -> Iterator[str]:
    seed = facts.view.info["seed"]
    if not any(other.info["seed"] != seed and other.changes == {} for other in others):
        yield "Is it luck? None of the last runs has the same settings and another seed."


def _about_changes(facts: Facts, others: Sequence[Other]) -> Iterator[str]:
    by_alert = [one.setting for one in facts.view.changes if one.by_alert]
    changed = dict.fromkeys([*by_alert, *facts.view.changed])
    if changed:
        names = facts.discreet.said(", ".join(changed), 120)
        yield f"What did changing {names} while it trained do? There is no run without it."
    last = next(iter(others), None)
    if last and last.changes and len(last.changes) > 1:
        yield (
            f"Which of the {count(len(last.changes))} differences to {last.info['id']} matters? "
            "They were changed together."
        )
