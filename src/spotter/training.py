"""The whole training loop in view: `Training` is stepped, `train` says what happens around it.

Order is written as statements: step, record, evaluate when due, stop when solved or spent.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, Self

import torch

from spotter import plugins, seeding
from spotter.algos.base import Algorithm
from spotter.checkpoint import Keeper
from spotter.config import RunConfig
from spotter.envs.make import check_copies_differ, make_vector
from spotter.evaluate import Evaluator
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.nets.actor_critic import Policy, has_images
from spotter.recorder import Recorder, Sink, Start
from spotter.rewards import RewardMixer
from spotter.rollout import Collector
from spotter.rundir.run import Run
from spotter.sinks.jsonl import Jsonl
from spotter.types import Evaluation, Progress, Update, UserError

Reason = Literal["solved", "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. `score` is the mean raw return on test seeds, never seen in training."""

    config: RunConfig
    run: Run | None
    policy: Policy
    reason: Reason
    test: Evaluation | None
    env_steps: int
    seconds: float

    @property
    def score(self) -> float | None:
        return self.test.score if self.test else None

    @property
    def threshold(self) -> float | None:
        return self.test.threshold if self.test else None

    @property
    def solved(self) -> bool:
        return self.test is not None and self.test.solved


class Training:
    """Environment copies, policy and algorithm; one `step()` is one update."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.vector = make_vector(config.env, config.reward)
        try:
            self.device = _device(config, has_images(self.vector.spaces))
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seeding.integer(config.seed, "weights"))
                self.policy = Policy(self.vector.spaces, config.policy).to(self.device)
            torch.set_num_threads(config.threads or _threads(has_images(self.vector.spaces)))
            self.algorithm: Algorithm = plugins.load("algos", config.algo.name).make(
                config.algo, self.policy, seeding.integer(config.seed, "minibatches")
            )
            self.collector = Collector(
                self.vector,
                self.policy,
                RewardMixer(config.reward, self.vector.signal_kinds, config.env.count),
                config.algo.gamma,
                seeding.integers(config.seed, "train envs", config.env.count),
                seeding.integer(config.seed, "train actions"),
                self.device,
            )
        except BaseException:
            self.vector.close()
            raise
        self.updates = 0

    @property
    def env_steps(self) -> int:
        return self.collector.env_steps

    def step(self) -> Update:
        """Collect one rollout and learn from it."""
        began = perf_counter()
        before = self.env_steps
        progress = Progress(before, self.config.budget.env_steps)
        rollout = self.algorithm.collect(self.collector, progress)
        collected = perf_counter()
        metrics = self.algorithm.update(rollout, progress)
        # Statistics move only here, so acting and learning on one rollout see the same inputs.
        if self.config.policy.normalize_obs == "running":
            self.policy.observe(rollout.flatten(rollout.value, rollout.value).obs)
        episodes, seconds = self.collector.take()
        self.updates += 1
        now = perf_counter()
        metrics["time/fps"] = (self.env_steps - before) / (now - began)
        return Update(
            index=self.updates,
            env_steps=self.env_steps,
            vector_steps=self.collector.vector_steps,
            metrics=metrics,
            episodes=episodes,
            seconds=seconds | {"learn": now - collected},
        )

    def close(self) -> None:
        self.vector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def train(
    config: RunConfig, sinks: Sequence[Sink] = (), new_run: Callable[[], Run] | None = None
) -> Result:
    """Train until solved, out of budget, or interrupted; then score the policy on test seeds.

    `new_run` is asked for a run folder once the environment has proved to work, so that a mistake
    in the config leaves no folder behind.
    """
    began = perf_counter()
    module = plugins.load("algos", config.algo.name)
    catalogue = Catalogue((*common.METRICS, *module.METRICS))
    with Training(config) as training, Evaluator(config) as evaluator:
        warning = _copies_warning(config)
        run = new_run() if new_run else None
        sinks = [*sinks, Jsonl(run)] if run else sinks
        keeper = Keeper(run) if run else None
        start = Start(config, catalogue, run, evaluator.threshold, {}, 0, lambda: (0, 0))
        with _outcome(run), Recorder(start, sinks) as recorder:
            if warning:
                recorder.note(warning)
            try:
                reason, test = _loop(training, evaluator, recorder, keeper)
            except KeyboardInterrupt:
                reason, test = "interrupted", None
            if keeper:
                keeper.save(training.policy, training.env_steps, test)
    if run:
        status = "interrupted" if reason == "interrupted" else "finished"
        score, solved = (test.score, test.solved) if test else (None, False)
        run.finish(status, reason=reason, env_steps=training.env_steps, score=score, solved=solved)
    return Result(
        config=config,
        run=run,
        policy=training.policy,
        reason=reason,
        test=test,
        env_steps=training.env_steps,
        seconds=perf_counter() - began,
    )


def _loop(
    training: Training, evaluator: Evaluator, recorder: Recorder, keeper: Keeper | None
) -> tuple[Reason, Evaluation]:
    config = training.config
    budget = config.budget.env_steps or math.inf
    every = config.eval.every_steps or math.inf
    next_evaluation = every
    while training.env_steps < budget:
        update = training.step()
        recorder.write(update)
        if update.env_steps < next_evaluation:
            continue
        next_evaluation = (update.env_steps // every + 1) * every
        evaluation = evaluator.run(training.policy, update.env_steps)
        recorder.evaluation(evaluation)
        if keeper:
            keeper.save(training.policy, update.env_steps, evaluation)
        if evaluation.solved and config.eval.stop_when_solved:
            # A second set of seeds, so that one lucky evaluation does not end the run.
            test = evaluator.run(training.policy, update.env_steps, "test")
            recorder.evaluation(test)
            if test.solved:
                return "solved", test
    test = evaluator.run(training.policy, training.env_steps, "test")
    recorder.evaluation(test)
    return "budget", test


@contextmanager
def _outcome(run: Run | None) -> Iterator[None]:
    """A run that dies of an error says so."""
    try:
        yield
    except BaseException as error:
        if run:
            run.finish("failed", reason=f"{type(error).__name__}: {error}")
        raise


def _copies_warning(config: RunConfig) -> str | None:
    seeds = seeding.integers(config.seed, "train envs", config.env.count)
    return check_copies_differ(config.env, seeds)


def _device(config: RunConfig, images: bool) -> torch.device:
    """Small networks are faster on the CPU; images go to an accelerator where there is one."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    there = [name for name, ok in available.items() if ok]
    if config.device == "auto":
        return torch.device(there[0] if images else "cpu")
    if config.device not in there:
        raise UserError(
            f"device: {config.device} is not available here; available: {', '.join(there)}"
        )
    return torch.device(config.device)


def _threads(images: bool) -> int:
    """One thread for vectors (more is slower), every core for convolutions."""
    return os.cpu_count() or 1 if images else 1
