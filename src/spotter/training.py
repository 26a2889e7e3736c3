"""The whole training loop in view: `Training` is stepped, `train` says what happens around it.

Order is written as statements: step, evaluate when due, record, act on what was seen, save, stop
when solved, spent or asked to. A run can be left after any update and continued from there.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import Any, Self

import torch
from torch import Tensor

from spotter import (
    devices,
    diagnosis,
    estimate,
    gather,
    plugins,
    results,
    seeding,
    streams,
    summary,
    unused,
)
from spotter.algos.base import Algorithm, settings_used
from spotter.cadence import Cadence
from spotter.checkpoint import Keeper
from spotter.collector import Collector
from spotter.config import RunConfig
from spotter.config.advice import fitting
from spotter.display.words import count, duration, plus_minus
from spotter.envs.base import threshold
from spotter.envs.grade import Grade
from spotter.envs.make import choose_backend, make_vector, resume_grade
from spotter.envs.vector import Note
from spotter.fast.network import twin
from spotter.interrupts import EXIT_CODES, Interrupts, refuse_in_a_child
from spotter.interventions import Interventions
from spotter.loop import Loop, Reason
from spotter.metrics import common
from spotter.metrics.alerts import Watcher
from spotter.metrics.spec import Catalogue
from spotter.nets.actor_critic import Policy, has_images
from spotter.origins import Fork, Origin, Resume
from spotter.phases import Phases
from spotter.predict import TrainedPolicy
from spotter.recorder import Ending, Recorder, Sink, Start
from spotter.restore import restore_loop, restore_training
from spotter.rewards import RewardMixer
from spotter.rollout import Rollout
from spotter.rundir.report import write_report
from spotter.rundir.report.card import html_card
from spotter.rundir.run import Run
from spotter.scoring import make_scorer
from spotter.sinks.jsonl import Jsonl
from spotter.sinks.log import Log
from spotter.types import Evaluation, Fault, Progress, Update, UserError


class Training:
    """Environment copies, policy and algorithm; one `step()` is one update."""

    def __init__(self, config: RunConfig, after_env_steps: int = 0) -> None:
        """`after_env_steps`: where a resumed run goes on; new episodes get seeds of their own."""
        self.config = config
        self.backend = choose_backend(config.env, config.reward, rests=config.algo.rests)
        estimate.check_envs(config, self.backend.name)
        self.vector = make_vector(config.env, config.reward, backend=self.backend.name)
        try:
            self.device = devices.choose(config, has_images(self.vector.spaces))
            depths = getattr(self.vector, "depths", {})
            estimate.check_learning(config, self.vector.spaces, depths, self.device)
            if config.policy.precision != "float32" and self.device.type != "cuda":
                raise UserError(
                    f"policy.precision: {config.policy.precision} needs an NVIDIA GPU, and this "
                    f"run is on {self.device.type}; leave it out or set device: cuda"
                )
            # before anything is computed: initial weights depend on it in their last bits
            torch.set_num_threads(config.threads or devices.threads(has_images(self.vector.spaces)))
            if self.device.type == "cpu" and has_images(self.vector.spaces):
                devices.keep_freed_memory()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seeding.integer(config.seed, "weights"))
                self.policy = Policy(self.vector.spaces, config.policy).to(self.device)
            self.algorithm: Algorithm = plugins.load("algos", config.algo.name).make(
                config.algo, self.policy, seeding.integer(config.seed, "minibatches")
            )
            # who acts while the other learns needs weights that hold still
            acting = deepcopy(self.policy) if config.algo.ahead else self.policy
            stream = f"train envs after {after_env_steps}" if after_env_steps else "train envs"
            self.collector = Collector(
                self.vector,
                acting,
                RewardMixer(config.reward, self.vector.signal_kinds, config.env.count),
                config.algo.gamma,
                seeding.integers(config.seed, stream, config.env.count),
                seeding.integer(config.seed, "train actions"),
                self.device,
                twin(acting),
                buffers=2 if config.algo.ahead else 1,
            )
            self.updates = self.env_steps = self.vector_steps = 0
            self.last: Rollout | None = None
            """What the latest update learnt from."""
            self._gatherer = gather.make(self, after_env_steps)
        except BaseException:
            self.vector.close()
            raise

    @property
    def overlap(self) -> str:
        """How collecting and learning go on at the same time; empty where they take turns."""
        return self._gatherer.words

    @property
    def progress(self) -> Progress:
        return Progress(self.env_steps, self.config.budget.env_steps)

    def step(self) -> Update:
        """Collect one rollout and learn from it."""
        began, before = perf_counter(), self.env_steps
        gathered = self._gatherer.next()
        self.env_steps, self.vector_steps = gathered.env_steps, gathered.vector_steps
        collected = perf_counter()
        self.last = rollout = gathered.rollout
        metrics = self.algorithm.update(rollout, gathered.progress)
        # Statistics move only here, so acting and learning on one rollout see the same inputs.
        if self.policy.inputs.is_running:
            self.policy.observe(rollout.flatten(rollout.value, rollout.value).obs)
        metrics |= diagnosis.statistics(rollout, self.policy)
        metrics |= settings_used(self.algorithm, self.config.algo, gathered.progress)
        metrics |= {f"hp/reward.{name}": value for name, value in gathered.weights.items()}
        self.updates += 1
        # what somebody else does meanwhile takes no time here, waiting for it does
        seconds = {"idle": collected - began} if self.config.algo.ahead else gathered.seconds
        return Update(
            index=self.updates,
            env_steps=self.env_steps,
            new_env_steps=self.env_steps - before,
            vector_steps=self.vector_steps,
            metrics=metrics,
            episodes=gathered.episodes,
            seconds=seconds | {"learn": perf_counter() - collected},
        )

    def retune(self, config: RunConfig) -> None:
        """Go on with other values of schedulable settings."""
        self.config = config
        self.algorithm.retune(config.algo)
        self._gatherer.retune(config)

    def listen(self, note: Note) -> None:
        """Have somebody told what happens among the copies."""
        self._gatherer.listen(note)

    def take_faults(self) -> list[Fault]:
        """Copies that failed since the last call."""
        return self._gatherer.take_faults()

    def state(self) -> dict[str, Any]:
        """All that another `Training` needs, besides the policy, to go on exactly like this one."""
        return {
            "updates": self.updates,
            "env_steps": self.env_steps,
            "vector_steps": self.vector_steps,
            "algorithm": _as_arrays(self.algorithm.state()),
            **_as_arrays(self._gatherer.state()),
            "streams": streams.state(self.device),
        }

    def restore(self, weights: Mapping[str, Tensor], state: Mapping[str, Any]) -> list[int]:
        """Go on from `state()`; returns the copies whose episodes had to begin anew."""
        self.policy.load_state_dict(dict(weights))
        self.updates = state["updates"]
        self.algorithm.restore(state["algorithm"])
        begun = self._gatherer.restore(state)
        counted = {**state["collector"], **state}  # the same, unless somebody collects ahead
        self.env_steps, self.vector_steps = counted["env_steps"], counted["vector_steps"]
        streams.restore(state["streams"], self.device)
        return begun

    def close(self) -> None:
        self._gatherer.close()
        self.vector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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

    `new_run` is asked for a run folder once the environment has proved to work, so that a mistake
    in the config leaves no folder behind. `origin` is what to go on from: an earlier state of the
    same run, or weights of another. `written` names the settings given for this very run, which
    are refused where they would have no effect. `notes` are shown when it starts.
    """
    began = perf_counter()
    refuse_in_a_child()
    catalogue = _catalogue(config)
    interventions = Interventions(config, catalogue)
    start_at = origin.saved.env_steps if isinstance(origin, Resume) else 0
    streams.seed_all(config.seed)
    with Interrupts() as interrupts, ExitStack() as at_last, ExitStack() as stack:
        training = stack.enter_context(Training(config, start_at))
        if isinstance(origin, Resume):
            written = origin.changes
        unused.refuse(training, written)
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
        loop.go()
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
        rollout=lambda: training.collector.position,
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
    """Whoever has taken the run over meanwhile writes its own."""
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
        policy=TrainedPolicy(training.policy, training.config.env),
        reason=loop.reason,
        test=loop.test,
        env_steps=training.env_steps,
        seconds=seconds,
    )


def _as_arrays(tree: Any) -> Any:
    """Tensors as numpy arrays, wherever they are."""
    if isinstance(tree, Tensor):
        return tree.detach().cpu().numpy().copy()
    if isinstance(tree, dict):
        return {key: _as_arrays(value) for key, value in tree.items()}
    return tree
