"""`spotter mcp`: tools for language models."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.plugins import require
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.mcp.desk import Desk
    from spotter.mcp.server import Server

EXAMPLES: Final = """\
  spotter mcp                               over stdin and stdout: a client starts this itself
  spotter mcp --read-only                   look, but start and change nothing
  spotter mcp --most-runs 1 --most-steps 1000000 --most-minutes 30
  spotter mcp --http                        on this machine alone: prints an address and a token

Limits hold for all servers and agents of a folder of runs together. `spotter help howto/mcp`
shows how to add Spotter to a client.
"""
_HOST: Final = "127.0.0.1"
_PORT: Final = 7861
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        show_default=str(_PORT),
        help="For --http; 0: a free one.",
    ),
]
Host = Annotated[
    str | None,
    typer.Option("--host", metavar="NAME", show_default=_HOST, help="For --http: who may connect."),
]


def run(
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP instead of stdin and stdout.")
    ] = False,
    port: Port = None,
    host: Host = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="No tool that starts or changes anything.")
    ] = False,
    most_runs: Annotated[
        int,
        typer.Option("--most-runs", metavar="N", min=0, help="Runs of agents at the same time."),
    ] = 2,
    most_steps: Annotated[
        int,
        typer.Option(
            "--most-steps", metavar="N", min=0, help="Env steps of all their runs together."
        ),
    ] = 20_000_000,
    most_minutes: Annotated[
        float,
        typer.Option(
            "--most-minutes", metavar="N", min=0, help="Minutes of all their runs together."
        ),
    ] = 240.0,
    renew: Annotated[
        bool, typer.Option("--renew", help="Forget what was spent: steps and minutes start at 0.")
    ] = False,
    answer_tokens: Annotated[
        int,
        typer.Option(
            "--answer-tokens", metavar="N", min=1000, help="The longest answer of a tool."
        ),
    ] = 8000,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Let requests name packages and files, which runs code."),
    ] = False,
) -> None:
    """Let a language model look at runs, see episodes, and start runs within limits."""
    require("mcp", extra="mcp")
    from spotter.launch.ledger import Limits
    from spotter.mcp.desk import Terms
    from spotter.mcp.server import build
    from spotter.rundir.identity import home

    if not http and (port is not None or host is not None):
        raise UserError("--port and --host are for --http; a client starts the server otherwise")
    limits = Limits(most_runs, most_steps, most_minutes)
    server, desk = build(home(), Terms(read_only, trust, answer_tokens, limits))
    if renew:
        desk.ledger.renew()
    _serve(server, desk, (host or _HOST, _PORT if port is None else port) if http else None)


def _serve(server: "Server", desk: "Desk", place: tuple[str, int] | None) -> None:
    """Until the client goes, or Ctrl-C; over HTTP where there is a place to listen."""
    try:
        if place:
            from spotter.mcp.http import serve

            serve(server, *place)
        else:
            server.run("stdio")
    except KeyboardInterrupt:
        pass
    finally:
        desk.worker.close()
