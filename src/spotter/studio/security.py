"""Who may talk to the server. Stands before everything else, the websocket included.

On the loopback only requests for a loopback name are answered, so that a web page whose name
suddenly means 127.0.0.1 (DNS rebinding) gets nothing. What another page's script asks for is
refused by its `Origin`. Beyond the loopback a token is needed: once in the address, then a cookie.
"""

import hashlib
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spotter.types import UserError

COOKIE: Final = "spotter_token"
SHORTEST_TOKEN: Final = 8
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NEEDS_TOKEN: Final = (
    "Spotter Studio needs its token: open the address that was printed when it was started."
)


@dataclass(frozen=True)
class Door:
    """Which requests are let in: by name of this machine, by origin, by token."""

    host: str
    token: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def at(cls, host: str, token: str | None) -> "Door":
        """For a server that listens on `host`; makes a token where one is needed."""
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise UserError(f"--token must have at least {SHORTEST_TOKEN} characters")
        if is_loopback(host):
            return cls(host, token, _LOOPBACK | {host.lower()})
        own = {host, socket.gethostname(), socket.getfqdn()}
        return cls(host, token or secrets.token_urlsafe(18), frozenset(map(str.lower, own)))

    def knows(self, name: str) -> bool:
        """A number cannot be made to mean another machine; a name can."""
        if name in self.names or name in _LOOPBACK:
            return True
        return not is_loopback(self.host) and _is_address(name)

    def refusal(self, headers: dict[str, str]) -> str:
        """Why a request is not let in, whoever sent it; empty if it may."""
        host = headers.get("host", "")
        if not self.knows(name_of(host)):
            return f"Spotter Studio does not answer to the name {host[:80]!r}."
        if not is_own_page(headers.get("origin"), host):
            return "Spotter Studio answers no requests from other pages."
        # what a page of another site embeds or fetches without telling its origin
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if foreign and headers.get("sec-fetch-mode") != "navigate":
            return "Spotter Studio answers no requests from other pages."
        return ""

    def admits(self, offered: str | None) -> bool:
        if self.token is None:
            return True
        return offered is not None and secrets.compare_digest(offered.encode(), self.token.encode())

    @property
    def proof(self) -> str:
        """What a browser keeps instead of the token: any token fits into a cookie then."""
        return hashlib.sha256((self.token or "").encode()).hexdigest()

    def remembers(self, shown: str | None) -> bool:
        return shown is not None and secrets.compare_digest(shown.encode(), self.proof.encode())


def is_loopback(host: str) -> bool:
    if host.lower() in _LOOPBACK:
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_page(origin: str | None, host: str) -> bool:
    """Whether a request comes from a page of `host`, or from none; nonsense does not."""
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def name_of(host: str) -> str:
    """The name in `name:port`; empty for nonsense."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """The outermost application."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = _headers(scope["headers"])
        answer = self._answer(scope, headers)
        if answer is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        else:
            await answer(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        """None where the pages may answer themselves."""
        refusal = self._door.refusal(headers)
        if refusal:
            return PlainTextResponse(refusal, 403)
        if self._door.token is None or self._door.remembers(_cookie(headers)):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = [value for key, value in query if key == "token"]
        if scope["type"] == "http" and offered and self._door.admits(offered[0]):
            return self._welcome(scope, [pair for pair in query if pair[0] != "token"])
        return PlainTextResponse(_NEEDS_TOKEN, 401)

    def _welcome(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        """The token leaves the address, so that it does not stay in the history or a screenshot."""
        # no second slash at the front: `//elsewhere` would lead to another machine
        path = "/" + str(scope["path"]).lstrip("/")
        response = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
        assert self._door.token is not None
        response.set_cookie(
            COOKIE, self._door.proof, max_age=30 * 86_400, httponly=True, samesite="lax"
        )
        return response


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """A header sent twice is joined, and then fits nothing we know."""
    found: dict[str, str] = {}
    for key, value in raw:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def _cookie(headers: dict[str, str]) -> str | None:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == COOKIE:
            return value.strip('"')
    return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[Any] = list(message.get("headers", ()))
            message["headers"] = [*given, *_HEADERS]
        await send(message)

    return sending
