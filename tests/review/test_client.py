"""The client against a server that speaks the protocol, and against ones that do not."""

import time

import pytest

from spotter.review import client
from spotter.review.client import Client, Endpoint
from spotter.types import UserError
from tests.review.server import Reply, completion

HELLO = [{"role": "user", "content": "hello"}]


def ask(model, **more):
    return Client(client.needed(), pause=lambda _: None, **more).ask(HELLO)


def test_a_question_and_its_answer(model, monkeypatch):
    monkeypatch.setenv("SPOTTER_LLM_KEY", "sk-secret")
    answer = ask(model)
    assert (answer.text, answer.model, answer.is_cut) == ("Lower `algo.lr`.", "tiny-2", False)
    assert model.paths == ["/v1/chat/completions"]
    assert model.requests == [{"model": "tiny", "messages": HELLO, "stream": False}]
    assert model.headers[0]["Authorization"] == "Bearer sk-secret"


def test_without_a_key_none_is_sent(model):
    ask(model)
    assert "Authorization" not in model.headers[0]


def test_parts_and_cut_answers(model):
    parts = [{"type": "text", "text": "a"}, {"type": "refusal"}, {"type": "text", "text": "b"}]
    model.answers(Reply(body=completion(parts, finish_reason="length")))
    answer = ask(model)
    assert (answer.text, answer.is_cut) == ("ab", True)


def test_what_would_move_the_cursor_is_taken_out(model):
    model.answers("one\r\ntwo\x1b[2J\tthree\u202e")
    assert ask(model).text == "one\ntwo [2J\tthree "


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again(model, code):
    pauses = []
    model.answers(Reply(code, {}, {"Retry-After": "7"}), Reply(code, {}), "at last")
    answer = Client(client.needed(), pause=pauses.append).ask(HELLO)
    assert answer.text == "at last"
    assert pauses == [7.0, 2.0]


def test_no_wait_is_longer_than_half_a_minute(model):
    pauses = []
    model.answers(Reply(429, {}, {"Retry-After": "86400"}), "at last")
    Client(client.needed(), pause=pauses.append).ask(HELLO)
    assert pauses == [30.0]


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("nan", 1.0), ("inf", 1.0), ("-3", 0.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 1.0)],
    ids=["nan", "inf", "negative", "date"],
)
def test_a_wait_that_is_no_number_of_seconds_is_our_own(model, asked, waited):
    pauses = []
    model.answers(Reply(429, {}, {"Retry-After": asked}), "at last")
    Client(client.needed(), pause=pauses.append).ask(HELLO)
    assert pauses == [waited]


def test_a_server_that_stays_busy_is_given_up(model):
    model.answers(Reply(503, {"error": {"message": "loading the model."}}))
    with pytest.raises(UserError, match=r"refused: 503 \(loading the model\)"):
        ask(model)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (401, {"error": {"message": "bad key sk-secret"}}, r"401 \(bad key \(key\)\); look at SP"),
        (404, {"error": "model not found"}, r"404 \(model not found\); look at SPOTTER_LLM_URL"),
        (400, b"<html>no</html>", r"refused: 400 \(Bad Request\)"),
        (413, b"[" * 60_000, "send fewer frames"),
        (400, {"error": "x" * 194 + "sk-secret"}, r"x\(key\)\)$"),
        (400, {"error": "Bearer sk-\n  sec ret"}, r"\(Bearer \(key\)\)"),
    ],
    ids=["key", "missing", "html", "deep", "across the cut", "wrapped"],
)
def test_a_refusal_is_one_sentence_and_not_repeated(model, monkeypatch, code, body, said):
    monkeypatch.setenv("SPOTTER_LLM_KEY", "sk-secret")
    model.answers(Reply(code, body))
    with pytest.raises(UserError, match=said) as raised:
        ask(model)
    assert len(model.requests) == 1
    assert "sk-" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_key_that_is_echoed_is_hidden(model, monkeypatch):
    monkeypatch.setenv("SPOTTER_LLM_KEY", "sk-secret")
    reply = completion("Your header: Bearer sk-secret") | {"model": "tiny sk-secret"}
    model.answers(Reply(body=reply))
    answer = ask(model)
    assert (answer.text, answer.model) == ("Your header: Bearer (key)", "tiny (key)")


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/steal", "http://[::1", "file:///etc/passwd"])
def test_a_redirect_is_refused_for_it_would_carry_the_key_elsewhere(model, place):
    model.answers(Reply(307, {}, {"Location": place}))
    with pytest.raises(UserError, match=r"307 \(Temporary Redirect\); the key would go along"):
        ask(model)


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": {}}]}',
     b'{"choices": [{"message": {"content": 3}}]}', b"[" * 100_000],
    ids=["empty", "text", "list", "bare", "none", "no content", "number", "deep"],
)  # fmt: skip
def test_what_is_no_completion_is_one_sentence(model, body):
    model.answers(Reply(200, body))
    with pytest.raises(UserError, match="no chat completion"):
        ask(model)


def test_an_empty_answer_is_none(model):
    model.answers(" \n")
    with pytest.raises(UserError, match="answered with nothing"):
        ask(model)


def test_a_stranger_s_huge_answer_is_not_kept(model):
    model.answers(Reply(200, b"x" * 1_000_000, blocks=50))
    with pytest.raises(UserError, match="more than 2 MB"):
        ask(model)


def test_a_silent_server_is_waited_for_only_so_long(model):
    model.answers(Reply(200, {}, wait_s=600))
    started = time.monotonic()
    with pytest.raises(UserError, match="did not answer within 0 s"):
        ask(model, timeout_s=0.3)
    assert time.monotonic() - started < 300, "of the 600 s that the server takes"


def test_a_dripping_server_too(model):
    model.answers(Reply(200, b" ", {"X-Drip": "0.05"}, blocks=12_000))
    started = time.monotonic()
    with pytest.raises(UserError, match="did not answer within"):
        ask(model, timeout_s=0.4)
    assert time.monotonic() - started < 300, "of the 600 s that the server takes"


def test_a_server_that_is_not_there(monkeypatch):
    endpoint = Endpoint("http://127.0.0.1:9/v1/chat/completions", "tiny")
    with pytest.raises(UserError, match=r"127\.0\.0\.1:9 cannot be reached \(.*\); is the server"):
        Client(endpoint).ask(HELLO)


def test_a_proxy_is_not_asked_about_this_machine(model, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask(model).text == "Lower `algo.lr`."


# --- settings ------------------------------------------------------------------------------------


def test_without_variables_nothing_is_set_up():
    assert client.configured() is None
    with pytest.raises(UserError, match=r"set SPOTTER_LLM_URL .* and SPOTTER_LLM_MODEL"):
        client.needed()


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("", "", "SPOTTER_LLM_URL is not set"),
        ("ftp://host/v1", "", "should be like https://host/v1"),
        ("file:///etc/passwd", "", "should be like"),
        ("localhost:11434", "", "should be like"),
        ("https://me:pw@host/v1", "", "without user@"),
        ("https://:sk-1@host/v1", "", "without user@"),
        ("http://api.example.com/v1", "sk-1", "unencrypted to api.example.com"),
        ("http://[::1", "", r"the host in SPOTTER_LLM_URL is none; IPv6 is like \[::1\]"),
        ("http://localhost/vé1", "", "SPOTTER_LLM_URL should be ASCII without spaces"),
        ("http://localhost/v 1", "", "SPOTTER_LLM_URL should be ASCII without spaces"),
        ("http://localhost:abc/v1", "", "the port in SPOTTER_LLM_URL should be a number"),
        ("http://localhost:99999/v1", "", "the port in SPOTTER_LLM_URL should be a number"),
        ("http://localhost/v1", "sk-1…9", "SPOTTER_LLM_KEY should be one word of ASCII"),
        ("http://localhost/v1", "sk-1\nX-Evil: 1", "SPOTTER_LLM_KEY should be one word of ASCII"),
        ("http://localhost/v1", "Bearer sk-1", "SPOTTER_LLM_KEY should be one word of ASCII"),
    ],
    ids=[
        "none", "ftp", "file", "no scheme", "password", "bare password", "open key", "bracket",
        "accent", "space", "port", "big port", "ellipsis", "line break", "two words",
    ],
)  # fmt: skip
def test_a_wrong_address_or_key_is_one_sentence(monkeypatch, url, key, said):
    monkeypatch.setenv("SPOTTER_LLM_URL", url)
    monkeypatch.setenv("SPOTTER_LLM_MODEL", "m")
    monkeypatch.setenv("SPOTTER_LLM_KEY", key)
    with pytest.raises(UserError, match=said) as raised:
        client.configured()
    assert "sk-1" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_model_s_name_can_be_printed(monkeypatch):
    monkeypatch.setenv("SPOTTER_LLM_URL", "http://localhost/v1")
    monkeypatch.setenv("SPOTTER_LLM_MODEL", "tiny\x1b[2J")
    with pytest.raises(UserError, match="SPOTTER_LLM_MODEL holds a sign"):
        client.configured()


def test_an_address_nobody_can_have_is_one_sentence():
    with pytest.raises(UserError, match=r"a\.\.b cannot be asked \(.*\); is SPOTTER_LLM_URL right"):
        Client(Endpoint("http://a..b/v1/chat/completions", "tiny")).ask(HELLO)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://localhost:1/v1/", "http://localhost:1/v1/chat/completions"),
        ("https://x.org/a/chat/completions", "https://x.org/a/chat/completions"),
        ("https://x.org/v1?api=2", "https://x.org/v1/chat/completions?api=2"),
        ("http://192.168.0.9:8000/v1", "http://192.168.0.9:8000/v1/chat/completions"),
    ],
)
def test_the_address_may_be_the_base_or_the_whole(monkeypatch, url, asked):
    monkeypatch.setenv("SPOTTER_LLM_URL", url)
    monkeypatch.setenv("SPOTTER_LLM_MODEL", "m")
    monkeypatch.setenv("SPOTTER_LLM_KEY", "k")
    found = client.configured()
    assert found is not None
    assert found.url == asked
    assert "'k'" not in repr(found)
