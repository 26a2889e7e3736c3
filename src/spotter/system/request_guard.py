"""Which requests a server accepts, and where it listens: shared by Studio and MCP over HTTP.

On the loopback only requests for a loopback name are answered, so that a web page whose name
suddenly means 127.0.0.1 (DNS rebinding) gets nothing. What another page's script asks for is
refused by its `Origin`. Beyond the loopback a token is needed.
"""

import hashlib
import ipaddress
import os
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from spotter.types import UserError

SHORTEST_TOKEN: Final = 8
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


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
        """Why a request is refused, whatever its sender; empty if it is accepted."""
        host = headers.get("host", "")
        if not self.knows(name_of(host)):
            return f"Spotter does not answer to the name {host[:80]!r}."
        if not is_own_page(headers.get("origin"), host):
            return "Spotter answers no requests from other pages."
        # what a page of another site embeds or fetches without sending its origin
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if foreign and headers.get("sec-fetch-mode") != "navigate":
            return "Spotter answers no requests from other pages."
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


def headers_of(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """A header sent twice is joined, and then fits nothing we know."""
    found: dict[str, str] = {}
    for key, value in raw:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def listen(host: str, port: int) -> socket.socket:
    """A socket for a server; what stands in the way is a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":  # there it would let two servers share the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise UserError(_cannot_listen(host, port, error)) from error
    return listening


def _cannot_listen(host: str, port: int, error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"there is no machine called '{host}'; leave --host out for this machine alone"
    return f"cannot listen on {host}:{port}: {error}; try --port {port + 1 if port < 65_535 else 0}"
