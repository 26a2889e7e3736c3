"""The page about the tools says what the server says."""

import asyncio
import re
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from typer import Typer
from typer.testing import CliRunner

from spotter.cli import mcp
from spotter.mcp.desk import Terms
from spotter.mcp.server import build
from tests.mcp.making import at_desk

PAGE = (Path(__file__).parents[2] / "docs/howto/mcp.md").read_text(encoding="utf-8")


def listed(folder, **terms):
    server, _ = build(folder, Terms(**terms))
    return asyncio.run(server.list_tools())


def test_the_table_of_tools_is_the_servers(runs):
    lines = [
        f"| `{tool.name}` | {', '.join(f'`{name}`' for name in tool.input_schema['properties'])} "
        f"| {tool.description} |"
        for tool in listed(runs)
    ]
    assert re.findall(r"^\| `[a-z]+` \|.*$", PAGE, re.MULTILINE) == lines


def test_acting_tools_come_last(runs):
    names = [tool.name for tool in listed(runs)]
    looking = [tool.name for tool in listed(runs, read_only=True)]
    assert names[: len(looking)] == looking and names[len(looking)] == "start"


def test_every_option_is_described(runs):
    app = Typer(add_completion=False, rich_markup_mode=None)
    app.command(epilog=mcp.EXAMPLES)(mcp.run)
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for option in re.findall(r"--[a-z-]+", said):
        assert option in PAGE or option in ("--help", "--port")
    for default in ("default: 2;", "default: 20000000;", "default: 240.0;", "default: 8000;"):
        assert default in " ".join(said.split())


def test_every_argument_has_a_type_and_tools_are_short(runs):
    for tool in listed(runs):
        assert len(tool.description) < 100 and tool.description.endswith(".")
        for name, schema in tool.input_schema["properties"].items():
            assert {"type", "anyOf", "enum"} & set(schema), (tool.name, name)


def test_prompts_are_served_and_mistakes_in_them_are_one_sentence(runs):
    async def scenario():
        async with at_desk(runs) as client:
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["tune", "diagnose", "next_lesson", "review_episode"]
            found = await client.get_prompt("tune", {"address": "CartPole-v1:ppo", "rounds": "3"})
            assert "at most 3 rounds" in found.messages[0].content.text
            for name, arguments, sentence in (
                ("tune", {"address": "CartPol-v1:ppo"}, "did you mean 'CartPole-v1'"),
                ("tune", {"address": "CartPole-v1:ppo", "rounds": "many"}, "rounds"),
                ("tnue", {}, "did you mean 'tune'"),
                ("diagnose", {"run": "20990101"}, "no run"),
                ("review_episode", {"run": "../x"}, "names no run"),
            ):
                with pytest.raises(MCPError, match=sentence) as caught:
                    await client.get_prompt(name, arguments)
                assert "\n" not in str(caught.value)

    asyncio.run(scenario())
