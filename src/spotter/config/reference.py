"""Every setting there is, with type, default, range and meaning, read from the models themselves.

`spotter list settings` prints it, and docs/reference/settings.md is made from it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from spotter import plugins
from spotter.config import synonyms, tree
from spotter.config.demo import DemoConfig
from spotter.config.models import (
    AlgoConfig,
    EnvConfig,
    Expect,
    LauncherConfig,
    RunConfig,
    SinkConfig,
    WrapperConfig,
)
from spotter.config.plugin import Plugin
from spotter.config.policy import CoreConfig, EncoderConfig
from spotter.config.rewards import IntrinsicConfig, SignalConfig
from spotter.config.watching import PlateauAction, PlateauConfig
from spotter.schedules import Schedule

_WORDS: Final = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "array": "list",
    "object": "map",
    "null": "null",
}


TYPES: Final = (*_WORDS.values(), "schedule", "anything")
"""Words for types; other words in an entry's type are values."""


@dataclass(frozen=True)
class Entry:
    """One setting."""

    name: str
    """Dotted, as it is written; `frame_stack.count` inside a list of wrappers."""
    section: str
    type: str
    default: str
    range: str
    meaning: str
    also: tuple[str, ...] = ()
    """What other libraries call it."""

    def text(self) -> str:
        """A few lines about it."""
        lines = [f"{self.name}  ({self.section})", f"  {self.meaning}", f"  type: {self.type}"]
        facts = {
            "default": self.default or "none, it must be given",
            "range": self.range,
            "elsewhere": ", ".join(self.also),
        }
        return "\n".join([*lines, *(f"  {name}: {fact}" for name, fact in facts.items() if fact)])

    @property
    def is_override(self) -> bool:
        """Whether it can be written as `name=value`; what is inside lists cannot."""
        return (
            self.section.split(":")[0] in (*RunConfig.model_fields, "run") and "[" not in self.name
        )


def entries() -> list[Entry]:
    """All settings, section by section: the common ones first, then those of each plug-in."""
    return list(_entries())


def _entries() -> Iterator[Entry]:
    for key, info in RunConfig.model_fields.items():
        model = tree.child(RunConfig, key)
        if model is None or tree.is_list(RunConfig, key):
            yield _entry(key, key, info, "run")
        elif model not in (AlgoConfig, PlateauConfig):
            yield from _of_model(model, f"{key}.", key)
    yield from _of_model(DemoConfig, "env.demo.", "env.demo")
    yield from _of_model(PlateauConfig, "plateau.", "plateau")
    yield from _of_model(PlateauAction, "plateau.actions[].", "plateau")
    for name in plugins.names("algos"):
        yield from _of_model(_config("algos", name, AlgoConfig), "algo.", f"algo: {name}")
    for name in plugins.names("envs"):
        own = EnvConfig.chosen({"family": name})
        if own is not EnvConfig:
            yield from _of_model(own, "env.", f"env: {name}", without=EnvConfig)
    others: dict[str, type[Plugin]] = {
        "wrappers": WrapperConfig,
        "signals": SignalConfig,
        "intrinsic": IntrinsicConfig,
        "nets": EncoderConfig,
        "cores": CoreConfig,
        "sinks": SinkConfig,
        "launchers": LauncherConfig,
    }
    for kind, base in others.items():
        yield from _of_model(base, f"{kind}[].", kind)
        for name in plugins.names(kind):
            config = _config(kind, name, base)
            yield from _of_model(config, f"{name}.", f"{kind}: {name}", without=base)
    yield from _of_model(Schedule, "<schedule>.", "schedules")
    yield from _of_model(Expect, "expect.", "expect")


def _config(kind: str, name: str, base: type[Plugin]) -> type[Plugin]:
    return base.chosen({base.picked_by: name})


def _of_model(
    model: type[BaseModel], prefix: str, section: str, without: type[BaseModel] | None = None
) -> Iterator[Entry]:
    picker = model.picked_by if issubclass(model, Plugin) else ""
    for name, info in model.model_fields.items():
        key = info.alias or name
        same = without is not None and name in without.model_fields
        if not same and key != picker:
            yield _entry(f"{prefix}{key}", key, info, section, model)


def _entry(
    name: str, key: str, info: FieldInfo, section: str, model: type[BaseModel] = RunConfig
) -> Entry:
    properties, defs = _schema(model)
    found = properties[key]
    return Entry(
        name=name,
        section=section,
        type=_type(info.annotation, found, defs),
        default=_default(info),
        range=_range(info, found),
        meaning=info.description or "",
        also=tuple(synonym for synonym in synonyms.names_of(name) if synonym != key),
    )


@cache
def _schema(model: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Properties and definitions; a schedule's stand beside the number it may be instead."""
    schema = model.model_json_schema(by_alias=True)
    found = next(part for part in (schema, *schema.get("anyOf", ())) if "properties" in part)
    return found["properties"], schema.get("$defs", {})


def _type(annotation: object, schema: dict[str, Any], defs: dict[str, object]) -> str:
    if "Schedule" in str(annotation):
        null = any(branch.get("type") == "null" for branch in schema.get("anyOf", ()))
        return "number or schedule" + " or null" * null
    return " or ".join(dict.fromkeys(_types(schema, defs)))


def _types(schema: dict[str, Any], defs: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield from _types(defs[schema["$ref"].rpartition("/")[2]], defs)
    elif "enum" in schema or "const" in schema:
        for value in schema.get("enum", [schema.get("const")]):
            yield value if isinstance(value, str) else json.dumps(value)
    elif "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from _types(branch, defs)
    elif schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        yield f"list of {_many(_types(schema['items'], defs))}"
    else:
        yield _WORDS.get(schema.get("type", ""), "anything")


def _many(inner: Iterator[str]) -> str:
    words = list(dict.fromkeys(inner))
    plural = {"whole number": "whole numbers", "number": "numbers", "text": "texts", "map": "maps"}
    return " or ".join(plural.get(word, word) for word in words)


def _default(info: FieldInfo) -> str:
    """As it would be written; empty where it must be given."""
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return ""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value)


def _range(info: FieldInfo, schema: dict[str, Any]) -> str:
    """`≥ 1`, `0 … 1`; empty where anything of the type is fine."""
    if words := next(_said_by_validators(info), ""):
        return words
    bounds = dict[str, Any]()
    for branch in (schema, *schema.get("anyOf", ())):
        bounds |= {key: branch[key] for key in _BOUNDS if key in branch}
        for name, key in (("ge", "minimum"), ("gt", "exclusiveMinimum")):
            if name in branch:
                bounds[key] = branch[name]
    low, high = bounds.get("minimum"), bounds.get("maximum")
    if low is not None and high is not None:
        return f"{low:g} … {high:g}"
    return ", ".join(f"{sign} {bounds[key]:,}" for key, sign in _BOUNDS.items() if key in bounds)


_BOUNDS: Final = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
}


def _said_by_validators(info: FieldInfo) -> Iterator[str]:
    """What `schedules.within` checks; it stands in the metadata, or inside `X | None`."""
    inside = [part for part in get_args(info.annotation) if get_origin(part) is Annotated]
    nested = [item for part in inside for item in part.__metadata__]
    for item in (*info.metadata, *nested):
        if isinstance(item, AfterValidator) and (words := getattr(item.func, "range", "")):
            yield words


def find(name: str) -> list[Entry]:
    """Settings of that dotted name; every algorithm has its own `algo.lr`."""
    return [entry for entry in entries() if entry.name == name]
