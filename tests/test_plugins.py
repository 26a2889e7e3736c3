"""A plug-in is a file: names, entry points, dotted modules, and suggestions."""

import sys
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotter import plugins
from spotter.types import UserError


def test_a_folder_holds_plugins_and_nothing_else():
    assert {"ppo", "a2c", "reinforce"} <= set(plugins.names("algos"))
    for kind, what in plugins.KINDS.items():
        for name in plugins.names(kind):
            assert plugins.exists(kind, name)
            module = plugins.load(kind, name)
            assert module.__name__ == f"{what.package}.{name}"
            assert callable(getattr(module, what.entry)), f"{module.__name__} is no {what.noun}"


def test_a_dotted_name_is_a_module():
    assert plugins.load("algos", "tests.config.fake_algo").Config
    assert plugins.exists("algos", "tests.config.fake_algo")
    assert not plugins.exists("algos", "tests.nothing.here")


@pytest.mark.parametrize(
    "text",
    ["def wrap(config, env): ...", "from math import sqrt as x, ceil as wrap", "wrap = print"],
)
def test_a_module_is_named_without_a_dot(folder, monkeypatch, text):
    path = folder("my_board.py", f"{text}\n")
    monkeypatch.syspath_prepend(str(path.parent.resolve()))
    assert plugins.exists("wrappers", "my_board")
    assert "my_board" not in sys.modules, "looking is not importing"
    assert plugins.load("wrappers", "my_board").wrap
    sys.modules.pop("my_board")
    assert not plugins.exists("nets", "my_board"), "an encoder builds"


def test_a_module_that_is_no_plugin_says_what_it_lacks(folder, monkeypatch):
    path = folder("board.py", "")
    monkeypatch.syspath_prepend(str(path.parent.resolve()))
    assert not plugins.exists("wrappers", "board")
    with pytest.raises(UserError) as caught:
        plugins.load("wrappers", "board")
    assert str(caught.value) == (
        "unknown wrapper 'board'; board.py defines no `wrap`, as a wrapper does"
    )


@pytest.mark.parametrize("name", ["json", "test", "math", "spotter", "numpy"])
def test_other_modules_are_no_plugins(name):
    assert not plugins.exists("algos", name)


def test_an_entry_point(monkeypatch):
    entry = EntryPoint("theirs", "tests.config.fake_algo", "spotter.algos")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] * ("algos" in group))
    plugins._third_party.cache_clear()
    try:
        assert "theirs" in plugins.names("algos")
        assert plugins.exists("algos", "theirs")
        assert plugins.load("algos", "theirs").__name__ == "tests.config.fake_algo"
    finally:
        plugins._third_party.cache_clear()


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("algos", "pp0", "unknown algorithm 'pp0'; did you mean 'ppo'?"),
        ("algos", "zzz", "unknown algorithm 'zzz'; known: a2c, ppo, reinforce"),
        ("algos", "base", "unknown algorithm 'base'"),
        ("algos", "", "unknown algorithm ''"),
        ("algos", "../ppo", "unknown algorithm '../ppo'"),
        ("algos", "no.such.module", "unknown algorithm 'no.such.module'"),
        ("wrappers", "framestack", "unknown wrapper 'framestack'; did you mean 'frame_stack'?"),
    ],
)
def test_unknown_names(kind, name, sentence):
    with pytest.raises(UserError) as caught:
        plugins.load(kind, name)
    assert str(caught.value).startswith(sentence)


def test_a_module_that_fails_to_import(tmp_path, monkeypatch):
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "broken.py").write_text("raise KeyError('oh')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"their_package.broken cannot be imported: KeyError: 'oh'"):
        plugins.load("algos", "their_package.broken")


def test_a_missing_extra_says_how_to_get_it():
    with pytest.raises(
        UserError, match=r"no_such_lib is not installed: pip install 'spotter-rl\[x\]"
    ):
        plugins.require("no_such_lib", "x")
    assert plugins.require("json", "x").loads


@pytest.mark.parametrize(
    ("word", "meant"),
    [("lr", "lr"), ("l", "lr"), ("LR", "lr"), ("ecount", "count"), ("clpi", "clip"), ("zz", None)],
)
def test_nearest(word, meant):
    assert plugins.nearest(word, ["lr", "count", "clip", "value_clip"]) == meant


def test_nearest_finds_parts_of_long_names():
    assert plugins.nearest("nature", ["mlp", "nature_cnn", "impala_cnn"]) == "nature_cnn"
    assert plugins.nearest("", ["a", "bcd"]) == "a"
    assert plugins.nearest("x", []) is None


def test_did_you_mean():
    assert plugins.did_you_mean("ppp", ["ppo", "a2c"]) == "; did you mean 'ppo'?"
    assert plugins.did_you_mean("zzzz", ["ppo", "a2c"]) == "; known: a2c, ppo"
    assert plugins.did_you_mean("zzzz", []) == ""


@pytest.mark.parametrize(
    ("typed", "meant", "count"),
    [("", "", 0), ("ab", "ba", 1), ("abc", "ac", 1), ("ac", "abc", 1), ("axc", "abc", 1),
     ("kitten", "sitting", 3)],
)  # fmt: skip
def test_mistakes(typed, meant, count):
    assert plugins.mistakes(typed, meant) == count


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_mistakes_are_symmetric_and_bounded(a, b):
    assert plugins.mistakes(a, b) == plugins.mistakes(b, a) <= max(len(a), len(b))
    assert (plugins.mistakes(a, b) == 0) == (a == b)


@pytest.mark.parametrize("where", ["runs", "data/runs"])
def test_nothing_in_the_folder_of_runs_is_imported(tmp_path, monkeypatch, where):
    """A run may come from a stranger, and names its algorithm itself."""
    folder = tmp_path / where / "stranger"
    folder.mkdir(parents=True)
    for file in ("__init__.py", "payload.py"):
        (folder / file).write_text("raise SystemExit('the stranger was here')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(plugins.RUNS_VARIABLE, where)
    name = f"{where.replace('/', '.')}.stranger.payload"
    with pytest.raises(UserError, match="unknown algorithm"):
        plugins.load("algos", name)
    assert not plugins.exists("algos", name)
