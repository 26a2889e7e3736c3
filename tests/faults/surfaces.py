"""Every reading surface over a folder of runs, in this process: commands, Studio, MCP."""

import asyncio
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from spotter.cli.main import run as command
from spotter.launch.worker import Worker
from spotter.mcp.desk import Terms
from spotter.mcp.server import build as build_mcp
from spotter.system.request_guard import Door
from spotter.types import UserError


def cli(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command printed; it ends by itself, and says why where it fails."""
    try:
        code = command(words)
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert code in (0, 1, 2), code
    assert code == 0 or shown.out or shown.err
    return shown.out + shown.err


class Studio:
    """Its pages, and the tabs of a run page, which a browser opens one by one."""

    def __init__(self, runs: Path) -> None:
        from fastapi.testclient import TestClient
        from nicegui import ui

        from spotter.studio.context import Context
        from spotter.studio.pages import runs as runs_page
        from spotter.studio.panels import PANELS
        from spotter.studio.server import build

        runs_page._FRESH_S = 0.0
        context = Context(runs, Worker())
        app = build(runs, Door.at("127.0.0.1", None), context.worker)

        @ui.page("/tabs/{id}")
        def tabs(id: str) -> None:
            try:
                run = context.run_of(id)
            except UserError:
                return
            for panel in PANELS.values():
                try:
                    found = panel.read(context, run)
                except (UserError, OSError):
                    continue
                panel.draw(run, found)

        self.client = TestClient(app, base_url="http://127.0.0.1")

    def addresses(self, run: str, other: str) -> list[str]:
        one = [f"{page}?run={run}" for page in ("/film", "/inspect", "/play")]
        own = [f"/{page}/{run}" for page in ("run", "tabs", "report")]
        return ["/", *one, *own, f"/compare?runs={run},{other}", f"/files/{run}/run.log"]

    def get(self, address: str) -> str:
        answer = self.client.get(address)
        assert answer.status_code in (200, 404), answer.text[:2000]
        return "" if address.startswith("/files") else answer.text


@contextmanager
def studio(runs: Path) -> Iterator[Studio]:
    found = Studio(runs)
    with warnings.catch_warnings():
        # as it starts, NiceGUI looks at every object there is, those torch warns of too
        warnings.simplefilter("ignore", FutureWarning)
        found.client.__enter__()
    try:
        yield found
    finally:
        found.client.__exit__(None, None, None)


class Mcp:
    """Its reading tools."""

    def __init__(self, runs: Path) -> None:
        self._server, _ = build_mcp(runs, Terms(read_only=True))

    def requests(self, run: str, other: str) -> list[tuple[str, dict[str, object]]]:
        about = "status metrics alerts log checkpoints digest audit actions episode frames"
        return [
            *((name, {"run": run}) for name in about.split()),
            *(("runs", {}), ("limits", {}), ("config", {"run": run})),
            ("history", {"run": run, "metrics": ["train/score", "eval/score"]}),
            ("diagnose", {"run": run, "environment": False}),
            ("compare", {"runs": [run, other]}),
            ("diff", {"run": run, "other": other}),
            ("chart", {"runs": [run, other]}),
        ]

    def ask(self, tool: str, arguments: dict[str, object]) -> str:
        """What a tool answers; anything but an answer or a sentence is an error of ours."""
        try:
            result = asyncio.run(self._server.call_tool(tool, arguments))
        except ToolError as error:
            raise error.__cause__ or error from None
        return "".join(getattr(part, "text", "") for part in result.content)
