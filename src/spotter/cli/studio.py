"""`spotter studio`: the page in the browser."""

from typing import Annotated, Final

import typer

from spotter.plugins import require

EXAMPLES: Final = """\
  spotter studio                            on this machine alone: http://127.0.0.1:7860/
  spotter studio --port 8000 --no-browser   elsewhere, and opened by hand
  spotter studio --host 0.0.0.0             for other machines: prints an address with a token
"""


def run(
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="Where to listen; 0 takes a free one."
        ),
    ] = 7860,
    host: Annotated[
        str,
        typer.Option("--host", metavar="NAME", help="Anything but the loopback needs a token."),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TEXT", help="Ask for this one; made up where needed."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Runs in the browser: watch them live, start and stop them, look inside, play."""
    require("nicegui", extra="studio")
    from spotter.studio.server import serve

    serve(port, host, token, show=not no_browser)
