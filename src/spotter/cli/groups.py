"""Two changes to typer's command groups: kinder words, and a command that needs no name."""

import re
from typing import Any

from typer.core import TyperGroup

# typer bundles its own click, whose types are private; hence `Any` for contexts and commands.


class Commands(TyperGroup):
    """An unknown command gets a suggestion; an address gets the command it belongs to."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in self.commands:
            from spotter.types import UserError

            raise UserError(_no_command(args[0], list(self.commands)))
        return super().resolve_command(ctx, args)


def _no_command(word: str, commands: list[str]) -> str:
    from spotter.plugins import did_you_mean

    if re.search(r"-v\d+|:|\.ya?ml$", word):
        return f"there is no command '{word}'; did you mean `spotter train {word}`?"
    hint = did_you_mean(word, commands) or " (see spotter --help)"
    return f"there is no command '{word}'{hint}"


class ShowByDefault(TyperGroup):
    """`spotter config ADDRESS …` means `spotter config show ADDRESS …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["show", *args]
        return super().parse_args(ctx, args)
