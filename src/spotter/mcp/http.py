"""The server over HTTP: on the loopback by default, and never without its token."""

import os
import secrets
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import HANDLED_SIGNALS

from spotter.mcp.server import Server
from spotter.system.request_guard import SHORTEST_TOKEN, Door, headers_of, listen
from spotter.types import UserError

TOKEN_VARIABLE: Final = "SPOTTER_TOKEN"
PATH: Final = "/mcp"


class Gate:
    """Before everything else: the name this machine is called by, the page that asks, the token."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(headers_of(scope["headers"]))
            await (refusal or self._app)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})

    def _refusal(self, headers: dict[str, str]) -> PlainTextResponse | None:
        refusal = self._door.refusal(headers)
        if refusal:
            return PlainTextResponse(refusal, 403)
        scheme, _, offered = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._door.admits(offered.strip()):
            asks = {"www-authenticate": "Bearer"}
            return PlainTextResponse("a bearer token is needed", 401, headers=asks)
        return None


class Listening(uvicorn.Server):
    """Ends quietly: uvicorn itself raises every Ctrl-C once more, in the middle of its end."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # `heed_signals` did, before anybody could know the address

    def heed_signals(self) -> None:
        """From now to the end of the process, which is what follows."""
        for one in HANDLED_SIGNALS:
            signal.signal(one, self.handle_exit)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Once: after the requests at hand. Twice: at once; the worker ends with its pipe."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True


def token() -> tuple[str, bool]:
    """The person's own from the environment, or a new one; whether it is new."""
    own = os.environ.get(TOKEN_VARIABLE, "")
    if own and len(own) < SHORTEST_TOKEN:
        raise UserError(f"{TOKEN_VARIABLE} must have at least {SHORTEST_TOKEN} characters")
    return own or secrets.token_urlsafe(24), not own


def application(server: Server, door: Door) -> ASGIApp:
    """The whole of it, for any ASGI server."""
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate does
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=unchecked)
    return Gate(app, door)


def serve(server: Server, host: str, port: int) -> None:
    """Until Ctrl-C; prints the address, and the token where it is new."""
    secret, is_new = token()
    door = Door.at(host, secret)
    listening = listen(host, port)
    config = uvicorn.Config(
        application(server, door), log_level="warning", timeout_graceful_shutdown=1, lifespan="on"
    )
    serving = Listening(config)
    serving.heed_signals()
    name = f"[{host}]" if ":" in host else host
    print(f"Spotter MCP: http://{name}:{listening.getsockname()[1]}{PATH}", flush=True)
    said = secret if is_new else f"the one in {TOKEN_VARIABLE}"
    print(f"bearer token: {said}", flush=True)
    serving.run(sockets=[listening])
