"""Where rollouts come from: this process, or a worker that collects ahead.

With `algo.overlap` the next rollout is collected while the policy learns from the last, so all that
is learnt from is one update old. A small network acts in a process of its own, for two threads of
Python would wait for each other; one that torch computes acts in a thread, on a copy of the
weights, and on a GPU in a stream of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from copy import deepcopy
from typing import Any

import torch

from spotter.collect import ahead
from spotter.collect.worker import Gathered, RolloutWorker, make_envs
from spotter.config import RunConfig
from spotter.engines.network import choose_engine
from spotter.envs.backends.slices import EnvError
from spotter.envs.backends.vector import Note, VectorEnv
from spotter.policy.actor_critic import Policy
from spotter.system import children, interrupts
from spotter.types import Fault, Progress, UserError

_PATIENCE_S = 5.0  # for a process that was asked to end


class RolloutSource(ABC):
    """Gives one rollout after another; the learner does not know where envs run."""

    description = ""
    """How collecting and learning overlap; empty where they take turns."""

    @abstractmethod
    def next(self, policy: Policy, progress: Progress) -> Gathered:
        """A rollout of `policy`: of its weights at present, or one update ago."""

    @abstractmethod
    def retune(self, config: RunConfig) -> None:
        """Use other values of the same settings from the next rollout on."""

    @abstractmethod
    def listen(self, note: Note) -> None:
        """Register a callback for events of the envs."""

    @abstractmethod
    def take_faults(self) -> list[Fault]:
        """Envs that failed since the last call."""

    @abstractmethod
    def state(self) -> dict[str, object]: ...

    @abstractmethod
    def restore(self, state: Mapping[str, object]) -> list[int]:
        """Returns the envs whose episodes had to restart."""

    @property
    def position(self) -> tuple[int, int]:
        """Vector steps collected and due in the present rollout; (0, 0) where unknown."""
        return 0, 0

    @abstractmethod
    def close(self) -> None:
        """No more rollouts are needed."""


def make(
    config: RunConfig,
    policy: Policy,
    vector: VectorEnv | None,
    device: torch.device,
    after_env_steps: int,
) -> RolloutSource:
    """The source that a config asks for; `vector` is made where it is needed and missing."""
    overlaps = config.algo.overlaps
    if overlaps and choose_engine(policy).name == "numpy":
        return InProcess(config, after_env_steps)
    # acting while learning needs weights that do not change
    acting, buffers = (deepcopy(policy), 2) if overlaps else (policy, 1)
    vector = vector or make_envs(config)
    try:
        worker = RolloutWorker(config, vector, acting, after_env_steps, buffers)
        return InThread(worker, device) if overlaps else Inline(worker)
    except BaseException:
        vector.close()
        raise


class Inline(RolloutSource):
    """Rollouts are collected when they are asked for, by the policy that learns."""

    def __init__(self, worker: RolloutWorker) -> None:
        self.worker = worker

    def next(self, policy: Policy, progress: Progress) -> Gathered:
        return self.worker.gather(progress)

    def retune(self, config: RunConfig) -> None:
        self.worker.retune(config)

    def listen(self, note: Note) -> None:
        self.worker.vector.note = note

    def take_faults(self) -> list[Fault]:
        return self.worker.vector.take_faults()

    def state(self) -> dict[str, object]:
        return {"collector": self.worker.collector.state()}

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        return self.worker.collector.restore(state["collector"])

    @property
    def position(self) -> tuple[int, int]:
        return self.worker.collector.position

    def close(self) -> None:
        self.worker.close()


class Overlapped(RolloutSource):
    """The next rollout is begun before the last one is handed over."""

    def __init__(self) -> None:
        self._is_under_way = False
        self._waiting: Gathered | None = None
        self._notes: list[str] = []
        self._note: Note | None = None

    def listen(self, note: Note) -> None:
        """Notes are passed on between two rollouts: their receiver is not thread-safe."""
        self._note = note

    def next(self, policy: Policy, progress: Progress) -> Gathered:
        if self._waiting is None and not self._is_under_way:
            self._start_next(policy, progress)
        self._settle()
        gathered, self._waiting = self._waiting, None
        assert gathered is not None
        if progress.budget is None or gathered.env_steps < progress.budget:
            self._start_next(policy, Progress(gathered.env_steps, progress.budget))
        return gathered

    def _start_next(self, policy: Policy, progress: Progress) -> None:
        self._begin(policy, progress)
        self._is_under_way = True

    def _settle(self) -> None:
        """Wait for what is under way."""
        if self._is_under_way:
            self._is_under_way = False
            try:
                self._waiting = self._end()
            finally:
                notes, self._notes[:] = list(self._notes), []
                if self._note is not None:
                    for note in notes:
                        self._note(note)

    def state(self) -> dict[str, object]:
        self._settle()
        waiting = self._waiting
        keeps = waiting is not None and waiting.rollout.has_arrays
        return {
            **self._collector_state(),
            "ahead": waiting.as_data() if waiting is not None and keeps else None,
        }

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        waiting = state.get("ahead")
        self._waiting = Gathered.from_data(waiting) if waiting else None
        return self._restore_collector(state)

    @abstractmethod
    def _collector_state(self) -> dict[str, object]: ...

    @abstractmethod
    def _restore_collector(self, state: Mapping[str, object]) -> list[int]: ...

    @abstractmethod
    def _begin(self, policy: Policy, progress: Progress) -> None:
        """Start to collect with the present weights."""

    @abstractmethod
    def _end(self) -> Gathered:
        """Wait for what was begun last."""


class InThread(Overlapped):
    """A thread of this process, for policies that torch computes; the worker's is a copy."""

    description = "the next rollout is collected meanwhile, in a thread"

    def __init__(self, worker: RolloutWorker, device: torch.device) -> None:
        super().__init__()
        self.worker = worker
        worker.vector.note = self._notes.append
        self._pool = ThreadPoolExecutor(1, "spotter-ahead")
        self._future: Future[Gathered] | None = None
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            make_stream: Any = torch.cuda.Stream
            self._stream = make_stream(device, priority=-1)

    def _begin(self, policy: Policy, progress: Progress) -> None:
        copy_weights(policy, self.worker.collector.actor.policy)
        if self._stream is not None:
            torch.cuda.synchronize()
        self._future = self._pool.submit(self._work, progress)

    def _work(self, progress: Progress) -> Gathered:
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            gathered = self.worker.gather(progress)
            if self._stream is not None:
                self._stream.synchronize()
        return gathered

    def _end(self) -> Gathered:
        assert self._future is not None
        return self._future.result()

    def retune(self, config: RunConfig) -> None:
        self._settle()
        self.worker.retune(config)

    def take_faults(self) -> list[Fault]:
        """Those of the current rollout are reported with the next."""
        return [] if self._is_under_way else self.worker.vector.take_faults()

    def _collector_state(self) -> dict[str, object]:
        return {"collector": self.worker.collector.state()}

    def _restore_collector(self, state: Mapping[str, Any]) -> list[int]:
        return self.worker.collector.restore(state["collector"])

    @property
    def position(self) -> tuple[int, int]:
        return self.worker.collector.position

    def close(self) -> None:
        self.worker.collector.cancel()
        self._pool.shutdown()
        self.worker.close()


class InProcess(Overlapped):
    """A process with envs and a policy of its own, for small networks."""

    description = "the next rollout is collected meanwhile, in a process of its own"

    def __init__(self, config: RunConfig, after_env_steps: int) -> None:
        super().__init__()
        self._faults: list[Fault] = []
        self._process, self._pipe = children.start(
            ahead.serve, config.as_data(), after_env_steps, name="spotter-ahead", daemon=False
        )
        try:
            interrupts.await_child(self._pipe)
            self._answer()
        except BaseException:
            self.close()
            raise

    def _begin(self, policy: Policy, progress: Progress) -> None:
        weights = {name: tensor.numpy() for name, tensor in policy.state_dict().items()}
        self._ask("collect", weights, progress)

    def _end(self) -> Gathered:
        return Gathered.from_data(self._answer())

    def retune(self, config: RunConfig) -> None:
        self._settle()
        self._ask("retune", config.as_data())
        self._answer()

    def take_faults(self) -> list[Fault]:
        faults, self._faults = self._faults, []
        return faults

    def _collector_state(self) -> dict[str, object]:
        self._ask("state")
        state: dict[str, object] = self._answer()
        return state

    def _restore_collector(self, state: Mapping[str, Any]) -> list[int]:
        self._ask("restore", {name: state[name] for name in ("collector", "their_streams")})
        begun: list[int] = self._answer()
        return begun

    def _ask(self, what: str, *given: object) -> None:
        with suppress(ConnectionError):  # then there is no answer, either
            self._pipe.send((what, given))

    def _answer(self) -> Any:
        try:
            how, answer, faults, notes = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join(_PATIENCE_S)
            code = self._process.exitcode
            raise EnvError(
                f"the process that collects ahead has died (exit code {code}); "
                "train without algo.overlap to see why"
            ) from None
        self._faults += faults
        self._notes += notes
        if how == "user error":
            raise UserError(answer)
        if how == "error":
            raise EnvError(answer)
        return answer

    def close(self) -> None:
        self._pipe.close()  # which ends it
        children.end([self._process], _PATIENCE_S)


def copy_weights(source: Policy, target: Policy) -> None:
    """In place, so that references to the target stay valid."""
    with torch.no_grad():
        mine, theirs = target.state_dict(), source.state_dict()
        for name, tensor in mine.items():
            tensor.copy_(theirs[name])
