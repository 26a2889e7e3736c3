"""What happens around `Training.step()`, as statements: evaluate, record, act, save, stop."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from spotter import blackbox, diagnosis
from spotter.checkpoint import Contents, Keeper
from spotter.interrupts import Interrupts
from spotter.interventions import Deed, Interventions, changed
from spotter.recorder import Recorder, Row
from spotter.rundir.run import Run
from spotter.scoring import Scored, Scorer
from spotter.types import Evaluation, Fault

if TYPE_CHECKING:
    from spotter.training import Training

_TEST_S: Final = 60.0
"""How long the last test may take at least, once the budget of minutes is spent."""

Reason = Literal["solved", "budget", "interrupted", "terminated", "alert"]


@dataclass
class Loop:
    """One run under way."""

    training: Training
    scorer: Scorer
    recorder: Recorder
    interventions: Interventions
    interrupts: Interrupts
    run: Run | None
    keeper: Keeper | None
    threshold: float | None
    next_evaluation: float = 0.0
    cut_short: bool = False
    """Whether a stop kept an evaluation from being made."""
    reason: Reason | None = None
    test: Evaluation | None = None
    solved_by: Scored | None = None
    _row: Row | None = None
    _best: Evaluation | None = None
    _can_film: bool = True
    _saved_at: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        config = self.training.config.eval
        self.next_evaluation = max(config.every_steps or math.inf, config.after_steps)

    def go(self) -> None:
        """Until solved, spent, stopped or asked to stop; then `reason` and `test` are set."""
        with self.interrupts.overdue(self._overdue_s()):
            if self.cut_short:
                self._make_up()
            while self.reason is None and not self._is_spent():
                self._once()
            self.reason = self.reason or "budget"
            if self.test is None and self.reason in ("budget", "alert"):
                self._final_test()
        if self.test is None:
            self.reason = self.interrupts.requested or self.reason
        self.save()
        if self.keeper and self.test and not self.solved_by:
            self._rank(self.test)
        self._film_the_best()

    def _make_up(self) -> None:
        """A resumed run first makes the evaluation that was due or under way when it stopped."""
        if self.keeper:
            self.keeper.await_score(self.training.env_steps)
        self._submit(self.training.env_steps)
        scored = self.scorer.ready()
        if scored:
            self._record(scored)
            if self.keeper:
                self._keep(scored)

    def score_start(self, before: Mapping[str, Any] | None) -> None:
        """A fork is scored before its first update: it should start where the other run was."""
        evaluation = self.scorer.now(self.training.policy, 0, "eval")
        if evaluation is None:
            return
        self.recorder.evaluation(evaluation)
        was = ""
        if before and (before.get("fingerprint"), before["seeds"]) == (
            evaluation.fingerprint,
            evaluation.seeds,
        ):
            was = f"; those weights were saved with {before['score']:g}"
        self.recorder.note(f"starts at a score of {evaluation.score:g}{was}")

    def _is_spent(self) -> bool:
        spent = self.training.env_steps, self.recorder.elapsed_s
        return self.training.config.budget.fraction(*spent) >= 1

    def _overdue_s(self) -> float | None:
        """When the budget of minutes is so long spent that not even the last test may go on."""
        minutes = self.training.config.budget.minutes
        if minutes is None:
            return None
        left_s = max(0.0, minutes * 60 - self.recorder.elapsed_s)
        return left_s + max(_TEST_S, minutes * 60 / 2)

    def _once(self) -> None:
        try:
            update = self.training.step()
        finally:  # also of the failure that was one too many
            self._report(self.training.take_faults())
        submitted = self._is_due(update.env_steps) and self._submit(update.env_steps)
        scored = self.scorer.ready()
        if self._is_spent() and not scored:
            scored = self.scorer.wait()
        if scored:
            self._record(scored)
        if self._is_spent() and self.reason is None:
            self._final_test()
        row = self._row = self.recorder.write(update)
        pins = [self._do(deed) for deed in self.interventions.after(row, self.training.config)]
        if submitted or any(pins) or self._save_is_due():
            self.save(awaits_score=submitted and scored is None, pin=next(filter(None, pins), ""))
        if scored and self.keeper:
            self._keep(scored)
        self.reason = self.reason or self.interrupts.requested

    def _is_due(self, env_steps: int) -> bool:
        if env_steps < self.next_evaluation:
            return False
        after = self.training.config.eval.after_score
        if after is None or self.threshold is None:
            return True
        # A distance below the threshold, so that thresholds below 0 work as well.
        wanted = self.threshold - (1 - after) * abs(self.threshold)
        score = self.recorder.train_score
        return score is not None and score >= wanted

    @contextmanager
    def _pause(self, what: str) -> Iterator[None]:
        """While training waits, the reader is told what for."""
        self.training.pause = what
        try:
            yield
        finally:
            self.training.pause = ""

    def _submit(self, env_steps: int) -> bool:
        with self._pause(f"evaluating {self.training.config.eval.episodes} episodes"):
            submitted = self.scorer.submit(self.training.policy, env_steps)
        self.cut_short = not submitted and self.interrupts.stopping()
        if not submitted:
            return False  # busy, or asked to stop: still due
        every = self.training.config.eval.every_steps or math.inf
        self.next_evaluation = (env_steps // every + 1) * every
        return True

    def _record(self, scored: Scored) -> None:
        for evaluation in filter(None, (scored.evaluation, scored.test)):
            self.recorder.evaluation(evaluation)
            self._report(evaluation.faults, training=False)
            if self.training.config.eval.mode == "inline":
                self.recorder.spend("eval", evaluation.seconds)
        if scored.test and scored.test.solved:
            self.reason, self.test, self.solved_by = "solved", scored.test, scored

    def _keep(self, scored: Scored) -> None:
        """Scores go beside the weights they belong to, which may be older than the present ones."""
        is_best = self._rank(scored.evaluation)
        if scored.test:
            self._rank(scored.test)
        when = self.training.config.video.when
        if when == "eval" or (when == "best" and is_best):
            self._film(scored.evaluation, is_best)

    def _rank(self, evaluation: Evaluation) -> bool:
        assert self.keeper is not None
        is_best = self.keeper.score(evaluation)
        if is_best:
            self._best = evaluation
            self._tell_best()
        return is_best

    def _tell_best(self) -> None:
        """At once, not at the end: who is killed has no end."""
        if self.run and self.keeper and self.keeper.best is not None:
            self.run.update(best=self.keeper.best)

    def _final_test(self) -> None:
        late = self.scorer.wait()
        if late:
            self._record(late)
            if self.keeper:
                self._keep(late)
        with self._pause(f"testing on {self.training.config.eval.episodes} unseen episodes"):
            self.test = self.scorer.now(self.training.policy, self.training.env_steps, "test")
        if self.test:
            self.recorder.evaluation(self.test)
            self._report(self.test.faults, training=False)
            self.recorder.spend("eval", self.test.seconds)

    def _do(self, deed: Deed) -> str:
        """Carry out what the config consents to; returns why a snapshot is wanted, if it is."""
        if deed.kind == "change":
            before = dict(self.training.config.schedules())[deed.setting].model_dump()
            self.training.retune(changed(self.training.config, deed.setting, deed.value))
            change = {"setting": deed.setting, "before": before, "after": deed.value}
            self.recorder.event("change", change | {"why": deed.why})
        if deed.kind == "stop":
            self.reason = self.reason or "alert"
            self.recorder.note(f"stopped by {deed.why}, as alerts.actions asks")
        return deed.why if deed.kind == "snapshot" else ""

    def _save_is_due(self) -> bool:
        every = self.training.config.checkpoint.every_s
        return every is not None and monotonic() - self._saved_at >= every

    def save(self, awaits_score: bool = False, pin: str = "") -> None:
        """Everything that is needed to go on from here."""
        training = self.training
        if self.keeper is None or self._row is None or training.last is None:
            return  # nothing has happened since the run was saved
        row = self._row.as_data()
        gamma, lam = row["hp/algo.gamma"], row.get("hp/algo.lambda", 1.0)
        contents = Contents(
            env_steps=training.env_steps,
            policy=training.policy,
            trainer=self.state(),
            row=row,
            table=diagnosis.table(training.last, gamma, lam),
        )
        seconds = self.keeper.save(contents, awaits_score, pin)
        self._saved_at = monotonic()
        self.recorder.spend("save", seconds)
        self.recorder.event("checkpoint", {"env_steps": training.env_steps, "seconds": seconds})

    def state(self) -> dict[str, Any]:
        return {
            "training": self.training.state(),
            "recorder": self.recorder.state(),
            "interventions": self.interventions.state(),
            "next_evaluation": self.next_evaluation,
            "cut_short": self.cut_short or self.scorer.is_busy(),
        }

    def restore(self, state: Mapping[str, Any], row: Row, changes: Collection[str]) -> None:
        """The rest of a resumed run; training itself is restored before."""
        self.recorder.restore(state["recorder"])
        self.next_evaluation, self.cut_short = state["next_evaluation"], state["cut_short"]
        self._row = row
        if self.run and self.keeper and self.run.info()["best"] != self.keeper.best:
            self._tell_best()  # a kill came between the two files
        if {"eval.every_steps", "eval.after_steps"} & set(changes):
            config = self.training.config.eval
            every = config.every_steps or math.inf
            self.next_evaluation = max((row.env_steps // every + 1) * every, config.after_steps)

    def _report(self, faults: Sequence[Fault], training: bool = True) -> None:
        for fault in faults:
            folder = None
            if self.run:
                place, config = self.run.folder / "blackbox", self.training.config
                folder = blackbox.write(place, fault, config, training=training)
            data = {"text": fault.text, "kind": fault.kind, "copy": fault.copy}
            self.recorder.event("fault", data | {"folder": str(folder) if folder else None})

    def _film_the_best(self) -> None:
        if self.interrupts.stopping():
            return  # whoever stops a run wants it to end
        if self.training.config.video.when == "end" and self._best:
            self._film(self._best, True)

    def _film(self, evaluation: Evaluation, is_best: bool) -> None:
        if self.run is None or not self._can_film:
            return
        from spotter.video import CannotRender, save_video  # the encoder is loaded when needed

        try:
            with self._pause("filming an episode"):
                film = save_video(self.run.folder, self.training.config, evaluation, best=is_best)
        except CannotRender as error:
            self._can_film = False
            self.recorder.note(f"no videos: {error}")
            return
        if film.score not in evaluation.scores:
            self.recorder.note(
                f"the video shows a score of {film.score:g}, which is none of the evaluation's: "
                "this environment does not repeat itself under one seed"
            )
        data = {"file": film.path.name, "score": film.score, "best": is_best}
        self.recorder.event("video", data | {"env_steps": evaluation.env_steps})
