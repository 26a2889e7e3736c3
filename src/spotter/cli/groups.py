"""How commands explain themselves: kinder words, one style of metavars, nothing cut."""

import re
from collections.abc import Iterable
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from spotter.plugins import did_you_mean
from spotter.types import UserError

# typer bundles its own click, whose types are private; hence `Any` for contexts and commands.

GROUPS: Final = ("Train", "Look", "Share", "Agents", "Help")
_NO_WRAP: Final = "\b"
_MARGIN: Final = 2  # columns that click leaves free on the right


class Command(TyperCommand):
    """Arguments and options by their metavars alone, without Python's types."""

    def collect_usage_pieces(self, ctx: object) -> list[str]:
        return _usage(self, ctx)

    def format_options(self, ctx: object, formatter: object) -> None:
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: object, formatter: object) -> None:
        _write_epilog(self.epilog or "", formatter)


class Group(TyperGroup):
    """Commands by group, each with its whole first sentence."""

    def format_options(self, ctx: object, formatter: object) -> None:
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: object, formatter: Any) -> None:
        width = max(map(len, self.commands))
        titles = [title for title in GROUPS if self._in_group(title)]
        for title in titles or ["Commands"]:
            rows = [(name.ljust(width), _first_sentence(it)) for name, it in self._in_group(title)]
            with formatter.section(title):
                formatter.write_dl(rows)

    def _in_group(self, title: str) -> list[tuple[str, object]]:
        return [
            (name, command)
            for name, command in self.commands.items()
            if title in (vars(command).get("rich_help_panel"), "Commands")
        ]

    def format_epilog(self, ctx: object, formatter: object) -> None:
        _write_epilog(self.epilog or "", formatter)


class Commands(Group):
    """An unknown command gets a suggestion; an address gets the command it belongs to."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in self.commands:
            raise UserError(_no_command(args[0], list(self.commands)))
        return super().resolve_command(ctx, args)


def _no_command(word: str, commands: list[str]) -> str:
    if re.search(r"-v\d+|:|\.ya?ml$", word):
        return f"there is no command '{word}'; did you mean `spotter train {word}`?"
    hint = did_you_mean(word, commands) or " (see spotter --help)"
    return f"there is no command '{word}'{hint}"


class ShowByDefault(Group):
    """`spotter config ADDRESS …` means `spotter config show ADDRESS …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        address = self.commands["show"].params[0]
        return [*super().shell_complete(ctx, incomplete), *address.shell_complete(ctx, incomplete)]


def _usage(command: Any, ctx: object) -> list[str]:
    """`RUN`, `[FILE]`, `RUN...`, `[KEY=VALUE]...`"""
    pieces = [command.options_metavar]
    for param in _arguments(command, ctx):
        name = param.metavar if param.required else f"[{param.metavar}]"
        pieces.append(f"{name}{'...' * (param.nargs == -1)}")
    return pieces


def _arguments(command: Any, ctx: object) -> Iterable[Any]:
    return (param for param in command.get_params(ctx) if param.param_type_name == "argument")


def _write_options(command: Any, ctx: object, formatter: Any) -> None:
    arguments = [(param.metavar, _plain(param, ctx)) for param in _arguments(command, ctx)]
    options = [
        (param.get_help_record(ctx)[0], _plain(param, ctx))
        for param in command.get_params(ctx)
        if param.param_type_name == "option"
    ]
    for title, rows in (("Arguments", arguments), ("Options", options)):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _plain(param: Any, ctx: Any) -> str:
    """Its help and its default; that it is needed, and its range, stand elsewhere."""
    text: str = param.get_help_record(ctx)[1]
    help, bracket, extra = text.rpartition("  [")
    if not bracket:
        return text
    said = re.match(r"default: \(?([^;)\]]+)", extra)
    return f"{help}  [default: {said[1]}]" if said else help


def _first_sentence(command: Any) -> str:
    """Of its help, whole; click would cut it to what fits into one line."""
    paragraph = (command.help or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


def _write_epilog(text: str, formatter: Any) -> None:
    """Examples, and what follows them. Paragraphs that begin with \\b keep their lines; a comment
    that does not fit goes below."""
    if not text:
        return
    for paragraph in f"{_NO_WRAP}\nExamples:\n{text}".strip("\n").split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            if not paragraph.startswith(_NO_WRAP):
                formatter.write_text(paragraph)
                continue
            room = formatter.width + _MARGIN - formatter.current_indent
            lines = [part for line in paragraph.split("\n")[1:] for part in _fitted(line, room)]
            formatter.write("".join(f"{' ' * formatter.current_indent}{line}\n" for line in lines))


def _fitted(line: str, room: int) -> list[str]:
    split = re.fullmatch(r"(\s*\S.*?\S)\s{2,}(\S.*)", line)
    if len(line) <= room or split is None:
        return [line]
    return [split[1], f"{' ' * 6}{split[2]}"]
