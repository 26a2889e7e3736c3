"""Where training starts from: a checkpoint of the same run, or the weights of another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spotter.config import RunConfig, changed
from spotter.config.diff import difference, fixed
from spotter.config.overrides import COMMAND_LINE, Override, parse
from spotter.envs.fingerprint import facts, unlike_actions
from spotter.envs.grade import Grade
from spotter.rundir import lock
from spotter.rundir.compare import unlike_terms
from spotter.rundir.files import read_json
from spotter.rundir.lineage import steps_before
from spotter.rundir.resume_check import lacks
from spotter.rundir.run import Run, select
from spotter.sinks.base import Row
from spotter.training import checkpoint
from spotter.training.checkpoint import Saved
from spotter.types import Progress, UserError


@dataclass(frozen=True, slots=True)
class Resume:
    """The same run resumes from its latest checkpoint."""

    saved: Saved
    config: RunConfig
    changes: Mapping[str, tuple[Any, Any]]
    """Setting -> (before, now), where the user changed it."""
    overridden: tuple[str, ...]
    """Settings the user wrote, changed or not."""
    notes: tuple[str, ...]
    """What the changes do to schedules at this point."""

    def take_up(self, command: Sequence[str], why: str) -> Run:
        """Open the run's folder for writing again, cut back to the checkpoint."""
        run = self.saved.run
        lock.take(run.folder, run.info())
        if checkpoint.find_in(run, "@latest") != self.saved.folder:
            lock.release(run.folder)
            raise UserError(f"another process has resumed run {run.id} meanwhile; try again")
        run.resume(command, self.saved.env_steps, self.config, self.changes, why)
        return run

    def training_state(self, grade: Grade) -> Mapping[str, object]:
        """What is restored; envs without an exact grade begin new episodes.

        Replaying one that hides part of its state may reach the same observation in another game.
        """
        state: Mapping[str, Any] = self.saved.trainer["training"]
        if grade.grade == "exact":
            return state
        return {**state, "collector": {**state["collector"], "tapes": []}}

    def last_row(self) -> Row:
        """The row that was written with the checkpoint."""
        data = read_json(self.saved.folder / "metrics.json")
        update, env_steps, vector_steps = (data.pop(axis) for axis in Row.AXES)
        data.pop("alerts", None)
        return Row(update, env_steps, vector_steps, data)


@dataclass(frozen=True, slots=True)
class Fork:
    """A new run starts with the weights of another, and its optimizer state unless disabled."""

    saved: Saved
    fresh_optimizer: bool = False

    def parent(self) -> dict[str, Any]:
        """What the new run writes down about where it comes from."""
        run = self.saved.run
        before = steps_before(run.folder.parent, run.info()["parent"])
        return {
            "run": run.id,
            "checkpoint": self.saved.folder.name,
            "env_steps": self.saved.env_steps,
            "total_env_steps": None if before is None else before + self.saved.env_steps,
            "kind": "fork",
            "fresh_optimizer": self.fresh_optimizer,
        }

    def words(self) -> list[str]:
        """Options of `spotter train` that mean this very checkpoint, also when `@last` has become
        another run."""
        source = f"{self.saved.run.folder}/step={self.saved.env_steps}"
        return ["--from", source, *(["--fresh-optimizer"] if self.fresh_optimizer else [])]

    def warnings(self, config: RunConfig) -> Iterator[str]:
        """Where the weights come from another game than they are put into."""
        if unlike := unlike_terms([self.saved.game.get("facts"), facts(config.env, config.reward)]):
            yield f"these weights were trained on other terms: {unlike}"
        if unlike := unlike_actions(self.saved.game, config.env):
            yield f"the policy's choices change their meaning: {unlike}"


Origin = Resume | Fork


def fork(selector: str, fresh_optimizer: bool = False) -> Fork:
    """`RUN`, `RUN/@best`, `RUN/@latest` or `RUN/step=N` as a starting point."""
    return Fork(checkpoint.read(checkpoint.find(selector)), fresh_optimizer)


def resume(selector: str, overrides: Sequence[Override] = (), place: str = COMMAND_LINE) -> Resume:
    """A run's latest state, and its config with `overrides`; `UserError` if it cannot resume."""
    run_part, which = checkpoint.split(selector)
    if which not in ("", "@latest"):
        raise UserError(
            "a run resumes from its latest checkpoint; to go back to another one, start a new run "
            f"with --from {selector}"
        )
    run = select(run_part)
    lock.require_free(run.folder, run.info())  # else a checkpoint may go while it is read
    saved = checkpoint.read(checkpoint.find_in(run, "@latest"))
    if saved.trainer is None:
        raise UserError(
            f"run {run.id} was saved without its training state, by an older Spotter; "
            f"start a new run with --from {run.id}"
        )
    before = checkpoint.read_config(saved.folder)
    config = changed(before, overrides, place)
    changes = difference(before.as_data(), config.as_data())
    if setting := fixed(changes):
        raise UserError(
            f"{setting} cannot change in a resumed run; start a new one with --from {run.id}"
        )
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(
            f"run {run.id} cannot be resumed: {unlike}; start a new one with --from {run.id}"
        )
    _refuse_spent(run, config, saved, config.budget != before.budget)
    notes = tuple(_effects(before, config, saved.env_steps))
    overridden = tuple(".".join(path) for path, _ in parse(overrides))
    return Resume(saved, config, changes, overridden, notes)


def _refuse_spent(run: Run, config: RunConfig, saved: Saved, new_budget: bool) -> None:
    seconds = saved.trainer["recorder"]["elapsed_s"] if saved.trainer else 0.0
    found = lacks(run.info(), config, saved.env_steps, seconds, new_budget)
    if found:
        reasons = " and ".join(lack.reason for lack in found)
        overrides = " ".join(lack.override for lack in found)
        raise UserError(
            f"run {run.id} {reasons}; to train on, add {overrides}: "
            f"spotter train --resume {run.id} {overrides}"
        )


def _effects(before: RunConfig, now: RunConfig, env_steps: int) -> list[str]:
    """Schedules whose present value moves, because they or the budget changed."""
    was, will = (Progress(env_steps, config.budget.env_steps) for config in (before, now))
    old, new = dict(before.schedules()), dict(now.schedules())
    moved = [
        f"{path} continues at {new[path].at(will):g} instead of {old[path].at(was):g}"
        for path in new
        if path in old and new[path].at(will) != old[path].at(was)
    ]
    if before.budget != now.budget:
        moved.insert(0, f"the budget of {before.budget} becomes {now.budget}")
    return moved
