"""An agent without a model: from a broken config to a solved CartPole, by the tools alone.

It knows nothing about learning. It starts a run, waits, asks for a diagnosis, and starts again with
the first change that is proposed, until a run is solved or its rounds are spent.
"""

import asyncio

from mcp.client.client import Client

from spotter.rundir.run import Run
from tests.mcp.making import ME, ask, stdio, until

BROKEN = ["algo.lr=0.3", "video.when=null"]
ROUNDS, STEPS, MINUTES = 6, 120_000, 2.0


async def tune(client: Client, address: str, overrides: list[str]) -> list[dict]:
    """The rounds it took; the last one is solved, or nothing was."""
    rounds: list[dict] = []
    reason = "as it was found"
    while len(rounds) < ROUNDS:
        key = f"round {len(rounds)}"
        started = await ask(client, "start", address=address, overrides=overrides, steps=STEPS,
                            minutes=MINUTES, reason=reason, request_key=key)  # fmt: skip

        async def ended(run=started["run"]):
            status = await ask(client, "status", run=run)
            return status["status"] != "running" and status

        status = await until(ended, seconds=150)
        found = await ask(client, "diagnose", run=started["run"])
        this = {"overrides": overrides, "reason": reason, "status": status}
        rounds.append(found | this)
        if status["score"]["solved"]:
            return rounds
        change = next((one for one in found["problems"] if one.get("overrides")), None)
        assert change, f"nothing to try: {found}"
        overrides, reason = merged(overrides, change["overrides"]), change["sentence"][:500]
    return rounds


def merged(overrides: list[str], changes: list[str]) -> list[str]:
    """The later value of a setting counts."""
    settings = dict(each.split("=", 1) for each in [*overrides, *changes])
    return [f"{name}={value}" for name, value in settings.items()]


def test_a_broken_config_becomes_a_solved_one(runs):
    async def session():
        async with Client(stdio(runs), client_info=ME) as client:
            rounds = await tune(client, "CartPole-v1:ppo", BROKEN)
            first, last = rounds[0]["run"], rounds[-1]["run"]
            sides = await ask(client, "compare", runs=[first, last])
            await ask(client, "note", run=last, text=f"kept: {rounds[-1]['overrides']}")
            return rounds, sides

    rounds, sides = asyncio.run(session())
    assert not rounds[0]["status"]["score"]["solved"], "it was not broken"
    assert rounds[-1]["status"]["score"]["solved"], [each["verdict"] for each in rounds]
    assert len(sides["runs"]) == 2
    info = Run(runs / rounds[-1]["run"]).info()
    assert info["solved"] and info["by"] == "agent tester via mcp"
    assert info["why"] == rounds[-1]["reason"] and "lr" in rounds[1]["overrides"][0]
    assert all(len(each["problems"]) <= 10 for each in rounds), "an answer is no list of everything"
