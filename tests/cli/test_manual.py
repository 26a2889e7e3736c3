"""`spotter help`: messages name topics that an installed user can read."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from spotter.cli import manual
from spotter.diagnose.rules import BY_ID, IDS

SOURCE = Path(manual.__file__).parents[1]


def test_the_chapter_of_an_alert(spotter):
    ran = spotter("help", "alerts.kl-high")
    assert ran.code == 0
    assert ran.out.startswith("### kl-high\n")
    assert ran.out.count("### ") == 1
    assert len(ran.out.splitlines()) > 3


@pytest.mark.parametrize("topic", [f"alerts.{id}" for id in IDS])
def test_every_alert_has_a_chapter(topic):
    assert manual.find(topic).startswith("### ")


def test_everything_the_doctor_finds_has_a_chapter():
    for id in BY_ID:
        assert manual.find(f"doctor.{id}").startswith(f"### {id}\n")


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("quickstart", "# Quickstart"),
        ("shape-rewards", "# "),
        ("howto/doctor", "# "),
        ("docs/howto/doctor.md", "# "),
        ("quickstart#from-python", "## From Python"),
        ("traps", "#"),
        ("algo.lr", "algo.lr  (algo: a2c)\n  Learning rate.\n  type: number or schedule\n"),
        ("policy/entropy", "policy/entropy\n  "),
        ("train", "Usage: spotter train [OPTIONS] [ADDRESS] [KEY=VALUE]..."),
    ],
)
def test_other_topics(spotter, topic, words):
    ran = spotter("help", topic)
    assert ran.code == 0
    assert ran.out.startswith(words)


def test_pages_are_printed_without_comments(spotter):
    assert "<!--" in (manual.folder() / "quickstart.md").read_text(encoding="utf-8")
    assert "<!--" not in spotter("help", "quickstart").out


def test_alone_it_lists_every_page(spotter):
    out = spotter("help").out
    assert "quickstart " in out and "howto/doctor " in out


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("alerts.kl-hihg", "; did you mean 'alerts.kl-high'?"),
        ("quikstart", "; did you mean 'quickstart'?"),
        ("algo.gama", "; did you mean 'algo.gamma'?"),
    ],
)
def test_an_unknown_topic_names_the_nearest(spotter, topic, hint):
    ran = spotter("help", topic)
    assert ran.code == 2
    assert ran.err == f"spotter: there is no help on '{topic}'{hint}\n"


@cache
def _texts(path: Path) -> list[str]:
    """Texts in a file that a user may see: not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]


def test_no_message_names_a_file_of_the_checkout():
    for path in SOURCE.rglob("*.py"):
        assert [text for text in _texts(path) if "docs/" in text and ".md" in text] == [], path


def test_topics_in_messages_exist():
    for path in SOURCE.rglob("*.py"):
        for text in _texts(path):
            for topic in re.findall(r"`spotter help ([\w./#-]+)`", text):
                assert manual.find(topic), f"{path}: {topic}"
