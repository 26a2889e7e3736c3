"""Sections that a plug-in completes, and free-form ones: how config finds its own types.

A plug-in (algorithm, wrapper, reward signal) brings a `Config` in its own file; here a section that
names one is validated with it. Values are never shown where a key looks like a secret.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ValidatorFunctionWrapHandler, WrapValidator

from spotter import plugins
from spotter.config.base import Settings
from spotter.config.words import shown
from spotter.types import UserError

_SECRET_WORDS = {"password", "passwd", "secret", "token", "credential", "credentials", "apikey"}


def _refuse_secrets(value: object) -> object:
    """Look at the keys all the way down; the values are never shown."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _is_secret(str(key)):
                raise ValueError(
                    f"should not hold '{key}', which looks like a secret: configs are saved and "
                    "shared, so pass secrets in environment variables"
                )
            _refuse_secrets(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_secrets(inner)
    return value


def _is_secret(key: str) -> bool:
    """Whole words only: `access_token` and `apiKey` are secrets, `max_tokens` is none."""
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", key).lower().replace("-", "_").split("_")
    return bool(_SECRET_WORDS & set(words)) or "api_key" in "_".join(words)


FreeForm = Annotated[dict[str, Any], BeforeValidator(_refuse_secrets)]
"""Arguments passed on to a third-party constructor, checked for secrets only."""


class Plugin(Settings):
    """A section in which one key picks a plug-in file, which brings the rest of the fields."""

    plugin_kind: ClassVar[str] = ""
    picked_by: ClassVar[str] = "name"
    is_bare: ClassVar[bool] = False
    """Whether a file may do without settings: no `Config`, and its name stands for the section."""

    name: str

    @classmethod
    def chosen(cls, data: object) -> "type[Plugin]":
        """The `Config` of the plug-in a section names; `UserError` if it names none."""
        key = cls.picked_by
        if not isinstance(data, Mapping):
            wish = f"such as {{{key}: {data}}}" if isinstance(data, str) else f"with `{key}`"
            raise UserError(f"should be a map {wish}, got {shown(data)}")
        name = data.get(key)
        if name is None:
            typo = plugins.nearest(key, [str(other) for other in data])
            hint = f"`{typo}` looks like a misspelling of it" if typo else cls._known()
            raise UserError(f"needs `{key}`; {hint}")
        if not isinstance(name, str):
            raise UserError(f"needs text as `{key}`, got {shown(name)}; {cls._known()}")
        known = plugins.exists(cls.plugin_kind, name)
        if cls.is_bare and known and not plugins.offers(cls.plugin_kind, name, "Config"):
            return cls
        config = vars(plugins.load(cls.plugin_kind, name)).get("Config")
        if not (isinstance(config, type) and issubclass(config, cls)):
            raise UserError(f"names {name}, which has no Config made from {cls.__name__}")
        return config

    @classmethod
    def _known(cls) -> str:
        return f"known: {', '.join(plugins.names(cls.plugin_kind))}"


def picked(base: type[Plugin]) -> WrapValidator:
    """Validate a section with the `Config` of the plug-in it names."""

    def validate(data: object, handler: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(data, Plugin):
            return handler(data)
        if isinstance(data, str) and base.is_bare:
            data = {base.picked_by: data}
        # a UserError is a ValueError, so pydantic adds the path and continues
        return base.chosen(data).from_data(data)

    return WrapValidator(validate)


def picked_or_null(base: type[Plugin]) -> WrapValidator:
    """The same for a section that may be null. A name stands for its settings, which are saved."""

    def validate(data: object, handler: ValidatorFunctionWrapHandler) -> Any:
        if data is None or isinstance(data, Plugin):
            return handler(data)
        section = {base.picked_by: data} if isinstance(data, str) else data
        return base.chosen(section).from_data(section)

    return WrapValidator(validate, json_schema_input_type=str | base | None)


def known_to(kind: str, *also: str) -> AfterValidator:
    """The name of a plug-in that is loaded later."""

    def check(name: str) -> str:
        if name not in also and not plugins.exists(kind, name):
            raise ValueError(plugins.unknown(kind, name))
        return name

    return AfterValidator(check)
