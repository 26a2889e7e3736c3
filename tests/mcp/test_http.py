"""The server's process. Over HTTP: the token, the names, the pages; over stdio: what it costs."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
import typer
from typer.testing import CliRunner

from spotter.cli.mcp import run
from spotter.mcp.http import token
from spotter.types import UserError
from tests.mcp.making import Http, ask, environment

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
    return httpx2.post(server.url, json=HELLO, headers=sent, timeout=600)


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
        pytest.param({"origin": "http://["}, 403, id="nonsense"),
    ],
)
def test_others_are_not(server, headers, status):
    assert post(server, **headers).status_code == status


@pytest.mark.skipif(os.name == "nt", reason="other signals there")
@pytest.mark.parametrize("gaps", [(), (0.05,), (0.05, 0.05)], ids=["once", "twice", "thrice"])
def test_ctrl_c_ends_it_without_a_word(shelf, gaps):
    server = Http(shelf)

    async def scenario():
        async with server.client() as client:
            await client.list_tools()
            server.process.send_signal(signal.SIGINT)
            for gap in gaps:
                await asyncio.sleep(gap)
                server.process.send_signal(signal.SIGINT)
            await asyncio.to_thread(server.process.wait, 10)

    try:
        with contextlib.suppress(Exception):  # what the client makes of it
            asyncio.run(scenario())
        assert server.process.communicate(timeout=600) == ("", "")
        assert server.process.returncode == (130 if gaps else 0)
    finally:
        server.stop()


def test_a_token_is_made_where_there_is_none_and_must_not_be_short(monkeypatch):
    monkeypatch.delenv("SPOTTER_TOKEN", raising=False)
    (made, is_new), (other, _) = token(), token()
    assert is_new and len(made) >= 24 and made != other
    monkeypatch.setenv("SPOTTER_TOKEN", "short")
    with pytest.raises(UserError, match="at least 8 characters"):
        token()


def test_options_that_mean_nothing_are_refused():
    for options in ({"port": 7000}, {"host": "0.0.0.0"}):
        with pytest.raises(UserError, match="are for --http"):
            run(**options)
    app = typer.Typer()
    app.command()(run)
    told = CliRunner().invoke(app, ["--answer-tokens", "500"])
    assert told.exit_code == 2 and "1000" in told.output


class Stdio:
    """`spotter mcp` in a process of its own, and the processor time of its first answers."""

    def __init__(self, runs: Path, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spotter", "mcp"],
            env=environment(runs, PYTHONPATH=str(path)), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        began = time.monotonic()
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.send(
            HELLO, ready, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, call("runs", 3)
        )
        self.first = [self.receive() for _ in range(3)]
        self.cpu_s = _cpu_s(self.process.pid) or time.monotonic() - began

    def send(self, *messages):
        self.process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def call(tool, number):
    params = {"name": tool, "arguments": {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.fixture(scope="module")
def without_torch(shelf, tmp_path_factory):
    """Whoever imports torch there gets an error, and leaves a trace."""
    folder = tmp_path_factory.mktemp("no_torch")
    marker = folder / "was_imported"
    poison = f"open({str(marker)!r}, 'w').close()\nraise RuntimeError('torch was imported')\n"
    (folder / "torch.py").write_text(poison)
    server = Stdio(shelf, folder)
    yield server, marker
    server.stop()


def test_the_first_answer_is_cheap(without_torch):
    """Processor time, not the clock's: other tests may keep the machine busy. That too grows where
    they share a core's caches; 1.5 s was too little there."""
    server, _ = without_torch
    assert {answer["id"] for answer in server.first} == {1, 2, 3}
    assert server.cpu_s < 3.0


def test_looking_needs_no_torch(without_torch):
    server, marker = without_torch
    tools = ("status", "metrics", "history", "chart", "envs", "limits", "digest", "diagnose")
    for number, tool in enumerate(tools, 10):
        server.send(call(tool, number))
        result = server.receive()["result"]
        assert not result.get("isError"), (tool, result)
    assert not marker.exists()


def _cpu_s(pid):
    """0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
