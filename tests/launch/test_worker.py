"""The worker process: results, mistakes, crashes, reports, and its end."""

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import TimeoutError as Late

import pytest

from spotter.launch.worker import Worker, WorkerError
from spotter.rundir.process import is_alive
from spotter.types import UserError


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


def run(worker, name, **kwargs):
    return asyncio.run(worker.run(name, **kwargs))


def count_up(most, report):
    """In the worker: until somebody says that it is enough."""
    for number in range(most):
        if not report(number):
            return number
    return most


def test_it_runs_a_function_elsewhere(worker):
    assert run(worker, "spotter.text.numbers:count", value=31232) == "31,232"
    assert worker._process.pid != os.getpid()


def test_a_users_mistake_stays_one(worker):
    with pytest.raises(UserError, match="unknown"):
        run(worker, "spotter.config:resolve", address="NoSuchGame-v0:ppo")


def test_any_other_failure_says_what_it_was(worker):
    with pytest.raises(WorkerError, match="TypeError") as caught:
        run(worker, "spotter.text.numbers:count", value=object())
    assert "Traceback" in caught.value.details
    with pytest.raises(WorkerError, match="ModuleNotFoundError"):
        run(worker, "spotter.no.such:thing")
    assert run(worker, "spotter.text.numbers:count", value=1) == "1"


def test_only_our_own_functions_can_be_named(worker):
    with pytest.raises(AssertionError):
        run(worker, "os:system", command="true")


def test_after_a_crash_it_starts_anew():
    worker = Worker()
    try:
        assert worker.submit("spotter.text.numbers:count", value=1).result(60) == "1"
        first = worker._process.pid
        worker._process.kill()
        worker._process.join()
        assert worker.submit("spotter.text.numbers:count", value=2).result(60) == "2"
        assert worker._process.pid != first
    finally:
        worker.close()


def test_what_it_was_doing_when_it_crashed_is_an_error():
    worker = Worker()
    try:
        worker.submit("spotter.text.numbers:count", value=1).result(60)
        waiting = worker.submit("spotter.rundir.lock:_holder", path=_Slow())
        with pytest.raises(Late):
            waiting.result(0.5)
        worker._process.kill()
        with pytest.raises(WorkerError, match="try again"):
            waiting.result(10)
    finally:
        worker.close()


class _Slow:
    """An argument whose use takes for ever."""

    def stat(self):
        time.sleep(600)


def test_it_ends_with_the_server_however_that_ends():
    code = (
        "import sys, time\n"
        "from spotter.launch.worker import Worker\n"
        "if __name__ == '__main__':\n"
        "    worker = Worker()\n"
        "    worker.submit('spotter.text.numbers:count', value=1).result(60)\n"
        "    print(worker._process.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(server.stdout.readline())
    assert is_alive(pid)
    server.kill()
    server.communicate()
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)


def test_reports_arrive_while_it_works_and_cancelling_reaches_it(worker, monkeypatch):
    monkeypatch.setattr("spotter.launch.worker._PACKAGE", "")

    async def scenario():
        seen = []
        name = f"{__name__}:count_up"
        assert await worker.run(name, report=seen.append, most=2) == 2
        assert seen == [0, 1]
        task = asyncio.ensure_future(worker.run(name, report=seen.append, most=10**9))
        while len(seen) < 10:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # it heard of it, or this would wait for a thousand million rounds
        return await asyncio.wait_for(worker.run(name, report=seen.append, most=1), 20)

    assert asyncio.run(scenario()) == 1
