"""One question to an OpenAI-compatible server: `POST <url>/chat/completions`, nothing else.

Hosted services and local servers (llama.cpp, Ollama, vLLM, LM Studio) speak it alike. The key is in
no message, file or error; redirects are refused, since they would carry it elsewhere.
"""

import http.client
import ipaddress
import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from spotter.types import UserError

URL_VARIABLE: Final = "SPOTTER_LLM_URL"
MODEL_VARIABLE: Final = "SPOTTER_LLM_MODEL"
KEY_VARIABLE: Final = "SPOTTER_LLM_KEY"

_PATH: Final = "/chat/completions"
_ATTEMPTS: Final = 3
_BUSY: Final = (429, 500, 502, 503, 504, 529)
_MOST_PAUSE_S: Final = 30.0
_MOST_BYTES: Final = 2_000_000
"""Of an answer: far more than any model says."""
_BLOCK: Final = 1 << 16
_MOST_SAID: Final = 200
"""Characters of what a server says about an error."""

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Answer:
    """What the model said."""

    text: str
    model: str
    """As the server calls it."""
    is_cut: bool
    """Whether the server ended it before the model did."""


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, and whom."""

    url: str
    model: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]


def configured() -> Endpoint | None:
    """What the environment variables say; None if nobody set them."""
    url = os.environ.get(URL_VARIABLE, "").strip()
    model = os.environ.get(MODEL_VARIABLE, "").strip()
    if not url and not model:
        return None
    for name, value in ((URL_VARIABLE, url), (MODEL_VARIABLE, model)):
        if not value:
            raise UserError(f"{name} is not set, but a review needs it")
    key = os.environ.get(KEY_VARIABLE, "").strip()
    return Endpoint(_address(url, bool(key)), model, key)


def needed() -> Endpoint:
    """The same, or a sentence that says what to set."""
    found = configured()
    if found is None:
        raise UserError(
            f"no model is set up to review runs: set {URL_VARIABLE} (such as "
            f"http://localhost:11434/v1) and {MODEL_VARIABLE}, and {KEY_VARIABLE} if it wants one"
        )
    return found


def _address(url: str, has_key: bool) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise UserError(f"{URL_VARIABLE} should be like https://host/v1, without a name in it")
    if has_key and parts.scheme == "http" and not _is_near(parts.hostname):
        raise UserError(
            f"{KEY_VARIABLE} would travel unencrypted to {parts.hostname}: use https in "
            f"{URL_VARIABLE}"
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith(_PATH) else path + _PATH
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _is_near(host: str) -> bool:
    """This machine, or a private network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".lan"))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(frozen=True)
class Client:
    """Patient with a busy server, not with a silent one."""

    endpoint: Endpoint
    timeout_s: float = 180.0
    """For the whole answer; local models think slowly."""
    pause: Callable[[float], None] = time.sleep

    def ask(self, messages: Messages) -> Answer:
        body = json.dumps({"model": self.endpoint.model, "messages": messages, "stream": False})
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _answer(self._post(body.encode()), self.endpoint.model)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _BUSY or attempt == _ATTEMPTS:
                        raise self._refused(error) from None
                    wait = _wait(error.headers.get("Retry-After"), attempt)
            self.pause(wait)
        raise AssertionError("unreachable")

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "spotter"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        request = urllib.request.Request(self.endpoint.url, body, headers, method="POST")
        end = time.monotonic() + self.timeout_s
        try:
            with self._opener().open(request, timeout=self.timeout_s) as response:
                return self._read(response, end)
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError | socket.timeout):
                raise self._late() from None
            raise UserError(
                f"{self.endpoint.host} cannot be reached ({_words(error.reason)}); is the server "
                f"running, and is {URL_VARIABLE} right?"
            ) from None
        except TimeoutError:
            raise self._late() from None
        except (OSError, http.client.HTTPException) as error:
            raise UserError(
                f"{self.endpoint.host} broke off in the middle of its answer ({_words(error)})"
            ) from None

    def _read(self, response: Any, end: float) -> bytes:
        """No longer and no more than agreed, however slowly it drips."""
        blocks, size = [], 0
        while block := response.read1(_BLOCK):
            blocks.append(block)
            size += len(block)
            if size > _MOST_BYTES:
                raise UserError(
                    f"{self.endpoint.host} answers with more than {_MOST_BYTES // 1_000_000} MB; "
                    "that is no review, and nothing of it was kept"
                )
            if time.monotonic() > end:
                raise self._late()
        return b"".join(blocks)

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        host = urlsplit(self.endpoint.url).hostname or ""
        if _is_near(host):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy does not know this machine
        return urllib.request.build_opener(*handlers)

    def _late(self) -> UserError:
        return UserError(f"{self.endpoint.host} did not answer within {self.timeout_s:.0f} s")

    def _refused(self, error: urllib.error.HTTPError) -> UserError:
        hints = {
            401: f"; look at {KEY_VARIABLE}",
            403: f"; look at {KEY_VARIABLE}",
            404: f"; look at {URL_VARIABLE} and {MODEL_VARIABLE}",
            413: "; send fewer frames",
            429: "; it is too busy, or your quota is used up",
        }
        said = self._hidden(_said(error))
        return UserError(
            f"{self.endpoint.host} refused: {error.code}{f' ({said})' if said else ''}"
            f"{hints.get(error.code, '')}"
        )

    def _hidden(self, text: str) -> str:
        """Some servers repeat the key they do not like."""
        return text.replace(self.endpoint.key, "(key)") if self.endpoint.key else text


def _wait(asked: str | None, attempt: int) -> float:
    try:
        seconds = float(asked or "")
    except ValueError:  # absent, or a date
        seconds = float(2 ** (attempt - 1))
    return min(max(seconds, 0.0), _MOST_PAUSE_S)


def _said(error: urllib.error.HTTPError) -> str:
    """What a server says about its error: the message of its JSON, else its reason."""
    try:
        data = json.loads(error.read(_BLOCK))
        found = data["error"]
        text = found["message"] if isinstance(found, dict) else found
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException, RecursionError):
        text = error.reason
    return _words(text)


def _words(text: object) -> str:
    line = "".join(char if char.isprintable() else " " for char in str(text))
    line = " ".join(line.split()).rstrip(".")
    return line if len(line) <= _MOST_SAID else line[: _MOST_SAID - 1] + "…"


def _answer(data: bytes, model: str) -> Answer:
    try:
        found = json.loads(data)
        choice = found["choices"][0]
        text = _text(choice["message"]["content"])
        named = found.get("model")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"the server's answer is no chat completion; is {URL_VARIABLE} the address of an "
            "OpenAI-compatible API?"
        ) from None
    if not text.strip():
        raise UserError("the model answered with nothing")
    called = _words(named) if isinstance(named, str) and named else model
    return Answer(printable(text), called, choice.get("finish_reason") == "length")


def _text(content: Any) -> str:
    """A text, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def printable(text: str) -> str:
    """Without what would move the cursor of a terminal; lines and tabs stay."""
    text = text.replace("\r\n", "\n")
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)
