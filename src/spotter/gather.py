"""Who brings a training its rollouts: itself, or somebody who collects the next one meanwhile.

With `algo.overlap` the next rollout is collected while the policy learns from the last, so all that
is learnt from is one update old. A small network acts in a process of its own, for two threads of
Python would wait for each other; one that torch computes acts in a thread, on a copy of the
weights, and on a GPU in a stream of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from spotter import children, interrupts, streams
from spotter.config import RunConfig
from spotter.envs.slices import EnvError
from spotter.envs.vector import Note
from spotter.fast.network import choose_engine
from spotter.nets.actor_critic import Policy
from spotter.rollout import Rollout
from spotter.types import Episode, Fault, Progress, UserError

if TYPE_CHECKING:
    from spotter.training import Training

_PATIENCE_S = 5.0  # for a process that was told to end


class Gathered(NamedTuple):
    """A rollout, and what happened while it was collected."""

    rollout: Rollout
    progress: Progress
    """When it was begun."""
    env_steps: int
    vector_steps: int
    episodes: tuple[Episode, ...]
    seconds: dict[str, float]
    weights: dict[str, float] = {}  # noqa: RUF012 - of a tuple, never written to
    """Of reward parts, by name."""

    def as_data(self) -> dict[str, Any]:
        """What a checkpoint or another process can take."""
        plain = self._asdict() | {"rollout": self.rollout.as_data()}
        plain["progress"] = asdict(self.progress)
        plain["episodes"] = [asdict(episode) for episode in self.episodes]
        return plain

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Gathered":
        rollout, progress = Rollout.from_data(data["rollout"]), Progress(**data["progress"])
        episodes = tuple(Episode(**episode) for episode in data["episodes"])
        return cls(**{**data, "rollout": rollout, "progress": progress, "episodes": episodes})


class Gatherer:
    """Rollouts are collected when they are asked for."""

    words = ""

    def __init__(self, training: "Training") -> None:
        self._training = training

    def next(self) -> Gathered:
        return _gather(self._training, self._training.progress)

    def retune(self, config: RunConfig) -> None:
        self._training.collector.retune(config.algo.gamma, config.reward)

    def listen(self, note: Note) -> None:
        self._training.vector.note = note

    def take_faults(self) -> list[Fault]:
        return self._training.vector.take_faults()

    def state(self) -> dict[str, Any]:
        return {"collector": self._training.collector.state()}

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        """Returns the copies whose episodes had to begin anew."""
        return self._training.collector.restore(state["collector"])

    def close(self) -> None:
        """Nobody will ask for more."""


def make(training: "Training", after_env_steps: int) -> Gatherer:
    """The gatherer that a config asks for."""
    if not training.config.algo.ahead:
        return Gatherer(training)
    if choose_engine(training.policy).name == "numpy":
        return InProcess(training, after_env_steps)
    return InThread(training)


def _gather(training: "Training", progress: Progress) -> Gathered:
    collector = training.collector
    rollout = training.algorithm.collect(collector, progress)
    episodes, seconds = collector.take()
    steps = collector.env_steps, collector.vector_steps
    weights = collector.mixer.weights(progress)
    return Gathered(rollout, progress, *steps, episodes, seconds, weights)


class Ahead(Gatherer, ABC):
    """The next rollout is begun before the last one is handed over."""

    def __init__(self, training: "Training") -> None:
        super().__init__(training)
        self._is_under_way = False
        self._waiting: Gathered | None = None
        self._notes: list[str] = []
        self._note: Note | None = None

    def listen(self, note: Note) -> None:
        """Notes are passed on between two rollouts: whoever takes them knows one thread only."""
        self._note = note
        self._training.vector.note = self._notes.append

    def next(self) -> Gathered:
        if self._waiting is None and not self._is_under_way:
            self._set_out(self._training.progress)
        self._settle()
        gathered, self._waiting = self._waiting, None
        assert gathered is not None
        budget = self._training.config.budget.env_steps
        if budget is None or gathered.env_steps < budget:
            self._set_out(Progress(gathered.env_steps, budget))
        return gathered

    def _set_out(self, progress: Progress) -> None:
        self._begin(progress)
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

    def state(self) -> dict[str, Any]:
        self._settle()
        waiting = self._waiting
        keeps = waiting is not None and waiting.rollout.has_arrays
        return {
            **self._collector_state(),
            "ahead": waiting.as_data() if waiting is not None and keeps else None,
        }

    def restore(self, state: Mapping[str, Any]) -> list[int]:
        ahead = state.get("ahead")
        self._waiting = Gathered.from_data(ahead) if ahead else None
        return self._restore_collector(state)

    def _collector_state(self) -> dict[str, Any]:
        return super().state()

    def _restore_collector(self, state: Mapping[str, Any]) -> list[int]:
        return super().restore(state)

    @abstractmethod
    def _begin(self, progress: Progress) -> None:
        """Start to collect with the present weights."""

    @abstractmethod
    def _end(self) -> Gathered:
        """Wait for what was begun last."""


class InThread(Ahead):
    """A thread of this process, for policies that torch computes."""

    words = "the next rollout is collected meanwhile, in a thread"

    def __init__(self, training: "Training") -> None:
        super().__init__(training)
        self._pool = ThreadPoolExecutor(1, "spotter-ahead")
        self._future: Future[Gathered] | None = None
        self._stream: torch.cuda.Stream | None = None
        if training.device.type == "cuda":
            make_stream: Any = torch.cuda.Stream
            self._stream = make_stream(training.device, priority=-1)

    def _begin(self, progress: Progress) -> None:
        copy_weights(self._training.policy, self._training.collector.policy)
        if self._stream is not None:
            torch.cuda.synchronize()
        self._future = self._pool.submit(self._work, progress)

    def _work(self, progress: Progress) -> Gathered:
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            gathered = _gather(self._training, progress)
            if self._stream is not None:
                self._stream.synchronize()
        return gathered

    def _end(self) -> Gathered:
        assert self._future is not None
        return self._future.result()

    def retune(self, config: RunConfig) -> None:
        self._settle()
        super().retune(config)

    def take_faults(self) -> list[Fault]:
        """Those of a rollout under way are told with the next."""
        return [] if self._is_under_way else super().take_faults()

    def close(self) -> None:
        self._training.collector.cancel()
        self._pool.shutdown()


class InProcess(Ahead):
    """A process with copies and a policy of its own, for small networks."""

    words = "the next rollout is collected meanwhile, in a process of its own"

    def __init__(self, training: "Training", after_env_steps: int) -> None:
        super().__init__(training)
        self._faults: list[Fault] = []
        data = training.config.as_data()
        self._process, self._pipe = children.start(
            _serve, data, after_env_steps, name="spotter-ahead", daemon=False
        )
        try:
            interrupts.await_child(self._pipe)
            self._answer()
        except BaseException:
            self.close()
            raise

    def _begin(self, progress: Progress) -> None:
        self._ask("collect", _weights(self._training.policy), progress)

    def _end(self) -> Gathered:
        return Gathered.from_data(self._answer())

    def retune(self, config: RunConfig) -> None:
        self._settle()
        self._ask("retune", config.as_data())
        self._answer()

    def take_faults(self) -> list[Fault]:
        faults, self._faults = self._faults, []
        return faults

    def _collector_state(self) -> dict[str, Any]:
        self._ask("state")
        state: dict[str, Any] = self._answer()
        return state

    def _restore_collector(self, state: Mapping[str, Any]) -> list[int]:
        self._ask("restore", {name: state[name] for name in ("collector", "their_streams")})
        begun: list[int] = self._answer()
        return begun

    def _ask(self, what: str, *given: Any) -> None:
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
        self._pipe.close()  # which tells it
        children.end([self._process], _PATIENCE_S)


def _serve(pipe: Connection, data: Mapping[str, Any], after_env_steps: int) -> None:
    """Body of the process that collects ahead."""
    from spotter.training import Training

    training = None
    notes: list[str] = []

    def tell(how: str, answer: Any) -> None:
        pipe.send((how, answer, training.take_faults() if training else [], list(notes)))
        notes.clear()

    with suppress(EOFError, ConnectionError, interrupts.Interrupted):
        try:
            config = _alone(data)
            streams.seed_all(config.seed)
            with interrupts.unless_closed(pipe):
                training = Training(config, after_env_steps)
            with training:
                training.listen(notes.append)
                tell("ready", None)
                while True:
                    what, given = pipe.recv()
                    tell("done", _DEEDS[what](training, *given))
        except (UserError, EnvError) as error:
            tell("user error" if isinstance(error, UserError) else "error", str(error))


def _alone(data: Mapping[str, Any]) -> RunConfig:
    return RunConfig.from_data({**data, "algo": {**data["algo"], "overlap": False}})


def _collect(training: "Training", weights: Mapping[str, Any], progress: Progress) -> Any:
    with torch.no_grad():
        for name, tensor in training.policy.state_dict().items():
            tensor.copy_(torch.from_numpy(weights[name]))
    return _gather(training, progress).as_data()


def _retune(training: "Training", data: Mapping[str, Any]) -> None:
    training.retune(_alone(data))


def _state(training: "Training") -> dict[str, Any]:
    whole = training.state()
    return {"collector": whole["collector"], "their_streams": whole["streams"]}


def _restore(training: "Training", state: Mapping[str, Any]) -> list[int]:
    begun = training.collector.restore(state["collector"])
    streams.restore(state["their_streams"], training.device)
    return begun


_DEEDS: dict[str, Callable[..., Any]] = {
    "collect": _collect,
    "retune": _retune,
    "state": _state,
    "restore": _restore,
}


def _weights(policy: Policy) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in policy.state_dict().items()}


def copy_weights(source: Policy, target: Policy) -> None:
    """In place: whoever computes with the target need not notice."""
    with torch.no_grad():
        mine, theirs = target.state_dict(), source.state_dict()
        for name, tensor in mine.items():
            tensor.copy_(theirs[name])
