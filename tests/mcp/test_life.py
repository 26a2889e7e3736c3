"""A run's life through the tools: started over stdio, its server killed, gone on with over HTTP."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from mcp.client.client import Client

from spotter.rundir.process import is_alive
from spotter.rundir.run import Run
from tests.mcp.making import ME, SHORT, Http, ask, refused, stdio, until
from tests.studio.making import make_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9")


async def begin(runs: Path) -> tuple[str, int]:
    """Start a run, see it learn, and kill the server; the run and its process."""
    begun: list[tuple[str, int]] = []
    try:
        async with Client(stdio(runs), client_info=ME, mode="legacy") as client:
            begun.append(await learning(client))
            os.kill(int((runs.parent / "server.pid").read_text()), signal.SIGKILL)
            await client.list_tools()
    except BaseException:  # whatever a client makes of the end
        if not begun:
            raise
    return begun[0]


async def learning(client: Client) -> tuple[str, int]:
    asked = {"address": "CartPole-v1:ppo", "overrides": SHORT, "steps": 19_000_000,
             "minutes": 5, "reason": "to see it learn", "request_key": "one"}  # fmt: skip
    told = await ask(client, "start", **asked)
    run = told["run"]
    assert told["left"]["runs"] == 1 and told["left"]["env_steps"] == 1_000_000
    assert (await ask(client, "start", **asked))["run"] == run

    async def learns():
        status = await ask(client, "status", run=run)
        return status["env_steps"] and status

    status = await until(learns)
    assert status["status"] == "running"
    assert status["budget"] == {"env_steps": 19_000_000, "minutes": 5}
    assert status["eta_minutes"] <= 5
    return run, status["pid"]


async def go_on(runs: Path, run: str) -> None:
    server = Http(runs)
    try:
        async with server.client() as client:
            assert (await ask(client, "status", run=run))["status"] == "running"
            again = await ask(client, "start", address="CartPole-v1:ppo", overrides=SHORT,
                              steps=19_000_000, minutes=5, reason="the same request, again",
                              request_key="one")  # fmt: skip
            assert again["run"] == run and again["same_request"]
            assert "used for something else" in await refused(
                client, "start", address="CartPole-v1:ppo", reason="another", request_key="one"
            )
            assert "being trained" in await refused(client, "resume", run=run, reason="too soon",
                                                    steps=256)  # fmt: skip
            await ask(client, "stop", run=run, reason="seen enough")
            assert "already" in await refused(client, "stop", run=run, reason="twice")

            async def ended():
                status = await ask(client, "status", run=run)
                return status["status"] != "running" and status

            status = await until(ended)
            assert status["status"] == "interrupted"
            more = {"run": run, "steps": 512, "minutes": 1, "reason": "a bit more",
                    "request_key": "two"}  # fmt: skip
            resumed = await ask(client, "resume", **more)
            assert resumed["run"] == run and resumed["budget"] == {"env_steps": 512, "minutes": 1}
            assert (await ask(client, "resume", **more))["same_request"]
            end = await until(ended)
            assert end["status"] == "finished" and end["env_steps"] == status["env_steps"] + 512
            spent = end["env_steps"] + await fork(client, run)
            other = make_run(runs)
            sides = await ask(client, "compare", runs=[run, other.id])
            assert [side["id"] for side in sides["runs"]] == [run, other.id]
            assert sides["settings"]
            assert (await ask(client, "limits"))["env_steps"]["spent_or_reserved"] == spent
    finally:
        server.stop()


async def fork(client: Client, parent: str) -> int:
    """What a run with the weights of another has trained."""
    asked = {"run": parent, "checkpoint": "@latest", "steps": 512, "minutes": 1,
             "overrides": ["algo.lr=1e-4"], "reason": "from there, slower"}  # fmt: skip
    run = (await ask(client, "fork", **asked))["run"]

    async def ended():
        status = await ask(client, "status", run=run)
        return status["status"] != "running" and status

    status = await until(ended)
    assert (status["status"], status["env_steps"]) == ("finished", 512)
    row = (await ask(client, "runs", query=run))["runs"][0]
    assert row["parent"] == parent and row["why"] == "from there, slower"
    differing = await ask(client, "diff", run=parent, other=run)
    assert "algo.lr" in [one["name"] for one in differing["settings"]]
    return status["env_steps"]


def test_a_run_outlasts_its_server_and_another_goes_on_with_it(runs):
    run, trainer = asyncio.run(begin(runs))
    assert is_alive(trainer)
    asyncio.run(go_on(runs, run))
    found = Run(runs / run)
    info = found.info()
    assert info["by"] == "agent tester via mcp" and info["why"] == "to see it learn"
    actions = [event for event in found.events() if event["event"] == "action"]
    assert [(event["what"], event["actor"], event["reason"]) for event in actions] == [
        ("start", "agent tester via mcp", "to see it learn"),
        ("stop", "agent tester via mcp", "seen enough"),
        ("resume", "agent tester via mcp", "a bit more"),
    ]
    assert actions[0]["budget"] == {"env_steps": 19_000_000, "minutes": 5.0}
    assert len(list(runs.glob("2*"))) == 3
