"""Over HTTP: the token, the names, the pages that may ask; and the first answer's cost."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.mcp.making import CODE, Http, ask, environment

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(shelf):
    server = Http(shelf, SPOTTER_TOKEN="a-token-of-mine")
    yield server
    server.stop()


def post(server, **headers):
    own = {"authorization": "Bearer a-token-of-mine", **ACCEPT}
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    sent = {key: value for key, value in (own | given).items() if value}
    return httpx2.post(server.url, json=HELLO, headers=sent, timeout=30)


def test_a_client_with_the_token_is_served(server):
    async def scenario():
        async with server.client("a-token-of-mine") as client:
            assert (await ask(client, "runs"))["matching"] == 3

    asyncio.run(scenario())
    assert "a-token-of-mine" not in server.said
    assert post(server).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"authorization": ""}, 401, id="no_token"),
        pytest.param({"authorization": "Bearer wrong"}, 401, id="wrong_token"),
        pytest.param({"authorization": "Basic a-token-of-mine"}, 401, id="other_scheme"),
        pytest.param({"host": "evil.example:80"}, 403, id="rebound_name"),
        pytest.param({"origin": "http://evil.example"}, 403, id="other_page"),
        pytest.param({"origin": "null"}, 403, id="no_page"),
    ],
)
def test_others_are_not(server, headers, status):
    assert post(server, **headers).status_code == status


def test_a_token_is_made_where_there_is_none_and_must_not_be_short(tmp_path):
    made = Http(tmp_path / "runs")
    made.stop()
    assert len(made.token) >= 24
    short = subprocess.run(
        [sys.executable, "-c", CODE, "--http", "--port", "0"], capture_output=True, text=True,
        env=environment(tmp_path / "runs", SPOTTER_TOKEN="short"), timeout=60,
    )  # fmt: skip
    assert short.returncode != 0 and "at least 8 characters" in short.stderr


LOOK = """
import asyncio, sys
from pathlib import Path
from spotter.mcp.server import build
from mcp.client.client import Client

async def main():
    server, desk = build(Path(sys.argv[1]))
    async with Client(server) as client:
        await client.list_tools()
        for tool in ("runs", "status", "metrics", "history", "chart", "envs", "limits", "digest",
                     "diagnose"):
            result = await client.call_tool(tool, {})
            assert not result.is_error, result
            assert "torch" not in sys.modules, tool

asyncio.run(main())
"""


def test_looking_needs_no_torch(shelf):
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(shelf)], capture_output=True, text=True, timeout=120,
        env=environment(shelf),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_first_answer_is_cheap(shelf):
    """Processor time, not the clock's: other tests may keep the machine busy."""
    ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    asks = [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
         "params": {"name": "runs", "arguments": {}}},
    ]  # fmt: skip
    began = time.monotonic()
    server = subprocess.Popen(
        [sys.executable, "-c", CODE], env=environment(shelf), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        lines = [json.dumps(HELLO).encode() + b"\n", ready]
        server.stdin.write(b"".join([*lines, *(json.dumps(a).encode() + b"\n" for a in asks)]))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
        wall_s, cpu_s = time.monotonic() - began, _cpu_s(server.pid)
        assert {answer["id"] for answer in answers} == {1, 2, 3}
        assert (cpu_s or wall_s) < 3.0
        print(f"first answer: {wall_s:.2f} s, {cpu_s:.2f} s of processor time")
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()


def _cpu_s(pid):
    """0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
