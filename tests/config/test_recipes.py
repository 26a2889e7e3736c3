"""Reading YAML: which words are numbers, where keys stand, what is refused."""

import os
import sys
import time
from pathlib import Path

import pytest

from spotter.config import recipes
from spotter.types import UserError


def test_yaml_is_1_2():
    text = "{a: 1e5, b: 1_000, c: yes, d: on, e: true, f: null, g: '8', h: 1e-3, i: &x true, j: *x}"
    data = recipes.plain(recipes.parse(text, "here"))
    assert data == {
        "a": 1e5, "b": 1000, "c": "yes", "d": "on", "e": True, "f": None, "g": "8", "h": 0.001,
        "i": True, "j": True,
    }  # fmt: skip
    assert type(data["b"]) is int
    assert type(data["a"]) is float
    assert type(data["i"]) is bool


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: [", "here:2: not valid YAML: "),
        ("a: 1\na: 2", "here:2: not valid YAML: found duplicate key"),
        ("a:\n\t- 1", "here:2: not valid YAML: "),
        ("--- 1\n--- 2", "here:2: not valid YAML: but found another document"),
        ("a: \x00", "here: not valid YAML: "),
        ("a: 2024-13-45", "here: not valid YAML: month must be in 1..12"),
        ("a: 2024-01-01", "here: 2024-01-01 is no text, number, list or map; put it in quotes"),
        ("a: !!binary aGk=", "here: b'hi' is no text, number, list or map; put it in quotes"),
        ("a: [!x y]", "here: the YAML tag !x means nothing here"),
    ],
)
def test_what_is_no_yaml_or_no_setting(text, sentence):
    with pytest.raises(UserError) as caught:
        recipes.parse(text, "here")
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_very_deep_nesting_is_a_sentence_too():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        with pytest.raises(UserError, match=r"^here: nested too deeply$"):
            recipes.parse("[" * 200, "here")
    finally:
        sys.setrecursionlimit(limit)


def test_where_names_the_deepest_key_that_exists(folder):
    path = folder("x.yaml", "# top\na:\n  b:\n    - {c: 1}\n    - {c: 2,\n       d: 3}\n")
    source = recipes.read(path)
    assert source.where("a") == "x.yaml:2"
    assert source.where("a", "b", 1, "d") == "x.yaml:6"
    assert source.where("a", "nope", "b") == "x.yaml:2"
    assert source.where("nope") == "x.yaml:1"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"- 1\n", "x.yaml: should be a map with family, description, base, variants"),
        (b"", "x.yaml: should be a map with family, description, base, variants"),
        (b"\xff\xfe", "x.yaml: not a text file in UTF-8"),
    ],
)
def test_files_that_are_no_recipes(folder, content, sentence):
    Path("x.yaml").write_bytes(content)
    with pytest.raises(UserError, match=f"^{sentence}$"):
        recipes.read(Path("x.yaml"))


def test_a_folder_is_no_file(folder):
    Path("x.yaml").mkdir()
    with pytest.raises(UserError, match=r"x.yaml: cannot be read: Is a directory"):
        recipes.open_source(Path("x.yaml"))


def test_an_edited_file_is_read_again(folder):
    path = folder("x.yaml", "a: 1\n")
    assert recipes.open_source(path).data["a"] == 1
    before = path.stat()
    folder("x.yaml", "a: 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert recipes.open_source(path).data["a"] == 2


def test_families_are_found_by_pattern():
    assert recipes.family_of("CartPole-v1") == "classic"
    assert recipes.family_of("gymnasium:CartPole-v1") == "classic"
    assert recipes.family_of("Whatever-v0") == "gymnasium"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: " + "[" * 20_000, "x: nested too deeply"),
        ("a: " + "{a: " * 20_000, "x: nested too deeply"),
        ("- " * 20_000, "x: nested too deeply"),
        ("".join(" " * i + "a:\n" for i in range(500)), "x: nested too deeply"),
        ("a: " + "x" * 300_000, "x: has more than the 200,000 characters of a config"),
        (
            "a0: &a0 [1, 2]\n"
            + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)),
            "x: stands for more than 50,000 values",
        ),
    ],
    ids=["brackets", "braces", "dashes", "indents", "size", "aliases"],
)
def test_a_bomb_is_refused_at_once(text, sentence):
    start = time.process_time()
    with pytest.raises(UserError) as refused:
        recipes.parse(text, "x")
    assert str(refused.value) == sentence
    assert time.process_time() - start < 5


def test_a_file_that_is_too_large_or_none_at_all(tmp_path):
    path = tmp_path / "huge.yaml"
    path.touch()
    os.truncate(path, 10**10)
    with pytest.raises(UserError, match="more than the 200,000 characters"):
        recipes.read(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.yaml")  # to open it would wait for a writer
        with pytest.raises(UserError, match="is no file"):
            recipes.read(tmp_path / "pipe.yaml")


def test_a_class_is_known_by_its_name_alone():
    """`module:Name` of a class has no version; registered ids have one."""
    assert recipes.family_of("my_games:Drift") == "python"
    assert recipes.family_of("my_games:Drift-v0") == "gymnasium"
