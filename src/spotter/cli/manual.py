"""`spotter help TOPIC`: the pages of docs/, a chapter of one, a setting, a metric or a command.

Messages name topics, never files: an installed user has no checkout. The pages are copied into the
wheel by setup.py; in a checkout they are read where they stand.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from spotter import plugins
from spotter.plugins import did_you_mean
from spotter.text.echo import echo
from spotter.types import UserError

_PACKAGE: Final = Path(__file__).parents[1]
_HEADING: Final = re.compile(r"(#+) (.+)")
_COMMENT: Final = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_CHAPTERS: Final = ("alerts", "doctor")
"""What stands before an id whose chapter is in troubleshooting."""
_DIAGNOSES: Final = "troubleshooting"
EXAMPLES: Final = """\
  spotter help                       every page
  spotter help quickstart            a page
  spotter help quickstart#from-python
  spotter help alerts.kl-high        what an alert means, and what to do
  spotter help algo.lr               a setting
  spotter help policy/entropy        a metric
  spotter help train                 the same as `spotter train -h`
"""


def run(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="A page, page#chapter, an alert, a setting, a metric or a command.",
            autocompletion=lambda: [*pages(), *(f"alerts.{id}" for id in _alerts())],
        ),
    ] = None,
) -> None:
    """Print a page of the documentation, or the chapter about an alert, setting or metric."""
    root: Any = context.find_root()
    command = root.command.commands.get(topic)
    if command is not None:
        echo(command.get_help(type(root)(command, info_name=topic, parent=root)))
    else:
        echo(find(topic) if topic else overview())


def folder() -> Path:
    """Where the pages are."""
    inside = _PACKAGE / "docs"
    return inside if inside.is_dir() else _PACKAGE.parents[1] / "docs"


@cache
def pages() -> dict[str, Path]:
    """Name -> file: `quickstart`, `howto/doctor`."""
    found = {path.relative_to(folder()): path for path in sorted(folder().rglob("*.md"))}
    return {name.with_suffix("").as_posix(): path for name, path in found.items()}


def overview() -> str:
    """Every page with its title."""
    width = max(map(len, pages()), default=0)
    lines = [f"{name:<{width}}  {_title(path)}" for name, path in pages().items()]
    topics = "Also: alerts.<id>, a setting (algo.lr), a metric (policy/entropy), a command."
    return "\n".join([*lines, "", topics])


def find(topic: str) -> str:
    """What there is about a topic; `UserError` with the nearest one if nothing."""
    for look in (_chapter_of_id, _page, _setting, _metric, _chapter_anywhere):
        if text := look(topic):
            return text
    raise UserError(f"there is no help on '{topic}'{did_you_mean(topic, topics())}")


def topics() -> list[str]:
    """Every name that `find` knows, but for metrics."""
    from spotter.config.reference import entries

    chapters = [f"{name}.{id}" for name in _CHAPTERS for id in anchors(_DIAGNOSES)]
    short = [name.rpartition("/")[2] for name in pages()]
    return [*pages(), *short, *chapters, *dict.fromkeys(entry.name for entry in entries())]


def anchors(page: str) -> list[str]:
    """The chapters of a page, as links name them."""
    return [anchor for _, anchor, _ in _headings(_read(pages().get(page)))]


def _alerts() -> list[str]:
    from spotter.diagnose.rules import IDS

    return list(IDS)


def _read(path: Path | None) -> str:
    """A page without its comments, which are for the tests."""
    return _COMMENT.sub("", path.read_text(encoding="utf-8")) if path else ""


def _title(path: Path) -> str:
    match = _HEADING.match(_read(path))
    return match[2] if match else ""


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    """Line, anchor, depth; what looks like a heading in a code block is none."""
    in_code = False
    for place, line in enumerate(text.splitlines()):
        in_code ^= line.lstrip().startswith("```")
        match = _HEADING.match(line)
        if match and not in_code:
            anchor = re.sub(r"[^\w\- ]", "", match[2].lower()).replace(" ", "-")
            yield place, anchor, len(match[1])


def _chapter(text: str, anchor: str) -> str:
    """From its heading to the next of the same depth."""
    found = list(_headings(text))
    for i, (begin, name, depth) in enumerate(found):
        if name == anchor:
            ends = (place for place, _, other in found[i + 1 :] if other <= depth)
            return "\n".join(text.splitlines()[begin : next(ends, None)]).rstrip()
    return ""


def _chapter_of_id(topic: str) -> str:
    prefix, _, id = topic.partition(".")
    return _chapter(_read(pages().get(_DIAGNOSES)), id) if prefix in _CHAPTERS else ""


def _page(topic: str) -> str:
    name, _, anchor = topic.removeprefix("docs/").partition("#")
    name = name.removesuffix(".md")
    path = next((p for key, p in pages().items() if name in (key, key.rpartition("/")[2])), None)
    text = _read(path)
    return _chapter(text, anchor) if anchor else text.rstrip()


def _setting(topic: str) -> str:
    from spotter.config.reference import find

    found = find(topic)
    return "\n\n".join(entry.text() for entry in found)


def _metric(topic: str) -> str:
    from spotter.rundir.catalogue import catalogue

    spec = catalogue(plugins.names("algos")).find(topic)
    if spec is None or spec.key in ("*", "info/*"):
        return ""
    lines = [topic, f"  {spec.meaning}{f' ({spec.unit})' if spec.unit else ''}"]
    lines += [f"  better: {spec.better}"] if spec.better else []
    return "\n".join([*lines, *([f"  {spec.advice}"] if spec.advice else [])])


def _chapter_anywhere(topic: str) -> str:
    return next((text for path in pages().values() if (text := _chapter(_read(path), topic))), "")
