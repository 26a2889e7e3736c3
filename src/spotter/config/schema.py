"""A JSON schema of recipe files, for editors: completion, hover texts, red lines while typing.

Generated from the models, plug-ins included, by `spotter config schema`. It checks what a file can
be checked for on its own; values that come from a family or the command line are no part of it.
"""

from typing import Any, Final

from pydantic import BaseModel

from spotter import plugins
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
from spotter.config.policy import AUTO, CoreConfig, EncoderConfig, PolicyConfig
from spotter.config.rewards import IntrinsicConfig, RewardConfig, SignalConfig

Schema = dict[str, Any]

_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def _to(definition: str) -> Schema:
    return {"$ref": f"#/$defs/{definition}"}


_COMMON: Final = _to(EnvConfig.__name__)


def recipe_schema() -> Schema:
    """Draft 2020-12; everything optional, nothing unknown allowed."""
    defs: Schema = {}
    run = _of_model(RunConfig, defs)
    del run["required"]  # layers below or above may hold the rest
    for section in run["properties"].values():
        if isinstance(section.get("default"), dict):
            del section["default"]  # repeats the defaults of each of its settings
    run["properties"]["algo"] = _by_name(AlgoConfig, defs, partial=True)
    wrapper = _by_name(WrapperConfig, defs)
    defs[EnvConfig.__name__]["properties"]["wrappers"]["items"] = wrapper
    families = _families(defs, wrapper)
    own = [env for env in families.values() if env != _COMMON]
    run["properties"]["env"] = {"anyOf": [_COMMON, *own]}
    defs[RewardConfig.__name__]["properties"]["signals"]["items"] = _by_name(SignalConfig, defs)
    intrinsic = _bare_or_by_name(IntrinsicConfig, defs)
    defs[RewardConfig.__name__]["properties"]["intrinsic"]["items"] = intrinsic
    run["properties"]["sinks"]["items"] = _bare_or_by_name(SinkConfig, defs)
    encoder = defs[PolicyConfig.__name__]["properties"]["encoder"]
    encoder["anyOf"] = [{"const": AUTO}, *_bare_or_by_name(EncoderConfig, defs)["anyOf"]]
    core = defs[PolicyConfig.__name__]["properties"]["core"]
    core["anyOf"] = [{"type": "null"}, *_bare_or_by_name(CoreConfig, defs)["anyOf"]]
    launch = _bare_or_by_name(LauncherConfig, defs)["anyOf"]
    run["properties"]["launch"]["anyOf"] = [{"type": "null"}, *launch]
    plugged = (AlgoConfig, WrapperConfig, SignalConfig, SinkConfig, EncoderConfig, CoreConfig,
               IntrinsicConfig, LauncherConfig)  # fmt: skip
    for replaced in plugged:
        del defs[replaced.__name__]
    variant = _variant(run, defs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Spotter recipe",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "family": {"type": "string", "description": "Which family file it builds on."},
            "description": {"type": "string", "description": "One line about the environment."},
            "base": {**run, "description": "Settings of every variant."},
            "variants": {
                "type": "object",
                "description": "What can be trained: `EnvId:name`.",
                "minProperties": 1,
                "additionalProperties": variant,
            },
        },
        "required": ["variants"],
        "allOf": [_of_family(name, env) for name, env in families.items()],
        "$defs": dict(sorted(defs.items())),
    }


def _families(defs: Schema, wrapper: Schema) -> dict[str, Schema]:
    """Every family with a reference to what `env` is there; some bring settings of their own."""
    found = dict.fromkeys(plugins.names("envs"), _COMMON)
    for name in found:
        own = EnvConfig.chosen({"family": name})
        if own is not EnvConfig:
            defs[f"envs.{name}"] = schema = _of_model(own, defs)
            schema["properties"]["wrappers"]["items"] = wrapper
            schema.pop("required", None)  # other layers may hold it
            found[name] = _to(f"envs.{name}")
    return found


def _of_family(name: str, env: Schema) -> Schema:
    """A recipe that names its family has the settings of that family under `env`, no others."""
    inside = {"type": "object", "properties": {"env": env}}
    return {
        "if": {"properties": {"family": {"const": name}}, "required": ["family"]},
        "then": {"properties": {"base": inside, "variants": {"additionalProperties": inside}}},
    }


def _variant(run: Schema, defs: Schema) -> Schema:
    properties = {
        "description": {"type": "string", "description": "One line about this variant."},
        **run["properties"],
        "expect": _of_model(Expect, defs),
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _of_model(model: type[BaseModel], defs: Schema) -> Schema:
    """The schema of one model; what it refers to goes to `defs`."""
    schema: Schema = _tidied(model.model_json_schema(by_alias=True))
    for name, definition in schema.pop("$defs", {}).items():
        assert defs.setdefault(name, definition) == definition, f"two models are called {name}"
    return schema


def _by_name(base: type[Plugin], defs: Schema, partial: bool = False) -> Schema:
    """A section whose keys depend on the plug-in it names.

    Without a name the keys of any plug-in are fine where `partial`: the name may stand in another
    layer. A dotted name is a third-party plug-in, of which nothing is known here; one without a dot
    is taken for a misspelling.
    """
    kind, key = base.plugin_kind, base.picked_by
    names = plugins.names(kind)
    for name in names:
        schema = _of_model(base.chosen({key: name}), defs)
        schema["properties"][key] = {"const": name}
        if partial:
            schema.pop("required", None)
        defs[f"{kind}.{name}"] = schema
    reference = {name: _to(f"{kind}.{name}") for name in names}
    picked = [
        {"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": reference[name]}
        for name in names
    ]
    known = {
        "anyOf": [{"enum": names}, {"type": "string", "pattern": r"\."}],
        "description": f"A file in {plugins.KINDS[kind].folder}/, or package.module.",
    }
    section: Schema = {"type": "object", "properties": {key: known}, "allOf": picked}
    if not partial:
        return section | {"required": [key]}
    unnamed = {"if": {"not": {"required": [key]}}, "then": {"anyOf": list(reference.values())}}
    return section | {"allOf": [*picked, unnamed]}


def _bare_or_by_name(base: type[Plugin], defs: Schema) -> Schema:
    """The same, or a name alone."""
    section = _by_name(base, defs)
    return {"anyOf": [section["properties"][base.picked_by], section]}


def _tidied(node: object) -> Any:
    """Without pydantic's titles, which repeat the keys, and with the bounds it forgot to rename.

    A setting that is called `title` or `ge` itself is a map there, and stays.
    """
    if isinstance(node, dict):
        return {
            _BOUNDS.get(key, key) if isinstance(value, int | float) else key: _tidied(value)
            for key, value in node.items()
            if key != "title" or not isinstance(value, str)
        }
    return [_tidied(item) for item in node] if isinstance(node, list) else node
