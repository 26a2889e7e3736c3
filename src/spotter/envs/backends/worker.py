"""The far side of the process back-end: what runs in a worker, and the memory both sides share."""

import contextlib
import os
import secrets
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, Final, Self

import cloudpickle
import numpy as np
import numpy.typing as npt

from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.slices import IDLE, STEP, Bools, EnvError, Slice
from spotter.envs.replay import known_names
from spotter.types import Array, UserError

_ALIGN: Final = 64


class Block(SharedMemory):
    """Shared memory that stays mapped while a view of it exists."""

    @classmethod
    def new(cls, size: int) -> Self:
        """Its name says which process made it."""
        return cls(f"spotter-{os.getpid()}-{secrets.token_hex(4)}", create=True, size=size)

    def close(self) -> None:
        with contextlib.suppress(BufferError):
            super().close()


def size(layout: Layout, count: int) -> int:
    return sum(_padded(shape, dtype) for shape, dtype in layout.fields(count).values())


def _padded(shape: tuple[int, ...], dtype: str) -> int:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return max(_ALIGN, -(-size // _ALIGN) * _ALIGN)


def views(layout: Layout, count: int, memory: SharedMemory) -> dict[str, npt.NDArray[Any]]:
    views: dict[str, Array] = {}
    # An array over the block keeps it mapped as long as any view lives; `buffer=memory.buf` alone
    # would not, and reading a view after `close` would crash Python.
    assert memory.buf is not None
    block = np.frombuffer(memory.buf, dtype=np.uint8)
    offset = 0
    for name, (shape, dtype) in layout.fields(count).items():
        views[name] = np.ndarray(shape, dtype, buffer=block, offset=offset)
        offset += _padded(shape, dtype)
    return views


def work(
    pipe: Connection, recipe: bytes, memory_name: str, start: int, stop: int, restarts: int
) -> None:
    """Body of a worker process."""
    memory = lanes = None
    try:
        build, layout, count, names = cloudpickle.loads(recipe)
        known_names.update(names)
        memory = Block(memory_name)
        arrays = views(layout, count, memory)
        # plain integers, several times faster to write than elements of an array
        at = memoryview(arrays["at"][start]).cast("B").cast("q")
        instances = []
        for row in range(stop - start):
            at[0] = row
            instances.append(build())
        at[0], at[1] = IDLE, STEP
        buffers = assemble(arrays).rows(start, stop)
        lanes = Slice(instances, buffers, build, restarts, first_index=start, at=at)
        pipe.send(("ready", None, ()))
        _serve(pipe, lanes, arrays["active"][start:stop])
        lanes.close()
    except UserError as error:
        pipe.send(("user error", str(error), ()))
    except EnvError as error:
        pipe.send(("error", str(error), lanes.events if lanes else ()))
    except (EOFError, ConnectionError):
        pass  # the parent is gone: so are we
    finally:
        pipe.close()
        if memory is not None:
            memory.close()


def _serve(pipe: Connection, lanes: Slice, active: Bools) -> None:
    while True:
        command, argument = pipe.recv()
        if command == "close":
            return
        if command == "threads":
            value = _thread_count()
        else:
            value = lanes.serve(command, active if command == "step" else argument)
        events, lanes.events = lanes.events, []
        pipe.send((command, value, events))


def _thread_count() -> int:
    """Operating-system threads where the system reports them, else what numpy was allowed."""
    np.ones((256, 256)) @ np.ones((256, 256))
    with contextlib.suppress(OSError):
        return len(list(Path("/proc/self/task").iterdir()))
    return int(os.environ["OMP_NUM_THREADS"])
