"""Options: values that are whole numbers, and for one that a command does not have the nearest
one, or the setting that is meant."""

from collections.abc import Sequence
from typing import Any

from spotter.plugins import did_you_mean, mistakes
from spotter.types import UserError


def whole(option: str, text: str, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        size = f"above {least - 1}" if least else "from 0 on"
        raise UserError(f"{option} should be a whole number {size}, got '{text}'")
    return int(text)


def unknown_option(option: str, params: Sequence[Any], args: Sequence[str]) -> str:
    """`--learning-rate 3e-4` is how others write `algo.lr=3e-4`."""
    known = [name for param in params for name in param.opts if name.startswith("-")]
    is_typo = any(mistakes(option, name) <= 1 for name in known)
    takes_settings = any(param.name == "overrides" for param in params)
    setting = "" if is_typo or not takes_settings else _setting(option, args)
    return f"there is no option {option}{setting or did_you_mean(option, known)}"


def _setting(option: str, args: Sequence[str]) -> str:
    from spotter.config import RunConfig, synonyms, tree

    name = option.lstrip("-").replace("-", "_")
    value = _value(option, args)
    data = {"algo": {"name": "ppo"}}
    if name in ("env", "env_id"):
        return f"; the environment comes first: spotter train {value or 'CartPole-v1'}"
    if clause := synonyms.hint(name, value, data):
        return f"; {clause}"
    # algo.clip is likelier than reward.clip
    for path in sorted(tree.paths(RunConfig, data), key=lambda path: not path.startswith("algo.")):
        if name in (path.rsplit(".", 1)[-1], path):
            return (
                f"; settings are written without dashes: {path}={'…' if value is None else value}"
            )
    return ""


def _value(option: str, args: Sequence[str]) -> object:
    """What follows the option, read as YAML; None if nothing does."""
    from spotter.config import recipes

    for place, text in enumerate(args):
        name, equals, inside = text.partition("=")
        if name != option:
            continue
        following = args[place + 1] if place + 1 < len(args) else "-"
        written = inside if equals else following
        if written.startswith("--") or written == "-":
            return None
        try:
            return recipes.plain(recipes.parse(written, option, lines=False))
        except UserError:
            return written
    return None
