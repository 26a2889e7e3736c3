"""Tools that see: a really trained policy played, its pictures, charts, pay and choices."""

import asyncio
import base64
import io
import json

import numpy as np
import pytest
from mcp.client.client import Client

from spotter.digest.text import tokens
from spotter.mcp import png
from spotter.mcp.desk import Terms
from tests.mcp.making import ME, ask, at_desk, refused, stdio

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
            assert mime == "image/png" and image.size == (800, 420)
            assert (11, 110, 153) in {colour for _, colour in image.getcolors(10**6)}
            assert len(json.dumps(drawn.structured_content)) < 200

    asyncio.run(scenario())


def test_read_only_shows_what_was_recorded(trained):
    async def scenario():
        async with at_desk(trained.folder.parent, Terms(read_only=True)) as client:
            assert (await ask(client, "status"))["id"] == trained.id
            assert "read-only" in await refused(client, "episode", play=True)

    asyncio.run(scenario())


def test_a_png_is_the_picture_it_was_made_of():
    image = np.random.default_rng(1).integers(0, 255, (7, 5, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png.png(image)))), image)


def test_one_point_and_a_flat_line_can_be_drawn():
    one = (np.array([5.0]), np.array([2.0]))
    flat = (np.array([0.0, 10.0]), np.array([3.0, 3.0]))
    for curves in ({"one": one}, {"flat": flat}, {"one": one, "flat": flat}):
        assert png.line_chart(curves, "").startswith(b"\x89PNG")
