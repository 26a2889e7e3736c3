"""Servers and clients for the tests: in this process, over stdio, over HTTP."""

import os
import re
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from spotter.mcp.desk import Terms
from spotter.mcp.server import build

# what an installed `spotter mcp` does, and where it can be found to be killed
CODE = (
    "import os, pathlib, typer; from spotter.cli import mcp; "
    "pathlib.Path(os.environ['PID_FILE']).write_text(str(os.getpid())); "
    "app = typer.Typer(); app.command()(mcp.run); app()"
)
SHORT = ["eval.episodes=1", "eval.every_steps=null", "video.when=null", "env.threshold=100000"]
ME = Implementation(name="tester", version="1")


def environment(runs: Path, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    own = {"SPOTTER_RUNS": str(runs), "PID_FILE": str(runs.parent / "server.pid")}
    return kept | own | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"} | more


def stdio(runs: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-c", CODE, *options], env=environment(runs)
    )


@asynccontextmanager
async def at_desk(runs: Path, terms: Terms | None = None):
    """A client of a server in this process."""
    server, desk = build(runs, terms)
    try:
        async with Client(server, client_info=ME) as client:
            yield client
    finally:
        desk.worker.close()


class Http:
    """`spotter mcp --http` in a process of its own."""

    def __init__(self, runs: Path, *options: str, **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, "--http", "--port", "0", *options],
            env=environment(runs, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        first, second = self.process.stdout.readline(), self.process.stdout.readline()
        found = re.search(r"http://\S+", first)
        assert found, first + second + self.process.communicate()[1]
        self.url, self.said = found[0], second.strip()
        self.token = second.rpartition(": ")[2].strip()

    @asynccontextmanager
    async def client(self, token: str | None = None):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=600) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, client_info=ME) as client:
                yield client

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool says; an error fails the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The one sentence of a tool that refuses."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert result.is_error, text
    assert "\n" not in text and "Traceback" not in text
    return text


async def until(check, seconds: float = 60.0):
    """Ask again and again; the first answer that is something."""
    import anyio

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = await check()
        if found:
            return found
        await anyio.sleep(0.1)
    raise AssertionError("it did not happen in time")
