"""The server: every tool with its annotations, the prompts, and what becomes of mistakes."""

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from spotter import __version__
from spotter.launch.worker import WorkerError
from spotter.mcp import answers
from spotter.mcp.act import Act
from spotter.mcp.answers import Answer
from spotter.mcp.desk import Desk, Terms
from spotter.mcp.look import Look
from spotter.mcp.prompts import prompts
from spotter.mcp.see import See
from spotter.mcp.watch import Watch
from spotter.plugins import did_you_mean
from spotter.rundir.files import StorageError
from spotter.rundir.identity import FOLDER_VARIABLE
from spotter.types import UserError

INSTRUCTIONS: Final = """\
Spotter trains reinforcement-learning agents. Runs live in processes of their own and outlast this \
server. Look first: `envs` (what can be trained), `runs`, `status`, `history`, `diagnose`, \
`digest`. {act} A run is named by @last, @best-of:EnvId, its id or a tag."""
_ACT: Final = """\
Then act, one change at a time: `start` or `fork` with `overrides`, a small budget, a reason and a \
request_key; watch with `status`; judge with `compare` on scores of held-out seeds. `limits` says \
what is left."""
_LOOK_ONLY: Final = "This server is read-only: it starts and changes nothing."
_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ACTING: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_KEYED: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_STOPPING: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


_FREE_TEXT: Final = ("text", "reason", "overrides", "since")
_LONGEST_NAME: Final = 300
"""Names are looked up by likeness, which takes long for endless ones."""

Tool = Callable[..., Answer]


class Server(MCPServer[Any]):
    """Answers a wrong name or argument in one sentence, with the nearest right one."""

    missing: frozenset[str] = frozenset()
    """Tools and prompts that a server would have that may act."""

    async def list_tools(self) -> list[ListedTool]:
        """Without the titles pydantic gives every argument: they say nothing and cost tokens."""
        found = await super().list_tools()
        for tool in found:
            for schema in (tool.input_schema, *tool.input_schema.get("properties", {}).values()):
                schema.pop("title", None)
        return found

    async def call_tool(
        self, name: str, arguments: dict[str, object], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tools = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name in self.missing:
            return answers.mistake(_not_here(name))
        if name not in tools:
            return answers.mistake(
                f"there is no tool '{name[:60]}'{did_you_mean(name[:60], tools)}"
            )
        known = tools[name].get("properties", {})
        for key, value in arguments.items():
            if key not in known:
                hint = did_you_mean(key[:60], known)
                return answers.mistake(f"{name} has no argument '{key[:60]}'{hint}")
            if key not in _FREE_TEXT and _longest(value) > _LONGEST_NAME:
                return answers.mistake(f"`{key}` holds a text of over {_LONGEST_NAME} characters")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return answers.mistake(f"{name}: {_wrong(error.__cause__)}")
            raise

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        known = [prompt.name for prompt in await self.list_prompts()]
        if name in self.missing:
            raise _invalid(_not_here(name))
        if name not in known:
            raise _invalid(f"there is no prompt '{name[:60]}'{did_you_mean(name[:60], known)}")
        if any(len(text) > _LONGEST_NAME for text in (arguments or {}).values()):
            raise _invalid(f"an argument is longer than {_LONGEST_NAME} characters")
        try:
            return await super().get_prompt(name, arguments, context)
        except (ValueError, UserError) as error:
            raise _invalid(f"{name}: {_cause(error)}") from error


def build(runs: Path, terms: Terms | None = None) -> tuple[Server, Desk]:
    """The server over a folder of runs, and the desk to close when it ends."""
    runs = runs.resolve()
    os.environ[FOLDER_VARIABLE] = str(runs)  # for everything that asks `home()`, children too
    desk = Desk(runs, terms or Terms())
    server = Server(
        "spotter",
        title="Spotter",
        instructions=INSTRUCTIONS.format(act=_LOOK_ONLY if desk.terms.read_only else _ACT),
        version=__version__,
        log_level="ERROR",
        subscriptions=False,
    )
    for tool, annotations in tools(desk):
        server.add_tool(
            _guarded(tool, desk.terms.answer_tokens),
            name=tool.__name__,
            annotations=annotations,
            structured_output=False,
        )
    for one in prompts(desk):
        prompt = Prompt.from_function(one.function, one.name, one.title, one.description)
        server.add_prompt(prompt)
    if desk.terms.read_only:
        acting = (tool.__name__ for tool, _ in acting_tools(desk))
        server.missing = frozenset((*acting, "tune"))
    return server, desk


def tools(desk: Desk) -> Iterator[tuple[Tool, ToolAnnotations]]:
    """Every tool these terms allow."""
    look, watch, see = Look(desk), Watch(desk), See(desk)
    reading: list[Tool] = [
        look.envs, look.config, look.runs, look.compare, look.diff, look.limits,
        watch.status, watch.metrics, watch.history, watch.alerts, watch.log, watch.checkpoints,
        watch.diagnose, watch.digest, see.frames, see.chart, see.audit, see.actions,
    ]  # fmt: skip
    yield from ((tool, _READING) for tool in reading)
    yield see.episode, _READING if desk.terms.read_only else _ACTING
    if not desk.terms.read_only:
        yield from acting_tools(desk)


def acting_tools(desk: Desk) -> Iterator[tuple[Tool, ToolAnnotations]]:
    """Those that start or change something."""
    act = Act(desk)
    keyed: list[Tool] = [act.start, act.resume, act.fork]
    acting: list[Tool] = [act.evaluate, act.note, act.tag]
    yield from ((tool, _KEYED) for tool in keyed)
    yield act.stop, _STOPPING
    yield from ((tool, _ACTING) for tool in acting)


def _not_here(name: str) -> str:
    return (
        f"this server is read-only: it starts and changes nothing, so there is no '{name}'; the "
        "person can allow it by starting `spotter mcp` without --read-only"
    )


def _guarded(tool: Tool, limit: int) -> Callable[..., CallToolResult]:
    """A user's mistake becomes a sentence for the model; everything else stays in the log."""

    @functools.wraps(tool)
    def call(*args: object, **kwargs: object) -> CallToolResult:
        try:
            return answers.result(tool(*args, **kwargs), limit)
        except (UserError, StorageError, WorkerError) as error:
            return answers.mistake(str(error))

    return call


def _longest(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return max(map(_longest, value), default=0) if isinstance(value, list) else 0


def _invalid(sentence: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=" ".join(sentence.split()))


def _cause(error: BaseException) -> str:
    """The user's mistake behind what the library made of it."""
    while True:
        if isinstance(error, ValidationError):
            return _wrong(error)
        if isinstance(error, UserError) or error.__cause__ is None:
            return str(error)
        error = error.__cause__


def _wrong(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    rest = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"`{where}`: {first['msg']}{rest}"
