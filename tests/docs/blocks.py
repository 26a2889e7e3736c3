"""The code blocks of the pages, and the marks above them.

A mark is an HTML comment between the text and a block, invisible when the page is shown:

<!-- slow -->                      run by `make soak` only, parsed otherwise
<!-- slow (spotter film) -->       … only the lines that hold this text
<!-- not run: needs a GPU -->      parsed only, and why
<!-- not run (studio, mcp): stay open -->
<!-- file: my_env.py -->           saved under this name, which the sentence above it says
<!-- given: spotter train … -->    what happened in the folder before the page begins
<!-- exit: 2 -->                   the exit code of the block
<!-- over: ALE/Pong-v5:rgb -->     the recipe over which these settings are checked

`bash` blocks hold commands only; `console` blocks a command after `$` and what it prints, which is
compared; `text` blocks hold neither commands nor code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
LANGUAGES = ("bash", "console", "python", "yaml", "json", "toml", "text")
MARKS = ("slow", "not run", "file", "given", "exit", "over")
_FENCE = re.compile(r"((?:^<!--[^\n]*-->\n)*)^( *)```(\S*)\n(.*?)^\2```$", re.M | re.S)
_MARK = re.compile(r"<!-- (?P<name>[a-z ]+?)(?: \((?P<only>[^)]+)\))?(?:: (?P<text>.+))? -->")


@dataclass(frozen=True)
class Mark:
    name: str
    only: tuple[str, ...]
    """Texts of the lines it is about; empty: the whole block."""
    text: str

    def concerns(self, line: str) -> bool:
        return not self.only or any(text in line for text in self.only)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    """Of its first line of code, counted from 1."""
    language: str
    text: str
    marks: tuple[Mark, ...]
    above: str
    """The paragraph before it."""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def mark(self, name: str) -> str | None:
        """What a mark says about the block; None where there is none."""
        return next((mark.text for mark in self.marks if mark.name == name), None)

    def runs(self, line: str, soak: bool) -> bool:
        """Whether this line of it is executed."""
        stops = [mark for mark in self.marks if mark.name in ("not run", *(["slow"] * (not soak)))]
        return not any(mark.concerns(line) for mark in stops)

    def to_run(self, soak: bool) -> str:
        """The lines that are executed, each where it was; empty if none."""
        kept = [line if self.runs(line, soak) else "" for line in self.text.splitlines()]
        return "\n".join(kept) + "\n" if any(line.strip() for line in kept) else ""


def of_page(page: Path) -> list[Block]:
    return list(_of_text(page, page.read_text(encoding="utf-8")))


def _of_text(page: Path, text: str) -> Iterator[Block]:
    for match in _FENCE.finditer(text):
        comments, indent, language, code = match.groups()
        lines = [line.removeprefix(indent) for line in code.splitlines(keepends=True)]
        number = text[: match.start(4)].count("\n") + 1
        above = text[: match.start()].rstrip().rpartition("\n\n")[2]
        marks = tuple(_marks(comments, f"{page.name}:{number}"))
        yield Block(page, number, language, "".join(lines), marks, above)


def _marks(comments: str, place: str) -> Iterator[Mark]:
    for line in comments.splitlines():
        match = _MARK.fullmatch(line)
        assert match and match["name"] in MARKS, f"{place}: no mark: {line}"
        only = tuple(word.strip() for word in (match["only"] or "").split(",") if word)
        yield Mark(match["name"], only, match["text"] or "")
