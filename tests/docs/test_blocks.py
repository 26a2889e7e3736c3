"""Every block of every page is executed as it stands, in order, in an empty folder.

What takes long is executed by `make soak`; what cannot be executed everywhere is marked with the
reason. Both are parsed: tests/docs/blocks.py explains the marks.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from spotter.types import UserError
from tests.docs import parse
from tests.docs.blocks import LANGUAGES, PAGES, ROOT, Block, of_page
from tests.faults.processes import SOAK

SESSION = Path(__file__).with_name("session.py")
PATIENCE_S = 3600 if SOAK else 600


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def steps(page: Path, soak: bool) -> list[dict]:
    """What is executed of a page, for `session.py`."""
    found = []
    for block in of_page(page):
        if block.language not in ("bash", "console", "python") and block.mark("file") is None:
            continue
        text, prints = block.to_run(soak), ""
        if block.language == "console":
            prints = "".join(line for line in text.splitlines(True) if not line.startswith("$ "))
            text = "".join(re.findall(r"^\$ (.*\n)", text, re.M))
        if text:
            code = int(block.mark("exit") or 0)
            found.append(
                {"place": block.place, "language": block.language, "text": text}
                | {"exit": code, "prints": prints, "file": block.mark("file")}
            )
    return found


def ran(page: Path) -> list[dict]:
    return steps(page, SOAK)


def environment() -> dict[str, str]:
    """That of a user: `spotter` is on the path, and nothing of the tests is set."""
    scripts = sysconfig.get_path("scripts")
    ours = {key: text for key, text in os.environ.items() if not key.startswith("SPOTTER_")}
    kept = {"SPOTTER_STATE": os.environ["SPOTTER_STATE"], "PYTHONIOENCODING": "utf-8"}
    return {**ours, **kept, "PATH": scripts + os.pathsep + os.environ["PATH"], "COLUMNS": "100"}


def execute(todo: list[dict], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SESSION)],
        input=json.dumps(todo),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-40:])


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder in which some commands were run; the same commands only once."""

    @cache
    def make(commands: str) -> Path:
        folder = tmp_path_factory.mktemp("given")
        step = {"place": f"given:{commands}", "language": "bash", "text": commands}
        execute([step | {"exit": 0, "prints": "", "file": None}], folder)
        return folder

    return make


@pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("bash"), reason="the pages' commands are for bash"
)
@pytest.mark.parametrize("page", [page for page in PAGES if ran(page)], ids=name_of)
def test_a_page_runs_as_it_stands(page, given, tmp_path):
    for block in of_page(page):
        if (commands := block.mark("given")) and block.to_run(SOAK):
            shutil.copytree(given(commands), tmp_path, dirs_exist_ok=True)
    execute(ran(page), tmp_path)


BLOCKS = [block for page in PAGES for block in of_page(page)]


def is_parsed(block: Block) -> bool:
    """Also of those that `make soak` executes, so that a mistake is found early."""
    lines = [line for line in block.text.splitlines() if line.strip()]
    return not all(block.runs(line, soak=False) for line in lines) or (
        block.language not in ("bash", "console", "python")
    )


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if is_parsed(block)], ids=lambda block: block.place
)
def test_what_is_not_run_is_parsed(block, folder, monkeypatch):
    monkeypatch.syspath_prepend(Path.cwd())
    for other in of_page(block.page):
        if name := other.mark("file"):
            folder(name, other.text)
    parse.check(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_say_what_they_are(page):
    for block in of_page(page):
        assert block.language in LANGUAGES, f"{block.place}: ```{block.language}"
        if name := block.mark("file"):
            assert f"`{name}`" in block.above, f"{block.place}: the page does not name {name}"
        for mark in block.marks:
            assert mark.name != "not run" or mark.text, f"{block.place}: why is it not run?"


class TestMechanism:
    """It notices what it is there for."""

    def page(self, tmp_path: Path, text: str) -> list[Block]:
        from tests.docs.blocks import _of_text

        return list(_of_text(ROOT / "page.md", text))

    @pytest.mark.parametrize(
        "code",
        [
            "```bash\nspotter trian CartPole-v1\n```\n",
            "```bash\nspotter train CartPole-v1 --sede 1\n```\n",
            "```bash\nspotter train CartPole-v1:ppo algo.clp=1\n```\n",
            "```bash\nspotter train CartPole-v1:ppo   a comment without its sign\n```\n",
            "```bash\npip install 'spotter-rl[atarri]'\n```\n",
            "```bash\nmake trian\n```\n",
            "```python\nspotter.lod('@last')\n```\n",
            "```python\nfrom spotter.episodes import nothing_like_it\n```\n",
            "```yaml\nalgo: {name: ppo, clp: 1}\n```\n",
            "```text\nspotter train CartPole-v1\n```\n",
        ],
    )
    def test_mistakes_are_found(self, code, tmp_path, folder):
        (block,) = self.page(tmp_path, code)
        with pytest.raises((AssertionError, ImportError, UserError)):
            parse.check(block)

    def test_marks(self, tmp_path):
        marks = "<!-- slow -->\n<!-- not run (studio): stays open -->\n"
        text = f"Text.\n\n{marks}```bash\na\nb studio\n```\n"
        (block,) = self.page(tmp_path, text)
        assert block.to_run(soak=False) == ""
        assert block.to_run(soak=True) == "a\n\n"
        assert (block.line, block.above) == (6, "Text.")
