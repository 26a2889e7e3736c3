"""A whole run: `train` goes from a config to a result, and says what happens on the way.

Order is written as statements: build, restore, watch, loop, report. A run can be left after any
update and continued from there.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter

from spotter import plugins
from spotter.config import RunConfig
from spotter.config.advice import fitting
from spotter.diagnose.alerts import Watcher
from spotter.engines import rng_state
from spotter.envs.base import threshold
from spotter.envs.grade import Grade
from spotter.envs.make import resume_grade
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.pages.report import write_report
from spotter.pages.report.card import html_card
from spotter.rundir.run import Run
from spotter.sinks import named
from spotter.sinks.base import Ending, Sink, Start
from spotter.sinks.jsonl import Jsonl
from spotter.sinks.log import Log
from spotter.sinks.recorder import Recorder
from spotter.system.interrupts import EXIT_CODES, Interrupts, refuse_in_a_child
from spotter.text.numbers import count, duration, plus_minus
from spotter.training import results, summary, unused
from spotter.training.cadence import Cadence
from spotter.training.checkpoint import Keeper
from spotter.training.interventions import Interventions
from spotter.training.loop import Loop, Reason
from spotter.training.phases import Phases
from spotter.training.predict import TrainedPolicy
from spotter.training.restore import restore_loop, restore_training
from spotter.training.resume import Fork, Origin, Resume
from spotter.training.scoring import make_scorer
from spotter.training.training import Training
from spotter.types import Evaluation


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. `score` is the mean raw return on test seeds, never seen in training."""

    config: RunConfig
    run: Run | None
    policy: TrainedPolicy
    """The weights the run keeps: the best, or the last where none were
    scored. `predict` plays them."""
    reason: Reason
    test: Evaluation | None
    """Of these weights; None if the run was stopped before."""
    env_steps: int
    seconds: float

    @property
    def score(self) -> float | None:
        return self.test.score if self.test else None

    @property
    def episodes(self) -> int:
        """Of the test."""
        return len(self.test.scores) if self.test else 0

    @property
    def threshold(self) -> float | None:
        return self.test.threshold if self.test else None

    @property
    def solved(self) -> bool:
        return self.test is not None and self.test.solved

    def __repr__(self) -> str:
        return f"<Result {self._sentence}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence and the chart."""
        return html_card(self._sentence, self.run)

    @property
    def _sentence(self) -> str:
        judged = "not scored"
        if self.test is not None:
            found, verdict = self.test.interval, ""
            if self.threshold is not None:
                verdict = f", {'solved' if self.solved else 'not solved'} at {self.threshold:g}"
            judged = f"score {plus_minus(found.mean, found.half)}{verdict}"
        cost = f"{count(self.env_steps)} env steps in {duration(self.seconds)}"
        run = f", run {self.run.id}" if self.run else ""
        return f"{self.config.env.id} · {self.config.algo.name}: {judged}, {cost}{run}"


def train(
    config: RunConfig,
    sinks: Sequence[Sink] = (),
    new_run: Callable[[], Run] | None = None,
    origin: Origin | None = None,
    written: Collection[str] = (),
    notes: Sequence[str] = (),
) -> Result:
    """Train until solved, out of budget, or asked to stop; then score the policy on test seeds.

    `new_run` provides a run folder once the environment has proved to work, so that a mistake
    in the config leaves no folder behind. `origin` is what to start from: an earlier state of the
    same run, or weights of another. `written` names the settings given for this very run, which
    are refused where they would have no effect. `notes` are shown when it starts.
    """
    began = perf_counter()
    refuse_in_a_child()
    catalogue = _catalogue(config)
    interventions = Interventions(config, catalogue)
    start_at = origin.saved.env_steps if isinstance(origin, Resume) else 0
    rng_state.seed_all(config.seed)
    with Interrupts() as interrupts, ExitStack() as at_last, ExitStack() as stack:
        sinks = [*sinks, *named.make(config.sinks)]
        training = stack.enter_context(Training(config, start_at))
        unused.refuse(training, origin.changes if isinstance(origin, Resume) else written)
        scorer = make_scorer(config, training.policy, interrupts.stopping)
        stack.enter_context(scorer)
        grade = resume_grade(config.env, config.reward, training.backend.name)
        restored = list(restore_training(training, interventions, origin, grade))
        interrupts.begin()
        run = new_run() if new_run else None
        stack.enter_context(results.outcome(run))
        if run:
            run.update(resume_grade=asdict(grade))
        phases = Phases(run)
        start = _start(training, catalogue, run, grade, phases)
        facts = summary.facts(training, start.threshold, fresh=not isinstance(origin, Fork))
        watcher = Watcher(facts, catalogue, config.alerts.ignore, partial(fitting, config))
        of_run: list[Sink] = [Jsonl(run), Log(run)] if run else []
        recorder = stack.enter_context(Recorder(start, sinks, watcher, of_run=of_run))
        training.listen(recorder.note)
        if sys.stdout.isatty():  # elsewhere a note would print from within a signal handler
            interrupts.on_request = recorder.note
        for note in (*notes, *summary.warnings(config), *restored):
            recorder.note(note)
        keeper = Keeper(run, config.checkpoint) if run else None
        loop = Loop(
            training, scorer, recorder, interventions, interrupts, phases, run, keeper,
            Cadence(config, start.threshold),
        )  # fmt: skip
        restore_loop(loop, origin)
        loop.run_updates()
        recorder.ending = ending = _ending(loop)
        result = _result(loop, perf_counter() - began)
        if run:
            _write_end(run, loop, ending)
            at_last.callback(_write_report, run)  # when the last film is made
            loop.film()
    return result


def try_out(config: RunConfig) -> None:
    """Raise what `train` would refuse before its first update; nothing is learnt or saved."""
    Interventions(config, _catalogue(config))
    named.make(config.sinks)
    with Training(config) as training:
        resume_grade(config.env, config.reward, training.backend.name)


def _catalogue(config: RunConfig) -> Catalogue:
    return Catalogue((*common.METRICS, *plugins.load("algos", config.algo.name).METRICS))


def _start(
    training: Training, catalogue: Catalogue, run: Run | None, grade: Grade, phases: Phases
) -> Start:
    wanted = threshold(training.config.env)
    return Start(
        config=training.config,
        catalogue=catalogue,
        run=run,
        threshold=wanted,
        summary=summary.blocks(training, run, wanted, grade),
        env_steps=training.env_steps,
        rollout=lambda: training.source.position,
        pause=lambda: phases.words,
    )


def _ending(loop: Loop) -> Ending:
    best, last = loop.scorer.best, loop.last
    is_kept = best is None or last is None or last.env_steps == best.env_steps
    return Ending(
        reason=loop.reason or "",
        test=loop.test,
        solved=loop.solved,
        best=best.interval if best else None,
        kept_at=best.env_steps if best else None,
        last=None if is_kept or last is None else last.interval,
        env_steps=loop.training.env_steps,
        seconds=loop.recorder.elapsed_s,
        alerts=loop.recorder.alert_counts(),
    )


def _write_end(run: Run, loop: Loop, ending: Ending) -> None:
    run.write_end(
        "interrupted" if ending.reason in EXIT_CODES else "finished",
        reason=ending.reason,
        env_steps=ending.env_steps,
        vector_steps=loop.training.vector_steps,
        last_score=ending.last.mean if ending.last else None,
        train_steps_to_threshold=loop.recorder.train_steps_to_threshold,
    )
    loop.recorder.end_run()


def _write_report(run: Run) -> None:
    """A process that has taken the run over meanwhile writes its own."""
    if run.trainer() is None:
        write_report(run)


def _result(loop: Loop, seconds: float) -> Result:
    training, best = loop.training, loop.scorer.best
    if best is not None:
        training.policy.load_state_dict(best.weights)
    assert loop.reason is not None
    return Result(
        config=training.config,
        run=loop.run,
        policy=TrainedPolicy(
            training.policy, training.config.env, training.config.eval.deterministic
        ),
        reason=loop.reason,
        test=loop.test,
        env_steps=training.env_steps,
        seconds=seconds,
    )
