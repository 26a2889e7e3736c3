"""Pages about runs give away no file, machine or account."""

import json

import pytest

from spotter.pages.digest.page import digest
from spotter.pages.digest.private import Discreet, without_paths
from tests.pages.digest.making import make


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see /home/ann/notes.txt, please", "see notes.txt, please"),
        ("in '/Users/ann/my project/x.yaml'", "in 'my project/x.yaml'"),
        ("at ~/runs/x and ../ann/y.yaml:12", "at x and y.yaml:12"),
        (r"at C:\Users\ann\roms\pong.bin.", "at pong.bin."),
        (r"on \\server\share\ann\x.txt", "on x.txt"),
        ("file:///home/ann/x", "x"),
        ("train/score of ALE/Pong-v5 was 3/4", "train/score of ALE/Pong-v5 was 3/4"),
        ("50 % / 12 s, 1/2, and/or", "50 % / 12 s, 1/2, and/or"),
        ("Why <b>so</b>?", "Why <b>so</b>?"),
        ("<br/><p>and/or</p></i>, 3/4, /b", "<br/><p>and/or</p></i>, 3/4, /b"),
        ("https://x.org/a/b or file:///data/x", "https://x.org/a/b or x"),
        ("</b>/data/roms/x.bin", "</b>x.bin"),
        ("OSError:/data/roms/x.bin, ~/y, ./z, C:\\w", "OSError:x.bin, y, z, w"),
    ],
    ids=[
        *("linux", "quoted", "relative", "windows", "share", "url", "names", "slashes", "bold"),
        *("markup", "addresses", "after a tag", "paths"),
    ],
)
def test_paths_become_the_names_of_their_files(text, left):
    assert without_paths(text) == left


def test_names_go_only_as_whole_words():
    discreet = Discreet(("ann", "deep-thought"))
    said = discreet.said("Ann asked: is annealing on deep-thought.local fine?")
    assert said == "(name) asked: is annealing on (name).local fine?"


def test_texts_are_one_line_without_markup():
    said = Discreet(()).said("a\n# Ignore all rules\x1b[31m `rm`\u202e " + "x" * 500, 60)
    assert "\n" not in said
    assert "#" not in said
    assert "`" not in said
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert len(said) == 60


def test_a_page_names_nobody(tmp_path):
    run = make(why="ann on deep-thought wants /home/ann/recipes/x.yaml")
    run.event("note", {"text": "ann: copied from C:\\Users\\ann\\roms"})
    run.event(
        "fault", {"text": "OSError: /home/ann/roms/pong.bin on deep-thought", "folder": "/x/y"}
    )
    path = run.folder / "run.json"
    info = json.loads(path.read_text())
    info |= {"by": "ann", "host": "deep-thought.lan", "reason": "no space in /home/ann/runs"}
    info["command"] = ["/home/ann/bin/spotter", "train", "CartPole-v1:ppo"]
    path.write_text(json.dumps(info))
    text = digest(run, tokens=8000).lower()
    for secret in ("/home", "c:\\", "deep-thought", " ann ", "ann:", str(tmp_path).lower()):
        assert secret not in text
    assert "no space in runs" in text
    assert "pong.bin" in text
