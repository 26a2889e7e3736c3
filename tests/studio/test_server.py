"""The server: starts, says where, serves every page, ends when told to."""

import os
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from tests.studio.making import start_server


def test_it_serves_the_runs_page(studio):
    with urlopen(studio.url) as answer:
        assert answer.status == 200
        assert b"Spotter Studio" in answer.read()


@pytest.mark.parametrize("path", ["", "compare", "inspect", "play", "film", "explored", "run/none"])
def test_every_page_answers(studio, path):
    with urlopen(studio.url + path) as answer:
        assert answer.status == 200


@pytest.mark.skipif(os.name == "nt", reason="other signals there")
def test_ctrl_c_ends_it_quietly_and_it_leaves_nothing_behind(tmp_path):
    server = start_server(tmp_path / "runs", cwd=tmp_path)
    urlopen(server.url).close()
    server.process.send_signal(signal.SIGINT)
    _, said = server.process.communicate(timeout=600)
    assert server.process.returncode == 0
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_no_torch_in_the_server():
    """A page must open quickly, and a policy that runs must not freeze it."""
    code = "import sys, spotter.studio.server; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
