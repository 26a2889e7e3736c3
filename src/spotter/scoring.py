"""Evaluations during training: at once, or in a process of their own on a snapshot of the weights.

Both answer the same calls, so the training loop does not know which it has. A result holds the
weights it belongs to: by the time an asynchronous one arrives, training is further on.
"""

import contextlib
import multiprocessing as mp
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from spotter.config import RunConfig, validate
from spotter.config.overrides import merge
from spotter.envs.base import threshold
from spotter.envs.batch import vector as batch
from spotter.envs.slices import EnvError
from spotter.evaluate import Evaluator, Stopped
from spotter.nets.actor_critic import Policy
from spotter.types import Evaluation, SeedSet, Spaces, UserError

Weights = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Scored:
    """An evaluation, the test that followed if it was solved, and the weights of both."""

    evaluation: Evaluation
    test: Evaluation | None
    weights: Weights


class Scorer(Protocol):
    """Scores weights now or soon."""

    def submit(self, policy: Policy, env_steps: int) -> bool:
        """Have these weights scored; False if the scorer is still busy with others."""

    def is_busy(self) -> bool:
        """Whether a result is still to come."""

    def ready(self) -> Scored | None:
        """A result that has arrived since the last call."""

    def wait(self) -> Scored | None:
        """The result under way, if there is one."""

    def now(self, policy: Policy, env_steps: int, seeds: SeedSet) -> Evaluation | None:
        """Score while training waits; None if asked to stop meanwhile."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def make_scorer(config: RunConfig, spaces: Spaces, stop: Callable[[], bool]) -> Scorer:
    if config.eval.after_score is not None and threshold(config.env) is None:
        raise UserError(
            f"eval.after_score needs a threshold, and {config.env.id} has none; set env.threshold"
        )
    return Inline(config, stop) if config.eval.mode == "inline" else Async(config, spaces, stop)


def snapshot(policy: Policy) -> Weights:
    """Weights and statistics that no later update changes."""
    return {name: value.detach().cpu().clone() for name, value in policy.state_dict().items()}


class Inline:
    """Training waits."""

    def __init__(self, config: RunConfig, stop: Callable[[], bool]) -> None:
        self._evaluator = Evaluator(config, stop)
        self._stop_when_solved = config.eval.stop_when_solved
        self._done: Scored | None = None

    def submit(self, policy: Policy, env_steps: int) -> bool:
        try:
            found = _score(self._evaluator, policy, env_steps, self._stop_when_solved)
        except Stopped:
            return False
        self._done = Scored(*found, snapshot(policy))
        return True

    def is_busy(self) -> bool:
        return False

    def ready(self) -> Scored | None:
        done, self._done = self._done, None
        return done

    def wait(self) -> Scored | None:
        return self.ready()

    def now(self, policy: Policy, env_steps: int, seeds: SeedSet) -> Evaluation | None:
        with contextlib.suppress(Stopped):
            return self._evaluator.run(policy, env_steps, seeds)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._evaluator.close()


def _score(
    evaluator: Evaluator, policy: Policy, env_steps: int, stop_when_solved: bool
) -> tuple[Evaluation, Evaluation | None]:
    """A solved evaluation is confirmed on a second set of seeds: one lucky set ends no run."""
    evaluation = evaluator.run(policy, env_steps)
    if not (evaluation.solved and stop_when_solved):
        return evaluation, None
    return evaluation, evaluator.run(policy, env_steps, "test")


class Async:
    """One worker process, started with the first evaluation; at most one evaluation under way."""

    def __init__(self, config: RunConfig, spaces: Spaces, stop: Callable[[], bool]) -> None:
        self._config, self._spaces, self._stop = config, spaces, stop
        self._process: mp.process.BaseProcess | None = None
        self._pipe: Connection | None = None
        self._under_way: Weights | None = None

    def submit(self, policy: Policy, env_steps: int) -> bool:
        if self._under_way is not None:
            return False
        self._under_way = snapshot(policy)
        self._send(self._under_way, env_steps, None)
        return True

    def is_busy(self) -> bool:
        return self._under_way is not None

    def ready(self) -> Scored | None:
        if self._under_way is None or not self._has_answer(0):
            return None
        return self._receive(self._under_way)

    def wait(self) -> Scored | None:
        if self._under_way is None or not self._answered():
            return None
        return self._receive(self._under_way)

    def now(self, policy: Policy, env_steps: int, seeds: SeedSet) -> Evaluation | None:
        if self._under_way is not None:  # somebody stopped waiting for it
            return None
        self._under_way = snapshot(policy)
        self._send(self._under_way, env_steps, seeds)
        return self._receive(self._under_way).evaluation if self._answered() else None

    def _send(self, weights: Weights, env_steps: int, seeds: SeedSet | None) -> None:
        if self._pipe is None:
            context = mp.get_context("spawn")
            self._pipe, there = context.Pipe()
            data = (self._config.as_data(), self._spaces)
            process = context.Process(target=_work, args=(there, *data), daemon=True)
            process.start()
            self._process = process
            there.close()
        # as numpy: torch would pass tensors through shared memory, one file descriptor each
        arrays = {name: value.numpy() for name, value in weights.items()}
        # a process that is gone says so when its answer is due
        with contextlib.suppress(ConnectionError):
            self._pipe.send((arrays, env_steps, seeds))

    def _has_answer(self, seconds: float) -> bool:
        assert self._pipe is not None
        try:
            return self._pipe.poll(seconds)
        except ConnectionError:  # Windows: that it is gone is an answer, too
            return True

    def _answered(self) -> bool:
        while not self._has_answer(0.2):
            if self._stop():
                return False
        return True

    def _receive(self, weights: Weights) -> Scored:
        assert self._pipe is not None and self._process is not None
        try:
            kind, value = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            self._process.join(timeout=5)
            code = self._process.exitcode
            raise EnvError(
                f"the evaluation process died with exit code {code}; in a script, the call that "
                'starts training must stand under `if __name__ == "__main__":`'
            ) from error
        self._under_way = None
        if kind == "user error":
            raise UserError(value)
        if kind == "error":
            raise EnvError(f"evaluation failed: {value}")
        evaluation, test = value
        return Scored(evaluation, test, weights)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.join(timeout=1)
            if self._process.is_alive():  # in the middle of an evaluation nobody waits for
                self._process.terminate()
                self._process.join()


def _work(pipe: Connection, data: Mapping[str, Any], spaces: Spaces) -> None:
    """Body of the evaluation process; it ends with its parent and leaves interrupts to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)  # training goes first where cores are scarce
    torch.set_num_threads(1)
    config = validate(merge(data, {"env": {"backend": "auto", "workers": None}}))
    if batch.reason_against(config.env, None):
        # a worker may not have workers of its own; all back-ends give the same scores
        config = validate(merge(config.as_data(), {"env": {"backend": "sync"}}))
    policy = Policy(spaces, config.policy)
    with Evaluator(config) as evaluator, contextlib.suppress(EOFError, ConnectionError):
        while True:
            arrays, env_steps, seeds = pipe.recv()
            policy.load_state_dict({name: torch.from_numpy(a) for name, a in arrays.items()})
            try:
                if seeds:
                    pipe.send(("scored", (evaluator.run(policy, env_steps, seeds), None)))
                else:
                    confirm = config.eval.stop_when_solved
                    pipe.send(("scored", _score(evaluator, policy, env_steps, confirm)))
            except UserError as error:
                pipe.send(("user error", str(error)))
            except EnvError as error:
                pipe.send(("error", str(error)))
