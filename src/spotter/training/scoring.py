"""Evaluations during training: at once, or in a process of their own on a snapshot of the weights.

Both answer the same calls. Which weights are scored, on which seeds, and at which update a result
counts follows from the config alone: a deferred result is handled when the next evaluation is due,
however early it arrived, and training waits for one that is late.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch

from spotter.config import RunConfig, validate
from spotter.config.overrides import merge
from spotter.envs.backends.batch import vector as batch
from spotter.envs.backends.slices import EnvError
from spotter.envs.base import threshold
from spotter.policy.actor_critic import Policy
from spotter.system import children
from spotter.training.cadence import Plan
from spotter.training.evaluate import Stopped
from spotter.training.selection import Candidate, Scored, Selection, Weights
from spotter.types import Spaces, UserError

_PATIENCE_S: Final = 1.0


class Scorer(Protocol):
    """Scores weights and keeps the best of them."""

    deferred: bool
    """Whether training continues while weights are scored."""

    @property
    def best(self) -> Candidate | None:
        """Of all results handled so far."""

    @property
    def pending(self) -> int | None:
        """Env steps of the weights that are being scored."""

    def restore(self, best: Candidate) -> None:
        """The best of the sessions before."""

    def submit(self, weights: Weights, env_steps: int, plan: Plan) -> None:
        """Have weights scored and ranked. The previous result must have been handled."""

    def result(self) -> Scored | None:
        """What became of the weights submitted last; None if there are none, or on a stop."""

    def test(self, weights: Weights, env_steps: int, plan: Plan) -> Candidate | None:
        """Test the best, or `weights` where nothing was evaluated; None if asked to stop."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def make_scorer(config: RunConfig, policy: Policy, stop: Callable[[], bool]) -> Scorer:
    if config.eval.after_score is not None and threshold(config.env) is None:
        raise UserError(
            f"eval.after_score needs a threshold, and {config.env.id} has none; set env.threshold"
        )
    if config.eval.mode == "async":
        return Async(config, policy.spaces, stop)
    return Inline(config, policy, stop)


class Inline:
    """Training waits."""

    deferred = False

    def __init__(self, config: RunConfig, policy: Policy, stop: Callable[[], bool]) -> None:
        self._selection = Selection(config, deepcopy(policy), stop)
        self._done: Scored | None = None

    @property
    def best(self) -> Candidate | None:
        return self._selection.best

    @property
    def pending(self) -> None:
        return None

    def restore(self, best: Candidate) -> None:
        self._selection.best = best

    def submit(self, weights: Weights, env_steps: int, plan: Plan) -> None:
        with contextlib.suppress(Stopped):
            self._done = self._selection.consider(weights, env_steps, plan)

    def result(self) -> Scored | None:
        done, self._done = self._done, None
        return done

    def test(self, weights: Weights, env_steps: int, plan: Plan) -> Candidate | None:
        with contextlib.suppress(Stopped):
            return self._selection.test(weights, env_steps, plan)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._selection.close()


class Async:
    """One worker process, started with the first evaluation; at most one evaluation under way."""

    deferred = True

    def __init__(self, config: RunConfig, spaces: Spaces, stop: Callable[[], bool]) -> None:
        self._config, self._spaces, self._stop = config, spaces, stop
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._under_way: Candidate | None = None
        self._best: Candidate | None = None

    @property
    def best(self) -> Candidate | None:
        return self._best

    @property
    def pending(self) -> int | None:
        return self._under_way.env_steps if self._under_way else None

    def restore(self, best: Candidate) -> None:
        self._best = best
        self._send("restore", _packed(best))

    def submit(self, weights: Weights, env_steps: int, plan: Plan) -> None:
        assert self._under_way is None, "one evaluation at a time"
        self._under_way = Candidate(env_steps, weights)
        self._send("consider", _arrays(weights), env_steps, plan)

    def result(self) -> Scored | None:
        if self._under_way is None or not self._answered():
            return None
        answer: Scored = self._receive()
        under_way = self._under_way
        self._under_way = None
        rival = answer.rival
        if rival is not None and self._best is not None:
            rival = replace(rival, weights=self._best.weights)
        candidate = replace(answer.candidate, weights=under_way.weights)
        self._best = candidate if answer.is_best else rival or self._best
        return replace(answer, candidate=candidate, rival=rival)

    def test(self, weights: Weights, env_steps: int, plan: Plan) -> Candidate | None:
        if self._under_way is not None:  # a stop came before its result
            return None
        if self._best is not None and self._best.test is not None:
            return self._best
        self._send("test", _arrays(weights), env_steps, plan)
        if not self._answered():
            return None
        tested: Candidate = self._receive()
        tested = replace(tested, weights=self._best.weights if self._best else weights)
        self._best = tested
        return tested

    def _send(self, *message: object) -> None:
        if self._pipe is None:
            self._process, self._pipe = children.start(_work, self._config.as_data(), self._spaces)
        # a process that is gone says so when its answer is due
        with contextlib.suppress(ConnectionError):
            self._pipe.send(message)

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

    def _receive(self) -> Any:
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
        if kind == "user error":
            raise UserError(value)
        if kind == "error":
            raise EnvError(f"evaluation failed: {value}")
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            # it may be in the middle of an evaluation whose result is not wanted any more
            children.end([self._process], _PATIENCE_S)


# --- the worker ----------------------------------------------------------------------------------

Arrays = dict[str, npt.NDArray[Any]]


def _arrays(weights: Weights) -> Arrays:
    """As numpy: torch would pass tensors through shared memory, one file descriptor each."""
    return {name: value.numpy() for name, value in weights.items()}


def _tensors(arrays: Mapping[str, npt.NDArray[np.generic]]) -> Weights:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _packed(candidate: Candidate) -> tuple[Candidate, Arrays]:
    return replace(candidate, weights={}), _arrays(candidate.weights)


def _work(pipe: Connection, data: Mapping[str, object], spaces: Spaces) -> None:
    """Body of the evaluation process."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)  # training goes first where cores are scarce
    torch.set_num_threads(1)
    config = validate(merge(data, {"env": {"backend": "auto", "workers": None}}))
    if batch.reason_against(config.env, None):
        # a worker may not have workers of its own; all back-ends give the same scores
        config = validate(merge(config.as_data(), {"env": {"backend": "sync"}}))
    selection = Selection(config, Policy(spaces, config.policy))
    with contextlib.closing(selection), contextlib.suppress(EOFError, ConnectionError):
        while True:
            _answer(selection, pipe, *pipe.recv())


def _answer(selection: Selection, pipe: Connection, what: str, *given: Any) -> None:
    try:
        if what == "restore":
            candidate, arrays = given[0]
            selection.best = replace(candidate, weights=_tensors(arrays))
        elif what == "test":
            pipe.send(("done", _packed(selection.test(_tensors(given[0]), *given[1:]))[0]))
        else:
            scored = selection.consider(_tensors(given[0]), *given[1:])
            rival = replace(scored.rival, weights={}) if scored.rival else None
            candidate = replace(scored.candidate, weights={})
            pipe.send(("done", replace(scored, candidate=candidate, rival=rival)))
    except UserError as error:
        pipe.send(("user error", str(error)))
    except EnvError as error:
        pipe.send(("error", str(error)))
