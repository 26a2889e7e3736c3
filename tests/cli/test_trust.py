"""A run from elsewhere: read by every command, played by none without --trust."""

import os
import shutil
import sys

import pytest

import spotter as package
from spotter.rundir.run import Run

CODE = """
import os

os.environ["HARMED"] = "1"
from spotter.envs.families.classic import *
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Trained by somebody else, with a module of theirs."""
    home = tmp_path_factory.mktemp("trained")
    before = {name: os.environ.get(name) for name in ("SPOTTER_RUNS", "SPOTTER_STATE")}
    os.environ.update(SPOTTER_RUNS=str(home / "runs"), SPOTTER_STATE=str(home / "state"))
    try:
        result = package.train(
            "CartPole-v1:ppo", "eval.episodes=2", "video.when=null",
            quiet=True, budget={"env_steps": 1024}, checkpoint={"keep": None},
        )  # fmt: skip
    finally:
        os.environ.update({name: text for name, text in before.items() if text is not None})
    return result.run.folder


@pytest.fixture
def foreign(trained, tmp_path, monkeypatch):
    """Copied into the folder of runs; the module it names lies in the working folder."""
    module = "evil_family.module"
    folder = tmp_path / "runs" / trained.name
    shutil.copytree(trained, folder)
    shutil.copytree(trained, folder.with_name("00-other"))
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("family: classic", f"family: {module}"))
    package_folder = tmp_path / "evil_family"
    package_folder.mkdir()
    for name in ("__init__.py", "module.py"):
        (package_folder / name).write_text(CODE)
    monkeypatch.setenv("SPOTTER_RUNS", str(folder.parent))
    monkeypatch.setenv("HARMED", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Run(folder)
    for name in ("evil_family", module):
        sys.modules.pop(name, None)


PLAYING = {
    "eval": ["eval", "@last"],
    "inspect": ["inspect", "@last"],
    "untrained": ["inspect", "@last", "--untrained"],
    "play": ["play", "@last", "--headless"],
    "film": ["film", "@last"],
    "resume": ["train", "--resume", "@last", "budget.env_steps=2048", "--quiet"],
    "verify": ["train", "--resume", "@last", "budget.env_steps=2048", "--verify"],
    "doctor": ["doctor", "@last"],
}
READING = {
    "runs": ["runs"],
    "show": ["show", "@last"],
    "compare": ["compare", "@last", "00-other"],
    "diff": ["diff", "@last", "00-other"],
    "report": ["report", "@last"],
    "digest": ["digest", "@last"],
    "doctor": ["doctor", "@last", "--no-environment"],
    "export": ["export", "@last"],
}


@pytest.mark.parametrize("command", PLAYING.values(), ids=list(PLAYING))
def test_playing_it_needs_trust(spotter, foreign, command):
    done = spotter(*command)
    assert done.code == 2 and not os.environ["HARMED"]
    assert done.err == (
        f"spotter: run {foreign.id} was not trained here and names "
        "env.family=evil_family.module, which could run code that is not part of Spotter; "
        "if you know what that is, add --trust\n"
    )


@pytest.mark.parametrize("command", READING.values(), ids=list(READING))
def test_reading_it_imports_nothing(spotter, foreign, command):
    done = spotter(*command)
    assert done.code in (0, 1) and not os.environ["HARMED"], done.err


@pytest.mark.parametrize("name", ["eval", "inspect", "play", "doctor"])
def test_trust_is_asked_for_once_and_holds_for_one_command(spotter, foreign, name):
    done = spotter(*PLAYING[name], "--trust")
    assert done.code in (0, 1), done.err
    assert os.environ["HARMED"]
    assert spotter(*PLAYING[name]).code == 2


def test_a_resumed_run_is_ones_own(spotter, foreign):
    resumed = spotter(*PLAYING["resume"], "--trust")
    assert resumed.code == 0, resumed.err
    assert spotter("eval", "@last").code == 0


def test_from_python(foreign):
    with pytest.raises(ValueError, match="was not trained here"):
        package.load("@last")
    with pytest.raises(ValueError, match="was not trained here"):
        package.make_env("@last")
    assert package.load("@last", trust=True)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["train", "CartPole-v1:ppo", "--trust"], "--trust is about the run that --resume names"),
        (["doctor", "CartPole-v1", "--trust"], "--trust is for runs"),
    ],
)
def test_trust_where_there_is_nothing_to_trust(spotter, args, sentence):
    done = spotter(*args)
    assert done.code == 2 and sentence in done.err


def test_show_and_queries_tell_it(spotter, foreign):
    shown = spotter("show", "@last").out
    assert "not trained here; names env.family=evil_family.module" in " ".join(shown.split())
    assert foreign.id in spotter("runs", "foreign=true").out
    assert spotter("runs", "foreign=false").out == ""
