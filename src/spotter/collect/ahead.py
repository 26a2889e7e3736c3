"""The far side of `sources.InProcess`: a process that has envs and a policy, and learns nothing."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from spotter.collect.worker import RolloutWorker, make_envs
from spotter.config import RunConfig
from spotter.engines import devices, rng_state
from spotter.envs.backends.slices import EnvError
from spotter.policy.actor_critic import Policy
from spotter.system import interrupts
from spotter.types import Progress, UserError


def serve(pipe: Connection, data: Mapping[str, object], after_env_steps: int) -> None:
    """Body of the process: builds a worker, then answers `_HANDLERS` until the pipe is closed."""
    worker: RolloutWorker | None = None
    notes: list[str] = []

    def tell(how: str, answer: Any) -> None:
        faults = worker.vector.take_faults() if worker else []
        pipe.send((how, answer, faults, list(notes)))
        notes.clear()

    with suppress(EOFError, ConnectionError, interrupts.Interrupted):
        try:
            config = RunConfig.from_data(data)
            rng_state.seed_all(config.seed)
            with interrupts.unless_closed(pipe):
                worker = _worker(config, after_env_steps)
            with closing(worker):
                worker.vector.note = notes.append
                tell("ready", None)
                while True:
                    what, given = pipe.recv()
                    tell("done", _HANDLERS[what](worker, *given))
        except (UserError, EnvError) as error:
            tell("user error" if isinstance(error, UserError) else "error", str(error))


def _worker(config: RunConfig, after_env_steps: int) -> RolloutWorker:
    vector = make_envs(config)
    try:
        torch.set_num_threads(config.threads or devices.threads(vector.spaces))
        policy = Policy(vector.spaces, config.policy)
        return RolloutWorker(config, vector, policy, after_env_steps)
    except BaseException:
        vector.close()
        raise


def _collect(worker: RolloutWorker, weights: Mapping[str, object], progress: Progress) -> object:
    with torch.no_grad():
        for name, tensor in worker.collector.actor.policy.state_dict().items():
            tensor.copy_(torch.from_numpy(weights[name]))
    return worker.gather(progress).as_data()


def _retune(worker: RolloutWorker, data: Mapping[str, object]) -> None:
    worker.retune(RunConfig.from_data(data))


def _state(worker: RolloutWorker) -> dict[str, object]:
    streams = rng_state.state(torch.device("cpu"))
    return {"collector": worker.collector.state(), "their_streams": streams}


def _restore(worker: RolloutWorker, state: Mapping[str, Any]) -> list[int]:
    begun = worker.collector.restore(state["collector"])
    rng_state.restore(state["their_streams"], torch.device("cpu"))
    return begun


_HANDLERS: dict[str, Callable[..., object]] = {
    "collect": _collect,
    "retune": _retune,
    "state": _state,
    "restore": _restore,
}
