"""One process beside the server for whatever takes long or needs torch, so that no page freezes.

Functions are named by their dotted path (`spotter.episodes.capture:capture_to_disk`), run one after
the other, and take and return plain data. The process starts with the first of them, ends with the
server however that ends, and is restarted if it crashed.
"""

import asyncio
import atexit
import importlib
import itertools
import os
import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from spotter.system import children
from spotter.types import UserError

_PACKAGE: Final = "spotter."
_PATIENCE_S: Final = 2.0
_CRASHED: Final = "the worker process ended in the middle of this; try again"


class WorkerError(RuntimeError):
    """A function failed unexpectedly; the traceback is in `details`."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


@dataclass
class _Job:
    future: "Future[Any]"
    report: Callable[[object], None] | None
    pipe: Connection | None


class Worker:
    """Owns the process. Any thread may submit; pages await `run`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pipe: Connection | None = None
        self._process: BaseProcess | None = None
        self._jobs: dict[int, _Job] = {}
        atexit.register(self.close)  # also where the server is made to end at once

    async def run(
        self, name: str, /, *, report: Callable[[Any], None] | None = None, **kwargs: object
    ) -> Any:
        """Await `module:function(**kwargs)`; `UserError` and `WorkerError` come through.

        With `report`, the function gets `report=` too: a function to call with plain data, which
        arrives here, in the event loop. It returns whether to continue: False once the caller was
        cancelled.
        """
        loop = asyncio.get_running_loop()

        def hand_over(data: object) -> None:
            if report is not None:
                with suppress(RuntimeError):  # the server is going down
                    loop.call_soon_threadsafe(report, data)

        number, future = self._submit(name, kwargs, hand_over if report else None)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._send(("cancel", number))
            self._jobs.pop(number, None)
            raise

    def submit(self, name: str, /, **kwargs: object) -> "Future[Any]":
        """The same for a thread that wants to wait by itself."""
        return self._submit(name, kwargs, None)[1]

    def close(self) -> None:
        """End the process; whatever it was doing is lost."""
        self._send(("stop",))  # closing the pipe alone is not heard while a thread reads from it
        with self._lock:
            pipe, process = self._pipe, self._process
            self._pipe = self._process = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            children.end([process], _PATIENCE_S)

    def _submit(
        self, name: str, kwargs: Mapping[str, object], report: Callable[[object], None] | None
    ) -> tuple[int, "Future[Any]"]:
        assert name.startswith(_PACKAGE) and name.count(":") == 1, name
        number = next(self._numbers)
        future: Future[object] = Future()
        with self._lock:
            if self._pipe is None or self._process is None or not self._process.is_alive():
                self._start()
            self._jobs[number] = _Job(future, report, self._pipe)
        if not self._send(("job", number, name, kwargs, report is not None)):
            self._fail(number, WorkerError(_CRASHED))
        return number, future

    def _start(self) -> None:
        # spawn, on every system: the server has threads, and torch wants a fresh process
        # not a daemon: an environment may want processes of its own
        self._process, self._pipe = children.start(_serve, name="spotter-worker", daemon=False)
        threading.Thread(target=self._listen, args=(self._pipe,), daemon=True).start()

    def _listen(self, pipe: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                kind, number, data = pipe.recv()
                if kind == "report":
                    job = self._jobs.get(number)
                    if job is not None and job.report is not None:
                        job.report(data)
                elif kind == "done":
                    self._finish(number, data)
                else:
                    self._fail(number, _error(*data))
        with self._lock:
            if self._pipe is pipe:
                self._pipe = None
            lost = [number for number, job in list(self._jobs.items()) if job.pipe is pipe]
        for number in lost:
            self._fail(number, WorkerError(_CRASHED))

    def _send(self, message: tuple[object, ...]) -> bool:
        with self._lock:
            try:
                if self._pipe is None:
                    return False
                self._pipe.send(message)
                return True
            except (OSError, ValueError):
                return False

    def _finish(self, number: int, result: object) -> None:
        job = self._jobs.pop(number, None)
        if job is not None and job.future.set_running_or_notify_cancel():
            job.future.set_result(result)

    def _fail(self, number: int, error: Exception) -> None:
        job = self._jobs.pop(number, None)
        if job is not None and job.future.set_running_or_notify_cancel():
            job.future.set_exception(error)


def _error(is_users: bool, sentence: str, details: str) -> Exception:
    return UserError(sentence) if is_users else WorkerError(sentence, details)


# --- in the process ------------------------------------------------------------------------------


def _serve(pipe: Connection) -> None:
    """Run jobs until the other side is gone."""
    jobs: queue.SimpleQueue[tuple[int, str, dict[str, object], bool]] = queue.SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=_receive, args=(pipe, jobs, cancelled), daemon=True).start()
    while True:
        number, name, kwargs, reports = jobs.get()
        if number in cancelled:
            continue
        if reports:
            kwargs["report"] = _reporter(pipe, number, cancelled)
        _reply(pipe, _outcome(number, name, kwargs))


def _receive(
    pipe: Connection,
    jobs: "queue.SimpleQueue[tuple[int, str, dict[str, Any], bool]]",
    cancelled: set[int],
) -> None:
    try:
        while True:
            kind, *rest = pipe.recv()
            if kind == "job":
                jobs.put((rest[0], rest[1], rest[2], rest[3]))
            elif kind == "cancel":
                cancelled.add(rest[0])
            else:
                os._exit(0)
    except (EOFError, OSError):
        os._exit(0)  # the server is gone, and nothing waits for what runs here


def _reporter(pipe: Connection, number: int, cancelled: set[int]) -> Callable[[object], bool]:
    def report(data: object) -> bool:
        _reply(pipe, ("report", number, data))
        return number not in cancelled

    return report


def _outcome(number: int, name: str, kwargs: Mapping[str, object]) -> tuple[str, int, object]:
    try:
        module, _, function = name.partition(":")
        return "done", number, vars(importlib.import_module(module))[function](**kwargs)
    except UserError as error:
        return "failed", number, (True, str(error), "")
    except Exception as error:
        sentence = f"{type(error).__name__}: {error}"
        return "failed", number, (False, sentence, traceback.format_exc())


def _reply(pipe: Connection, message: tuple[str, int, object]) -> None:
    try:
        pipe.send(message)
    except OSError:
        os._exit(0)
    except Exception as error:  # what it returned cannot travel
        pipe.send(("failed", message[1], (False, f"{type(error).__name__}: {error}", "")))
