"""Worker processes, several copies each, over one block of shared memory.

Workers are spawned (the same on Linux, macOS and Windows), run one thread, ignore Ctrl-C (the
parent decides what an interrupt means) and end with their parent. Actions and results never
travel through pipes; a one-byte command and the finished episodes do.
"""

import contextlib
import multiprocessing as mp
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Self

import cloudpickle
import numpy as np
import numpy.typing as npt

from spotter.envs.slices import Bools, Buffers, Copy, EnvError, Layout, Slice, assemble
from spotter.types import Episode, UserError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_ALIGN = 64


class _Block(SharedMemory):
    """Shared memory that stays mapped while somebody still holds a view of it."""

    def close(self) -> None:
        with contextlib.suppress(BufferError):
            super().close()


class ProcessVector:
    """The process back-end; same contract as `SyncVector`."""

    def __init__(self, build: Callable[[], Copy], count: int, workers: int) -> None:
        probe = build()
        layout = Layout.of(probe)
        probe.close()
        self.count = count
        self.spaces = layout.spaces
        self.signal_kinds = layout.kinds
        self._memory = _Block(create=True, size=_size(layout, count))
        arrays = _views(layout, count, self._memory)
        self.buffers = assemble(arrays)
        self._active = arrays["active"]
        self._workers: list[mp.process.BaseProcess] = []
        self._pipes: list[Connection] = []
        bounds = np.linspace(0, count, min(workers, count) + 1).astype(int)
        self._bounds = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        try:
            self._start(cloudpickle.dumps((build, layout, count)))
        except BaseException:
            self.close()
            raise

    def _start(self, recipe: bytes) -> None:
        context = mp.get_context("spawn")
        with _one_thread():
            for start, stop in self._bounds:
                here, there = context.Pipe()
                worker = context.Process(
                    target=_work, args=(there, recipe, self._memory.name, start, stop), daemon=True
                )
                worker.start()
                there.close()
                self._workers.append(worker)
                self._pipes.append(here)
        for index in range(len(self._workers)):
            self._receive(index)

    def reset(self, seeds: Sequence[int]) -> Buffers:
        for index, (start, stop) in enumerate(self._bounds):
            self._send(index, "reset", list(seeds[start:stop]))
        self._gather()
        return self.buffers

    def step(self, action: npt.NDArray[Any], active: Bools | None = None) -> list[Episode]:
        self.buffers.action[...] = action
        self._active[...] = True if active is None else active
        for index in range(len(self._pipes)):
            self._send(index, "step")
        return self._gather()

    def threads(self) -> list[int]:
        """How many threads each worker runs; 1 each, or something oversubscribes the machine."""
        for index in range(len(self._pipes)):
            self._send(index, "threads")
        return [self._receive(index) for index in range(len(self._pipes))]

    def _send(self, index: int, command: str, argument: Any = None) -> None:
        """A worker that is gone says so when its reply is due, with what is known about its end."""
        with contextlib.suppress(ConnectionError):
            self._pipes[index].send((command, argument))

    def _gather(self) -> list[Episode]:
        replies = [self._receive(index) for index in range(len(self._pipes))]
        return [episode for reply in replies for episode in reply or ()]

    def _receive(self, index: int) -> Any:
        try:
            kind, value = self._pipes[index].recv()
        except (EOFError, ConnectionError) as error:
            self._workers[index].join(timeout=5)
            code = self._workers[index].exitcode
            start, stop = self._bounds[index]
            raise EnvError(
                f"worker {index} (environment copies {start} to {stop - 1}) died with exit code "
                f"{code}; in a script, the call that starts training must stand under "
                '`if __name__ == "__main__":`'
            ) from error
        if kind == "user error":
            raise UserError(value)
        if kind == "error":
            raise EnvError(value)
        return value

    def close(self) -> None:
        for pipe in self._pipes:
            with contextlib.suppress(OSError, BrokenPipeError):
                pipe.send(("close", None))
        for worker in self._workers:
            worker.join(timeout=5)
            if worker.is_alive():
                worker.terminate()
                worker.join()
        for pipe in self._pipes:
            pipe.close()
        self._pipes, self._workers = [], []
        self._release()

    def _release(self) -> None:
        """Views must go before the memory they look into."""
        nothing, no = np.zeros(0), np.zeros(0, np.bool_)
        self.buffers = Buffers(
            obs={},
            final_obs={},
            action=nothing,
            reward=nothing,
            terminated=no,
            truncated=no,
            signals=nothing,
            signals_start=nothing,
            mask=None,
        )
        self._active = no
        self._memory.close()
        with contextlib.suppress(FileNotFoundError):
            self._memory.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _size(layout: Layout, count: int) -> int:
    return sum(_padded(shape, dtype) for shape, dtype in layout.fields(count).values())


def _padded(shape: tuple[int, ...], dtype: str) -> int:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return max(_ALIGN, -(-size // _ALIGN) * _ALIGN)


def _views(layout: Layout, count: int, memory: SharedMemory) -> dict[str, npt.NDArray[Any]]:
    views: dict[str, npt.NDArray[Any]] = {}
    # An array over the block keeps it mapped as long as any view lives; `buffer=memory.buf` alone
    # would not, and reading a view after `close` would crash Python.
    assert memory.buf is not None
    block = np.frombuffer(memory.buf, dtype=np.uint8)
    offset = 0
    for name, (shape, dtype) in layout.fields(count).items():
        views[name] = np.ndarray(shape, dtype, buffer=block, offset=offset)
        offset += _padded(shape, dtype)
    return views


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Children read these when they load numpy or torch; the parent keeps its own setting."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, recipe: bytes, memory_name: str, start: int, stop: int) -> None:
    """Body of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = None
    try:
        build, layout, count = cloudpickle.loads(recipe)
        memory = _Block(memory_name)
        arrays = _views(layout, count, memory)
        copies = [build() for _ in range(start, stop)]
        lanes = Slice(copies, assemble(arrays).rows(start, stop), first_index=start)
        pipe.send(("ready", None))
        _serve(pipe, lanes, arrays["active"][start:stop])
        lanes.close()
    except UserError as error:
        pipe.send(("user error", str(error)))
    except EnvError as error:
        pipe.send(("error", str(error)))
    except (EOFError, ConnectionError):
        pass  # the parent is gone: so are we
    finally:
        pipe.close()
        if memory is not None:
            memory.close()


def _serve(pipe: Connection, lanes: Slice, active: Bools) -> None:
    while True:
        command, argument = pipe.recv()
        if command == "step":
            pipe.send(("stepped", lanes.step(active)))
        elif command == "reset":
            lanes.reset(argument)
            pipe.send(("reset", None))
        elif command == "threads":
            pipe.send(("threads", _thread_count()))
        else:
            return


def _thread_count() -> int:
    """Operating-system threads where the system tells, else what numpy was allowed."""
    np.ones((256, 256)) @ np.ones((256, 256))
    with contextlib.suppress(OSError):
        from pathlib import Path

        return len(list(Path("/proc/self/task").iterdir()))
    return int(os.environ["OMP_NUM_THREADS"])
