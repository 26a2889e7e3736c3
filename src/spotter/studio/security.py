"""Asks the door about every request. Stands before everything else, the websocket included.

The token is needed once in the address; then the browser keeps a cookie.
"""

from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spotter.system.request_guard import Door, headers_of

COOKIE: Final = "spotter_token"
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NEEDS_TOKEN: Final = (
    "Spotter Studio needs its token: open the address that was printed when it was started."
)


class Guard:
    """The outermost application."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = headers_of(scope["headers"])
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


def _cookie(headers: dict[str, str]) -> str | None:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == COOKIE:
            return value.strip('"')
    return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[object] = list(message.get("headers", ()))
            message["headers"] = [*given, *_HEADERS]
        await send(message)

    return sending
