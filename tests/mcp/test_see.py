"""Tools that see: a really trained policy played, its pictures, charts, pay and choices."""

import asyncio
import base64
import io
import json

import numpy as np
import pytest
from mcp.client.client import Client

from spotter.episodes.format import place, save
from spotter.mcp import lines
from spotter.mcp.desk import Desk, Terms
from spotter.pages.digest.tokens import tokens
from spotter.rundir.run import Run
from tests.episodes.making import trace
from tests.mcp.making import ME, ask, at_desk, refused, stdio
from tests.studio.making import make_run

Image = pytest.importorskip("PIL.Image")


def pictures(result):
    found = [block for block in result.content if block.type == "image"]
    return [(b.mime_type, Image.open(io.BytesIO(base64.b64decode(b.data)))) for b in found]


def test_an_episode_is_played_shown_and_audited(trained):
    async def scenario():
        async with Client(stdio(trained.folder.parent), client_info=ME) as client:
            assert "play=true" in await refused(client, "episode")
            assert "play=true" in await refused(client, "audit")
            played = await ask(client, "episode", play=True, seed=7, mode="sampled")
            assert played["episode"].endswith("-seed7-sampled") and played["seed"] == 7
            assert len(played["rows"]) <= played["length"] and played["pictures"]
            row = dict(zip(played["columns"], played["rows"][0], strict=True))
            assert (
                row["step"] == 0
                and row["action"] in ("push left", "push right")
                and row["reward"] == 1
            )
            assert 0 < row["p"] <= 1

            again = await ask(client, "episode", name=played["episode"], first=2, last=5)
            assert [row[0] for row in again["rows"]] == [2, 3, 4, 5]
            few = await client.call_tool("episode", {"tokens": 600})
            assert tokens(few.content[0].text) <= 1500
            assert "steps 0 to" in await refused(client, "episode", first=10**6)
            assert "recorded:" in await refused(client, "episode", name="../x")

            seen = await client.call_tool("frames", {"steps": [0, 3]})
            assert [mime for mime, _ in pictures(seen)] == ["image/jpeg"] * 2
            captions = [block.text for block in seen.content if block.type == "text"][1:]
            assert captions[1].startswith("step 3: action ") and "value" in captions[1]
            sheet = await client.call_tool("frames", {"count": 9, "sheet": True})
            ((_, image),) = pictures(sheet)
            assert image.width > 600 and len(sheet.structured_content["captions"]) == 9
            assert "not 99999" in await refused(client, "frames", steps=[99999])

            parts = (await ask(client, "audit"))["parts"]
            assert parts[0]["part"] == "env" and parts[0]["mean_per_step"] == 1
            assert parts[0]["share"] == 1 and "share" not in parts[-1]  # the sum is no part
            shares = await ask(client, "actions")
            assert {one["action"] for one in shares["training"]} == {"push left", "push right"}
            assert abs(sum(shares["episodes"][0]["shares"].values()) - 1) < 1e-3

            told = await ask(client, "evaluate", run="@last", checkpoint="@latest", episodes=2)
            assert told["evaluations"][0]["episodes"] == 2
            found = await ask(client, "diagnose", environment=True)
            assert "the environment itself" not in found["not_checked"]
            saved = (await ask(client, "checkpoints"))["checkpoints"]
            assert saved[0]["certificates"][0]["episodes"] == 2
            assert "no checkpoint" in await refused(client, "evaluate", run="@last",
                                                    checkpoint="../../x")  # fmt: skip

    asyncio.run(scenario())
    last = list(trained.events())[-1]
    assert (last["event"], last["what"], last["actor"]) == (
        "action", "evaluate", "agent tester via mcp",
    )  # fmt: skip


def test_a_chart_as_text_and_as_a_picture(long_shelf):
    async def scenario():
        async with at_desk(long_shelf) as client:
            text = (await ask(client, "chart", metrics=["train/score"]))["charts"][0]
            assert "train/score" in text and text.count("\n") > 8
            drawn = await client.call_tool("chart", {"metrics": ["train/score", "loss/value"],
                                                     "form": "png"})  # fmt: skip
            ((mime, image),) = pictures(drawn)
            assert mime == "image/png" and image.width == 800 and 700 < image.height < 900
            assert (42, 143, 189) in {colour for _, colour in image.getcolors(10**6)}
            assert len(json.dumps(drawn.structured_content)) < 200

    asyncio.run(scenario())


def test_a_chart_takes_groups(runs):
    for seed, level in ((1, 100.0), (2, 300.0), (3, 200.0)):
        make_run(runs, group="base", seed=seed, level=level)
    alone = make_run(runs, level=50.0)

    async def scenario():
        async with at_desk(runs) as client:
            found = await ask(client, "chart", runs=["base", alone.id, "base"])
            assert found["runs"] == ["base (median of 3 seeds)", alone.id]
            first, _ = found["charts"]
            assert "train/score base (median of 3 seeds)" in first
            assert "200" in first and "300" not in first
            drawn = await client.call_tool("chart", {"runs": ["base"], "form": "png"})
            assert len(pictures(drawn)) == 1
            assert "no metric 'nix'" in await refused(
                client, "chart", runs=["base"], metrics=["nix"]
            )

    asyncio.run(scenario())


def test_read_only_shows_what_was_recorded(trained):
    async def scenario():
        async with at_desk(trained.folder.parent, Terms(read_only=True)) as client:
            assert (await ask(client, "status"))["id"] == trained.id
            assert "read-only" in await refused(client, "episode", play=True)

    asyncio.run(scenario())


def test_a_chart_names_each_run_once_and_no_recipe_twice(shelf):
    desk = Desk(shelf)
    ids = sorted(path.name for path in shelf.glob("2*"))
    same = [id for id in ids if Run(shelf / id).info()["env"] == "CartPole-v1"]
    sources = {id: lines.Group(id, (Run(shelf / id),), (1,)) for id in ids}
    alike, unlike = (
        lines.chart(desk, [sources[id] for id in shown], ["train/score"], 0.0)
        for shown in (same, ids)
    )
    names, both = ([line.name for line in chart.panels[0].lines] for chart in (alike, unlike))
    assert alike.title == "CartPole-v1:ppo, over env steps" and names == same
    assert unlike.title.count("CartPole") == 1 and "Acrobot-v1:ppo" in unlike.title
    assert all(name.startswith(id) for name, id in zip(both, ids, strict=True))
    assert any(name.endswith(" Acrobot-v1:ppo") for name in both)


def record(run, *rewards, **fields):
    made = trace(rewards, run=run.id, **fields)
    return save(made, place(run, made.meta)).name


def test_an_episode_tells_what_was_used_and_received(runs):
    run = make_run(runs, updates=1)
    box = {"action_kind": "box", "action_names": ("torque",), "nvec": (), "seed": 8}
    made = trace(
        (1.0, 1.0),
        run=run.id,
        columns={"action": np.array([[0.5], [1.5]]), "received": np.array([[1.0], [2.0]])},
        **box,
    )
    received = save(made, place(run, made.meta)).name
    without = record(run, 1.0, 2.0, baseline="mean", baseline_mean=2.5, seed=9)

    async def scenario():
        async with at_desk(runs) as client:
            found = await ask(client, "episode", name=received)
            assert [row[1] for row in found["rows"]] == ["torque +1.00", "torque +2.00"]
            assert found["method"] == "returns and advantages with gamma 0.9, lambda 0.8"
            found = await ask(client, "episode", name=without)
            assert found["method"].endswith("minus 2.5, the mean return of its update (no critic)")
            at = found["columns"].index
            assert [row[at("value")] for row in found["rows"]] == [None, None]
            assert [row[at("advantage")] for row in found["rows"]] == [0.3, -0.5]

    asyncio.run(scenario())


def test_episodes_of_another_game_are_counted_only_when_asked_for(runs):
    run = make_run(runs, updates=1)
    changed = {"changes": ("env.time_limit=2",), "seed": 4}
    apart = [record(run, 1.0, 1.0, **changed), record(run, 9.0, mode="untrained", seed=5)]

    async def scenario():
        async with at_desk(runs) as client:
            text = await refused(client, "audit")
            assert "no episode but 2 episodes with changed settings" in text
            assert (await ask(client, "actions"))["episodes"] == []
            own = record(run, *[1.0] * 10)

            found = await ask(client, "audit")
            assert found["episodes"] == [{"episode": own, "score": 10}]
            assert found["left_out"].startswith("2 episodes with") and "others" in found["left_out"]
            assert found["parts"][0]["per_episode"] == 10
            shares = await ask(client, "actions")
            assert [row["episode"] for row in shares["episodes"]] == [own]
            assert shares["left_out"] == found["left_out"]

            every = await ask(client, "audit", others=True)
            assert {row["episode"] for row in every["episodes"]} == {own, *apart}
            assert every["parts"][0]["per_episode"] == 7 and "left_out" not in every
            told = {row["episode"]: row.get("changes") for row in every["episodes"]}
            assert told[apart[0]] == ["env.time_limit=2"]
            assert len((await ask(client, "actions", others=True))["episodes"]) == 3

    asyncio.run(scenario())


def test_a_read_only_server_does_not_tell_to_play(runs):
    make_run(runs, updates=1)

    async def scenario():
        async with at_desk(runs, Terms(read_only=True)) as client:
            for tool in ("episode", "audit", "frames"):
                text = await refused(client, tool)
                assert "read-only: it plays none" in text and "play=true" not in text

    asyncio.run(scenario())


def test_components_of_actions(runs):
    run = make_run(runs, updates=1)
    row = {"update": 2, "env_steps": 512, "vector_steps": 64, "action/share/0/1": 0.75}
    row |= {"action/mean/0": 0.75, "action/std/0": 0.4, "action/mean/1": 1.5, "action/std/1": 0.8}
    with run.metrics_path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")

    async def scenario():
        async with at_desk(runs) as client:
            found = await ask(client, "actions")
            assert {"action": "0=1", "first": 0.75, "now": 0.75} in found["training"]
            assert found["components"] == [
                {"component": "0", "mean": 0.75, "std": 0.4},
                {"component": "1", "mean": 1.5, "std": 0.8},
            ]

    asyncio.run(scenario())
