"""What a run stores about its scores and its end: certificates, the best pointer, run.json."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from spotter.rundir.run import Run
from spotter.sinks.recorder import evaluation_metrics
from spotter.system.interrupts import Interrupted
from spotter.training.checkpoint import Keeper
from spotter.training.selection import Candidate, Scored
from spotter.types import UserError


def write(run: Run, keeper: Keeper, scored: Scored, late: bool) -> None:
    """Scores go beside the weights they belong to, which may be older than the present ones.

    `late`: the row of their update was written before they were known.
    """
    candidate = scored.candidate
    evaluations = candidate.evaluations()
    keeper.write_scores(candidate.env_steps, evaluations)
    if late:
        for evaluation in evaluations:
            if evaluation.seeds != "confirm":
                keeper.add_metrics(candidate.env_steps, evaluation_metrics(evaluation))
    best = candidate if scored.is_best else scored.rival
    if best:
        write_best(run, keeper, best)
    keeper.release(candidate.env_steps)


def write_best(run: Run, keeper: Keeper, best: Candidate) -> None:
    """At once, not at the end: a run that is killed has no end."""
    keeper.write_scores(best.env_steps, best.evaluations())
    keeper.set_best(best.env_steps, best.pointer())
    run.update(**best.facts())


def confirmation(scored: Scored) -> dict[str, object] | None:
    """The event of two policies that played again before one was chosen."""
    candidate, rival = scored.candidate, scored.rival
    if rival is None or candidate.interval is None or rival.interval is None:
        return None
    return {
        "env_steps": candidate.env_steps,
        "score": candidate.interval.mean,
        "episodes": candidate.interval.count,
        "against": rival.env_steps,
        "against_score": rival.interval.mean,
        "against_episodes": rival.interval.count,
        "replaced": scored.is_best,
    }


@contextmanager
def outcome(run: Run | None) -> Iterator[None]:
    """A run that dies of an error says so, if there is still room to write."""
    try:
        yield
    except BaseException as error:
        if run:
            with suppress(OSError, UserError):
                if run.info()["status"] == "running":  # else its end is written already
                    run.write_end(*_failure(error))
        raise
    finally:
        if run:
            run.release()


def _failure(error: BaseException) -> tuple[str, str]:
    """Status and reason of a run that an error ended."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", error.request if isinstance(error, Interrupted) else "interrupted"
    first = next(iter(str(error).splitlines()), "")
    return "failed", f"{type(error).__name__}: {first}"
