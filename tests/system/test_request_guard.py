"""Who is let in, and where servers listen; what requests meet is in tests/studio and tests/mcp."""

import socket

import pytest

from spotter.system.request_guard import Door, headers_of, is_loopback, listen
from spotter.types import UserError

TOKEN = "a-long-enough-token"


def test_a_loopback_address_of_its_own_is_answered():
    assert Door.at("127.0.0.2", None).refusal({"host": "127.0.0.2:7860"}) == ""


def test_a_token_is_made_up_beyond_the_loopback_and_short_ones_are_refused():
    assert Door.at("127.0.0.1", None).token is None
    made = Door.at("0.0.0.0", None).token
    assert made is not None and len(made) >= 20
    assert made != Door.at("0.0.0.0", None).token
    with pytest.raises(UserError, match="at least 8"):
        Door.at("0.0.0.0", "short")


def test_a_guarded_server_knows_addresses_and_its_own_name_only():
    door = Door.at("0.0.0.0", TOKEN)
    assert door.refusal({"host": "192.168.1.5:7860"}) == ""
    assert door.refusal({"host": "evil.example"}) != ""


@pytest.mark.parametrize(
    ("host", "yes"), [("127.0.0.1", True), ("127.0.0.53", True), ("localhost", True),
                      ("::1", True), ("0.0.0.0", False), ("10.0.0.1", False)]
)  # fmt: skip
def test_what_counts_as_loopback(host, yes):
    assert is_loopback(host) is yes


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[nonsense"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_pages_of_others_are_refused(headers):
    door = Door.at("127.0.0.1", None)
    assert door.refusal({"host": "127.0.0.1:7860"} | headers)
    assert not door.refusal({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"})


def test_a_header_sent_twice_fits_nothing():
    twice = headers_of([(b"Host", b"127.0.0.1"), (b"host", b"evil.example")])
    assert Door.at("127.0.0.1", None).refusal(twice)


def test_a_port_in_use_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="try --port"):
            listen("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_does_not_exist_is_one_sentence():
    with pytest.raises(UserError, match="no machine called"):
        listen("no.such.machine.invalid", 0)
