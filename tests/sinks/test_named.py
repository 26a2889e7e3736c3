"""Sinks that a config names: given their settings, and left out once they fail."""

import sys
from functools import partial
from pathlib import Path

import pytest

from spotter.config import resolve
from spotter.rundir.run import Run
from spotter.sinks import named
from spotter.training.run import train, try_out
from spotter.types import UserError

SHORT = ["budget.env_steps=512", "eval.every_steps=null", "eval.episodes=1", "video.when=null"]
TABLE = """
    from pathlib import Path

    from spotter.config import SinkConfig
    from spotter.sinks.base import Sink


    class Config(SinkConfig):
        column: str = "train/episodes"


    def make(config):
        return Table(config.column)


    class Table(Sink):
        def __init__(self, column):
            self.column, self.lines = column, []

        def row(self, row):
            self.lines.append(f"{row.env_steps} {row.metrics[self.column]:g}")

        def close(self, ending):
            Path("table.txt").write_text("\\n".join(self.lines))
"""


@pytest.fixture
def module(folder, monkeypatch):
    """Write a module into the working folder, where Python finds it."""
    monkeypatch.syspath_prepend(".")
    names = []

    def write(name, text):
        names.append(name)
        return folder(f"{name}.py", text)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def config(sinks, *more):
    return resolve("CartPole-v1:ppo", [*SHORT, {"sinks": sinks}, *more]).config


def test_a_file_of_ones_own(module):
    module("table", TABLE)
    found = config(["table"])
    assert found.as_data()["sinks"] == [{"name": "table", "column": "train/episodes"}]
    train(found)
    lines = Path("table.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["256", "512"]


def test_settings_of_its_own_are_checked(module):
    module("table", TABLE)
    assert config([{"name": "table", "column": "time/fps"}]).sinks[0].column == "time/fps"
    with pytest.raises(UserError, match=r"sinks\[0\].colum is not a setting; did you mean"):
        config([{"name": "table", "colum": "time/fps"}])
    with pytest.raises(UserError, match=r"unknown sink 'tensorbord'; did you mean 'tensorboard'"):
        config(["tensorbord"])


def test_a_sink_without_settings_needs_no_config(module):
    module("silent", "def make(config): ...")
    assert config(["silent"]).as_data()["sinks"] == [{"name": "silent"}]
    with pytest.raises(UserError, match=r"sinks\[0\].loud is not a setting"):
        config([{"name": "silent", "loud": 1}])


@pytest.mark.parametrize("method", ["row", "evaluation", "note", "event"])
def test_a_sink_that_fails_is_left_out(module, method):
    module(
        "failing",
        f"""
        from spotter.sinks.base import Sink

        def make(config):
            return Failing()

        class Failing(Sink):
            calls = 0

            def {method}(self, *given):
                Failing.calls += 1
                raise ConnectionError("no network")
        """,
    )
    more = ["eval.every_steps=256", "checkpoint.every_s=1e-9"]
    found = config(["failing"], *more)
    made = partial(Run.create, found, "CartPole-v1:ppo", [])
    result = train(found, new_run=made, notes=["begun"])
    assert result.reason == "budget"
    assert sys.modules["failing"].Failing.calls == 1
    log = (result.run.folder / "run.log").read_text()
    sentence = "sink failing failed and is left out from here: ConnectionError: no network"
    assert log.count(sentence) == 1


def test_a_sink_that_cannot_begin_is_refused(module):
    module(
        "closed",
        """
        from spotter.sinks.base import Sink

        def make(config):
            return Closed()

        class Closed(Sink):
            def open(self, start):
                raise OSError("no key")
        """,
    )
    with pytest.raises(UserError, match="sinks: closed cannot begin: OSError: no key"):
        train(config(["closed"]))


def test_what_it_says_last_is_not_lost(module, capsys):
    class Late:
        def close(self, ending):
            raise TimeoutError("too late")

    named.Named("late", Late()).close(None)
    assert "sink late failed and is left out from here: TimeoutError" in capsys.readouterr().err


def test_a_missing_package_is_said_before_anything_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(UserError, match=r"tensorboard is not installed: pip install 'spotter-rl\["):
        try_out(config(["tensorboard"]))
