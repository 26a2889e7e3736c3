"""Bring a new training to where it resumes or forks from, and say what came of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotter.envs.grade import Grade
from spotter.training import checkpoint
from spotter.training.imitation import imitate
from spotter.training.interventions import Interventions
from spotter.training.resume import Fork, Origin, Resume
from spotter.training.selection import read_candidate
from spotter.training.transfer import Plan, graft

if TYPE_CHECKING:
    from spotter.training.loop import Loop
    from spotter.training.training import Training


def restore_training(
    training: "Training", interventions: Interventions, origin: Origin | None, grade: Grade
) -> Iterator[str]:
    """Restore a new `Training` to the saved state, or imitate `env.demo`; yields notes."""
    if isinstance(origin, Resume):
        state = origin.saved.trainer
        with checkpoint.reading(origin.saved.folder):
            interventions.restore(state["interventions"])
            training.retune(interventions.reapply(training.config, origin.overridden))
            begun = training.restore(origin.saved.weights, origin.training_state(grade))
        if begun:
            why = "" if grade.grade == "exact" else f" (resume grade: {grade.grade})"
            yield f"{len(begun)} of {training.config.env.count} envs begin new episodes{why}"
        yield from origin.notes
    elif origin is not None:
        source = f"{origin.saved.run.id}/{origin.saved.folder.name}"
        plan = graft(training.policy, origin.saved.weights, source)
        yield f"from {source}: {plan.sentence()}"
        yield from origin.warnings(training.config)
        yield from plan.lines()
        yield _optimizer(training, origin, plan)
    elif said := imitate(training):
        yield said


def _optimizer(training: "Training", origin: Fork, plan: Plan) -> str:
    """Keep the optimizer's memory where it fits the weights."""
    with checkpoint.reading(origin.saved.folder):
        saved = origin.saved.trainer or {}
        state = saved.get("training", {}).get("algorithm", {}).get("optimizer")
    if origin.fresh_optimizer:
        return "the optimizer starts fresh, as asked"
    if state is None:
        return "the optimizer starts fresh: the old run saved none"
    if not plan.is_complete:
        return "the optimizer starts fresh: its memory belongs to another network"
    optimizer = training.algorithm.optimizer
    if optimizer is None or set(state) != set(optimizer.state()):
        return "the optimizer starts fresh: the old run used another rule"
    optimizer.restore(state)
    return "the optimizer state is restored"


def restore_loop(loop: "Loop", origin: Origin | None) -> None:
    """The rest of what a resumed run knew; a fork shows that it starts at the old score."""
    if isinstance(origin, Resume):
        with checkpoint.reading(origin.saved.folder):
            _restore_best(loop)
            loop.restore(origin.saved.trainer, origin.last_row(), origin.changes)
    elif origin is not None:
        before = read_candidate(origin.saved.folder)
        loop.score_start(before.evaluation or before.test)


def _restore_best(loop: "Loop") -> None:
    step = loop.keeper.best_step() if loop.keeper else None
    if loop.run is None or step is None:
        return
    best = read_candidate(step)
    if best.evaluations():
        loop.scorer.restore(best)
        if loop.run.info()["best"] != best.facts()["best"]:
            loop.run.update(**best.facts())  # a kill came between the two files
