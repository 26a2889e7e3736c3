"""The server: starts, says where, serves every page, survives odd runs folders."""

import socket
from urllib.request import urlopen

import pytest

from spotter.studio import server
from spotter.types import UserError


def test_it_serves_the_runs_page(studio):
    with urlopen(studio.url) as answer:
        assert answer.status == 200
        assert b"Spotter Studio" in answer.read()


def test_a_port_in_use_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="try --port"):
            server._listen("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_does_not_exist_is_one_sentence():
    with pytest.raises(UserError, match="no machine called"):
        server._listen("no.such.machine.invalid", 0)
