"""One question to an OpenAI-compatible server: `POST <url>/chat/completions`, nothing else.

Hosted services and local servers (llama.cpp, Ollama, vLLM, LM Studio) speak it alike. The key is in
no message, file or error, also if the server repeats it; redirects are refused, since they would
carry it elsewhere.
"""

import http.client
import ipaddress
import json
import math
import os
import time
import urllib.error
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from spotter.review.exchange import Post, Reply
from spotter.review.secret import without
from spotter.text.numbers import printable
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
    """What the environment variables say; None if they are not set."""
    url = os.environ.get(URL_VARIABLE, "").strip()
    model = os.environ.get(MODEL_VARIABLE, "").strip()
    if not url and not model:
        return None
    for name, value in ((URL_VARIABLE, url), (MODEL_VARIABLE, model)):
        if not value:
            raise UserError(f"{name} is not set, but a review needs it")
    if not model.isprintable():
        raise UserError(f"{MODEL_VARIABLE} holds a sign that cannot be printed")
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not _is_word(key):
        raise UserError(
            f"{KEY_VARIABLE} should be one word of ASCII; a space, a line break or an ellipsis "
            "came along when it was copied"
        )
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


def _is_word(text: str) -> bool:
    """What a header or a request line can carry."""
    return text.isascii() and text.isprintable() and " " not in text


def _address(url: str, has_key: bool) -> str:
    parts = _parts(url)
    if has_key and parts.scheme == "http" and not _is_near(parts.hostname or ""):
        raise UserError(
            f"{KEY_VARIABLE} would travel unencrypted to {parts.hostname}: use https in "
            f"{URL_VARIABLE}"
        )
    path = parts.path.rstrip("/")
    path = path if path.endswith(_PATH) else path + _PATH
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _parts(url: str) -> SplitResult:
    if not _is_word(url):
        raise UserError(f"{URL_VARIABLE} should be ASCII without spaces; write others as %C3%A9")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname)
    except ValueError:
        raise UserError(f"the host in {URL_VARIABLE} is none; IPv6 is like [::1]") from None
    if parts.scheme not in ("http", "https") or not has_host or "@" in parts.netloc:
        raise UserError(f"{URL_VARIABLE} should be like https://host/v1, without user@")
    try:
        is_port = parts.port != 0
    except ValueError:
        is_port = False
    if not is_port:
        raise UserError(f"the port in {URL_VARIABLE} should be a number from 1 to 65535")
    return parts


def _is_near(host: str) -> bool:
    """This machine, or a private network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".lan"))


@dataclass(frozen=True)
class Client:
    """Patient with a busy server, not with a silent one."""

    endpoint: Endpoint
    timeout_s: float = 180.0
    """For everything until the answer is there, further attempts too; local models think slowly."""
    pause: Callable[[float], None] = time.sleep

    def ask(self, messages: Messages) -> Answer:
        body = json.dumps({"model": self.endpoint.model, "messages": messages, "stream": False})
        end = time.monotonic() + self.timeout_s
        for attempt in range(1, _ATTEMPTS + 1):
            reply = self._post(body.encode(), end - time.monotonic())
            if 200 <= reply.code < 300:
                return self._answer(reply.body)
            wait = _wait(reply.retry_after, attempt)
            is_over = attempt == _ATTEMPTS or time.monotonic() + wait >= end
            if reply.code not in _BUSY or is_over:
                raise self._refused(reply)
            self.pause(wait)
        raise AssertionError("unreachable")

    def _post(self, body: bytes, left_s: float) -> Reply:
        headers = {"Content-Type": "application/json", "User-Agent": "spotter"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        url, host = self.endpoint.url, self.endpoint.host
        near = _is_near(urlsplit(url).hostname or "")
        try:
            if left_s <= 0:
                raise TimeoutError
            return Post(url, body, headers, _MOST_BYTES, near).send(left_s)
        except TimeoutError:
            raise self._late() from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._late() from None
            raise UserError(
                f"{host} cannot be reached ({self._words(error.reason)}); is the server "
                f"running, and is {URL_VARIABLE} right?"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise UserError(
                f"{host} broke off in the middle of its answer ({self._words(error)})"
            ) from None
        except ValueError as error:
            raise UserError(
                f"{host} cannot be asked ({self._words(error)}); is {URL_VARIABLE} right?"
            ) from None

    def _late(self) -> UserError:
        return UserError(f"{self.endpoint.host} did not answer within {self.timeout_s:.0f} s")

    def _refused(self, reply: Reply) -> UserError:
        hints = {
            401: f"; look at {KEY_VARIABLE}",
            403: f"; look at {KEY_VARIABLE}",
            404: f"; look at {URL_VARIABLE} and {MODEL_VARIABLE}",
            413: "; send fewer frames",
            429: "; it is too busy, or your quota is used up",
        }
        hint = hints.get(reply.code, "")
        if 300 <= reply.code < 400:
            hint = f"; the key would go along, so put the last address into {URL_VARIABLE}"
        said = self._words(_said(reply))
        return UserError(
            f"{self.endpoint.host} refused: {reply.code}{f' ({said})' if said else ''}{hint}"
        )

    def _answer(self, data: bytes) -> Answer:
        if len(data) > _MOST_BYTES:
            raise UserError(
                f"{self.endpoint.host} answers with more than {_MOST_BYTES // 1_000_000} MB; "
                "that is no review, and nothing of it was kept"
            )
        text, named, is_cut = _completion(data)
        if not text.strip():
            raise UserError("the model answered with nothing")
        called = self._words(named) or self.endpoint.model
        said = without(text, self.endpoint.key).replace("\r\n", "\n")
        return Answer(printable(said), called, is_cut)

    def _words(self, text: object) -> str:
        """What a stranger says, on one line, not too long. The key goes first: cut or wrapped, it
        would no longer be found."""
        line = without(str(text), self.endpoint.key)
        line = "".join(char if char.isprintable() else " " for char in line)
        line = " ".join(line.split()).rstrip(".")
        return line if len(line) <= _MOST_SAID else line[: _MOST_SAID - 1] + "…"


def _wait(asked: str, attempt: int) -> float:
    try:
        seconds = float(asked)
    except ValueError:  # absent, or a date
        seconds = math.nan
    if not math.isfinite(seconds):
        seconds = float(2 ** (attempt - 1))
    return min(max(seconds, 0.0), _MOST_PAUSE_S)


def _said(reply: Reply) -> str:
    """What a server says about its error: the message of its JSON, else its reason."""
    try:
        found = json.loads(reply.body)["error"]
        return str(found["message"] if isinstance(found, dict) else found)
    except (ValueError, KeyError, TypeError, RecursionError):
        return reply.reason


def _completion(data: bytes) -> tuple[str, str, bool]:
    """The text, the model's name, and whether it was cut."""
    try:
        found = json.loads(data)
        choice = found["choices"][0]
        text = _text(choice["message"]["content"])
        named = found.get("model")
        is_cut = choice.get("finish_reason") == "length"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"the server's answer is no chat completion; is {URL_VARIABLE} the address of an "
            "OpenAI-compatible API?"
        ) from None
    return text, named if isinstance(named, str) else "", is_cut


def _text(content: Any) -> str:
    """A text, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")
