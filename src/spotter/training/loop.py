"""What happens around `Training.step()`, as statements: evaluate, record, act, save, stop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from spotter.collect import statistics
from spotter.rundir.run import Run
from spotter.sinks.base import Row
from spotter.sinks.recorder import Recorder, evaluation_metrics
from spotter.system.interrupts import Interrupts
from spotter.training import blackbox, results
from spotter.training.cadence import Cadence, Plan, Seen, upgraded
from spotter.training.checkpoint import Contents, Keeper
from spotter.training.filming import Films
from spotter.training.interventions import Action, Interventions, changed
from spotter.training.phases import Phases
from spotter.training.scoring import Scorer
from spotter.training.selection import Candidate, Scored, Weights, read_candidate, snapshot
from spotter.types import Evaluation, Fault

if TYPE_CHECKING:
    from spotter.training.training import Training

_TEST_S: Final = 60.0
"""How long the last test may take at least, once the budget of minutes is spent."""

Reason = Literal["solved", "budget", "interrupted", "terminated", "hangup", "alert"]


@dataclass
class Loop:
    """One run under way."""

    training: Training
    scorer: Scorer
    recorder: Recorder
    interventions: Interventions
    interrupts: Interrupts
    phases: Phases
    run: Run | None
    keeper: Keeper | None
    cadence: Cadence
    cut_short: bool = False
    """Whether a stop kept an evaluation from being made."""
    reason: Reason | None = None
    test: Evaluation | None = None
    """Of the weights that are kept, once they were tested."""
    last: Evaluation | None = None
    """The latest evaluation; of the last weights once the run is over."""
    _seen: Seen = field(default_factory=Seen)
    """What evaluations and test are planned by; also by those that a stop prevented."""
    _plan: Plan | None = None
    """Of the evaluation made last."""
    _row: Row | None = None
    _unwritten: list[Scored] = field(default_factory=list)
    """Results whose checkpoint may not be written yet."""
    _tested: Candidate | None = None
    """The same, for the final test."""
    _best: Evaluation | None = None
    _films: Films = field(init=False)
    _saved_at: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        around = self.recorder, self.phases, self.interrupts
        self._films = Films(self.run, self.training.config, *around)

    @property
    def solved(self) -> bool:
        """Whether the weights that are kept reached the threshold on the test seeds."""
        return self.scorer.best is not None and self.scorer.best.is_solved

    def run_updates(self) -> None:
        """Until solved, spent, stopped or asked to stop; then `reason` and `test` are set."""
        self.phases.begin("training")
        with self.interrupts.overdue(self._overdue_s()):
            if self.cut_short:
                self._run_missed_evaluation()
            while self.reason is None and not self._is_spent():
                self._run_update()
            self.reason = self.reason or "budget"
            if self.test is None and self.reason in ("budget", "alert"):
                self._final_test()
                self.recorder.amend()
        if self.test is None:
            self.reason = self.interrupts.requested or self.reason
        self.save()
        self._write_results()

    def _run_missed_evaluation(self) -> None:
        """A resumed run first makes the evaluation that a stop prevented."""
        if self.keeper:
            self.keeper.await_score(self.training.env_steps)
        self._evaluate(self.training.env_steps)
        self._write_results(late=True)
        self.recorder.amend()

    def score_start(self, before: Evaluation | None) -> None:
        """A fork's first weights are a checkpoint and a candidate like all later ones."""
        if before and before.lengths:
            self._seen = Seen(0, fmean(before.lengths), None)
        submitted = self._submit(snapshot(self.training.policy), 0)
        if not submitted or not self._collected() or self.last is None:
            return
        evaluation = self.last
        was = ""
        if before and (before.fingerprint, before.seeds) == (
            evaluation.fingerprint,
            evaluation.seeds,
        ):
            was = f"; those weights were saved with {before.score:g}"
        self.recorder.note(f"starts at a score of {evaluation.score:g}{was}")
        self._row = Row(0, 0, 0, evaluation_metrics(evaluation))
        self.save()
        self._write_results()

    def _is_spent(self) -> bool:
        spent = self.training.env_steps, self.recorder.elapsed_s
        return self.training.config.budget.fraction(*spent) >= 1

    def _overdue_s(self) -> float | None:
        """When the budget of minutes is so far exceeded that even the last test must stop."""
        minutes = self.training.config.budget.minutes
        if minutes is None:
            return None
        left_s = max(0.0, minutes * 60 - self.recorder.elapsed_s)
        return left_s + max(_TEST_S, minutes * 60 / 2)

    def _run_update(self) -> None:
        try:
            update = self.training.step()
        finally:  # also of the failure that was one too many
            self._report(self.training.take_faults())
        recorder = self.recorder
        self._seen = Seen(update.env_steps, recorder.train_length, recorder.train_score)
        evaluated = self.cadence.is_due(self._seen) and self._evaluate(update.env_steps)
        if self._is_spent() and self.reason is None:
            evaluated |= self._final_test()
        row = self._row = self.recorder.write(update)
        pins = [self._do(action) for action in self.interventions.after(row, self.training.config)]
        if evaluated or any(pins) or self._save_is_due():
            awaits_score = self.scorer.pending == update.env_steps
            self.save(awaits_score=awaits_score, pin=next(filter(None, pins), ""))
        self._write_results()
        self.reason = self.reason or self.interrupts.requested
        if self.reason is None and not self._is_spent():  # else after the end is written
            self._films.make()

    def _evaluate(self, env_steps: int) -> bool:
        """Handle the deferred result and have the current weights scored; False on a stop."""
        self.cut_short = not self._collected()
        if self.cut_short or self.reason is not None:
            return False  # asked to stop, and still due; or the result ends the run
        return self._submit(snapshot(self.training.policy), env_steps)

    def _submit(self, weights: Weights, env_steps: int, plan: Plan | None = None) -> bool:
        """Have weights scored, and wait for it unless that is deferred; False on a stop."""
        before = self.cadence.episodes
        plan = self._plan = plan or self.cadence.plan(self._seen)
        if self.cadence.episodes != before and self.training.config.eval.episodes == "auto":
            self.recorder.note(self.cadence.choice(self._seen))
        with self._evaluating(plan.episodes):
            self.scorer.submit(weights, env_steps, plan)
            self.cut_short = not self.scorer.deferred and self._collect() is None
        if not self.cut_short:
            self.cadence.wait_after(env_steps)
        return not self.cut_short

    def _collect(self) -> Scored | None:
        """Wait for the result of the weights submitted last, and record it."""
        scored = self.scorer.result()
        if scored is None:
            return None
        candidate = scored.candidate
        for evaluation in filter(None, (candidate.evaluation, candidate.test)):
            self.recorder.evaluation(evaluation)
            self._report(evaluation.faults, training=False)
        if not self.scorer.deferred:
            self.recorder.spend("eval", scored.seconds)
        if confirmation := results.confirmation(scored):
            self.recorder.event("confirmation", confirmation)
        self.last = candidate.evaluation
        self.cadence.note(scored.lengths, scored.confirm_steps)
        self._take(scored)
        return scored

    def _take(self, scored: Scored) -> None:
        """What a result changes, whether it is new or ranked again after a kill."""
        self._unwritten.append(scored)
        if scored.candidate.is_solved and self.training.config.eval.stop_when_solved:
            self.reason, self.test = "solved", scored.candidate.test

    def _write_results(self, late: bool = False) -> None:
        """Scores go beside the weights they belong to, which may be older than the present ones.

        `late`: the row of the present weights was written before they were known.
        """
        unwritten, self._unwritten = self._unwritten, []
        for scored in unwritten:
            candidate = scored.candidate
            if scored.is_best:
                self._best = candidate.evaluation or candidate.test
            if self.run and self.keeper:
                results.write(self.run, self.keeper, scored, late or self.scorer.deferred)
            self._films.add_if_due(scored)
        tested, self._tested = self._tested, None
        if tested:
            self._best = self._best or tested.test
            if self.run and self.keeper:
                results.write_best(self.run, self.keeper, tested)

    def _final_test(self) -> bool:
        """The last weights are candidates as well; the best of all is tested. False on a stop."""
        if not self._collected():
            return False
        weights, now = snapshot(self.training.policy), self.training.env_steps
        if self._is_unscored(now) and not (self._submit(weights, now) and self._collected()):
            return False
        if self.solved and self.test is not None:
            return True
        plan = self.cadence.plan(self._seen)
        words = f"testing on {plan.episodes * plan.test_parts} unseen episodes"
        with self.phases.during("testing", words):
            tested = self.scorer.test(weights, now, plan)
        if tested is None or tested.test is None:
            return False
        self.test = tested.test
        self.recorder.evaluation(self.test)
        self._report(self.test.faults, training=False)
        self.recorder.spend("eval", self.test.seconds)
        self._tested = tested
        return True

    def _is_unscored(self, now: int) -> bool:
        """Whether the last weights still have to be compared with the best."""
        best = self.scorer.best
        is_ranked = best is not None and best.evaluation is not None
        return self.test is None and is_ranked and (self.last is None or self.last.env_steps != now)

    def _collected(self) -> bool:
        """Nothing is under way any more; False on a stop."""
        if self.scorer.pending is None:
            return True
        with self._evaluating(self._plan.episodes if self._plan else 0):
            return self._collect() is not None

    def _evaluating(self, episodes: int) -> AbstractContextManager[None]:
        return self.phases.during("evaluating", f"evaluating {episodes} episodes")

    def _do(self, action: Action) -> str:
        """Carry out what the config consents to; returns why a snapshot is wanted, if it is."""
        if action.kind == "change":
            before = dict(self.training.config.schedules())[action.setting].model_dump()
            self.training.retune(changed(self.training.config, action.setting, action.value))
            change = {"setting": action.setting, "before": before, "after": action.value}
            at = {"env_steps": self.training.env_steps}
            self.recorder.event("change", change | {"why": action.why} | at)
        if action.kind == "stop":
            self.reason = self.reason or "alert"
            self.recorder.note(f"stopped by {action.why}, as alerts.actions asks")
        return action.why if action.kind == "snapshot" else ""

    def _save_is_due(self) -> bool:
        every = self.training.config.checkpoint.every_s
        return every is not None and monotonic() - self._saved_at >= every

    def save(self, awaits_score: bool = False, pin: str = "") -> None:
        """Everything that is needed to resume from here."""
        training = self.training
        if self.keeper is None or self._row is None or (training.last is None and training.updates):
            return  # nothing has happened since the run was saved
        row = self._row.as_data()
        contents = Contents(
            env_steps=training.env_steps,
            policy=training.policy,
            trainer=self.state(),
            row=row,
            table=_rollout_table(training, row),
        )
        with self.phases.during("saving", "saving"):
            seconds = self.keeper.save(contents, awaits_score, pin)
        self._saved_at = monotonic()
        self.recorder.spend("save", seconds)
        self.recorder.event("checkpoint", {"env_steps": training.env_steps, "seconds": seconds})

    def state(self) -> dict[str, object]:
        return {
            "training": self.training.state(),
            "recorder": self.recorder.state(),
            "interventions": self.interventions.state(),
            "cadence": self.cadence.state(),
            "seen": self._seen,
            "plan": self._plan,
            "cut_short": self.cut_short,
            "pending": self.scorer.pending,
            # evaluated, but results are written after the checkpoint: a kill may come between
            "unranked": [(each.candidate.env_steps, each.plan) for each in self._unwritten],
            "last_evaluation": self.last.certificate() if self.last else None,
        }

    def restore(self, state: Mapping[str, Any], row: Row, changes: Collection[str]) -> None:
        """The rest of a resumed run; training and the best weights are restored before."""
        self.recorder.restore(state["recorder"])
        recorder, episodes = self.recorder, self.training.config.eval.most_episodes
        seen = Seen(row.env_steps, recorder.train_length, recorder.train_score)
        state = upgraded(state, seen, episodes)
        self.cut_short = state["cut_short"]
        self._seen, self._plan = Seen(*state["seen"]), state["plan"] and Plan(*state["plan"])
        if state.get("last_evaluation"):
            self.last = Evaluation.from_certificate(state["last_evaluation"])
        self._row = row
        for env_steps, plan in state["unranked"]:
            self._rank_again(env_steps, Plan(*plan))
        self._submit_again(state.get("pending"))
        self.cadence.restore(state["cadence"], row.env_steps, changes)

    def _rank_again(self, env_steps: int, plan: Plan) -> None:
        """Weights whose result may not have been written; the same weights rank the same."""
        step, best = self.keeper and self.keeper.step(env_steps), self.scorer.best
        if not step or (best and best.env_steps == env_steps):
            return
        self.scorer.submit(read_candidate(step).weights, env_steps, plan)
        if scored := self.scorer.result():
            self._take(scored)

    def _submit_again(self, env_steps: int | None) -> None:
        """The evaluation that was under way, with the weights it was about."""
        step = self.keeper.step(env_steps) if self.keeper and env_steps is not None else None
        if env_steps is None or step is None or self.keeper is None:
            return
        self.keeper.await_score(env_steps)
        missed = self.cut_short
        self._submit(read_candidate(step).weights, env_steps, self._plan)
        self.cut_short |= missed

    def _report(self, faults: Sequence[Fault], training: bool = True) -> None:
        for fault in faults:
            folder = None
            if self.run:
                place, config = self.run.folder / "blackbox", self.training.config
                folder = blackbox.write(place, fault, config, training=training)
            data = {"text": fault.text, "kind": fault.kind, "copy": fault.env}
            self.recorder.event("fault", data | {"folder": str(folder) if folder else None})

    def film(self) -> None:
        """What is left to film at the end; the run is saved and its end is written before."""
        self._films.make_last(self._best)


def _rollout_table(training: Training, row: Mapping[str, Any]) -> str:
    if training.last is None:  # before the first update
        return ""
    gamma, lam = row["hp/algo.gamma"], row.get("hp/algo.lambda", 1.0)
    algo = training.config.algo
    return statistics.table(training.last, gamma, lam, algo.baseline_used, algo.credit)
