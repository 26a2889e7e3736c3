"""The shape of the config tree: which keys a section has, and which model stands at a path.

Plug-in sections depend on the data (`algo.name` picks the keys of `algo`, `env.family` those of
`env`), so the data comes along.
Keys are the ones users write: the alias `lambda`, not the field `lambda_`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from spotter.config.models import EnvConfig
from spotter.config.plugin import Plugin
from spotter.schedules import Schedule
from spotter.types import UserError

Model = type[BaseModel]
Path = tuple[str | int, ...]


def keys(model: Model) -> list[str]:
    """What can be written in a section, in canonical order."""
    return [info.alias or name for name, info in model.model_fields.items()]


def child(model: Model | None, key: str | int, data: object = None) -> Model | None:
    """The model behind a key (or inside a list), where `data` is the value that stands there."""
    if model is None or isinstance(key, int):
        found = model
    else:
        fields = {info.alias or name: info for name, info in model.model_fields.items()}
        found = _model_in(fields[key].annotation) if key in fields else None
    if found is not None and issubclass(found, Plugin | EnvConfig) and isinstance(data, Mapping):
        return _chosen(found, data)
    if found is not None and issubclass(found, Plugin) and found.is_bare:
        return found if isinstance(data, list | tuple) else None  # else a name: no section
    return found


def _chosen(base: type[Plugin] | type[EnvConfig], data: Mapping[str, object]) -> Model:
    try:
        return base.chosen(data)
    except UserError:
        return base


def _model_in(annotation: object) -> Model | None:
    """The one model inside `X`, `X | None` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for arg in get_args(annotation) if (model := _model_in(arg))), None)


def model_at(root: Model, path: Path, data: object) -> Model | None:
    """The model of the section at a path."""
    model: Model | None = root
    for part in path:
        data = value_at(data, (part,))
        model = child(model, part, data)
    return model


def value_at(data: Any, path: Path) -> Any:
    """What was written at a path; None if nothing."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def paths(model: Model, data: object, prefix: str = "") -> Iterator[str]:
    """Dotted names of every setting below a section; lists and schedules count as one."""
    for key in keys(model):
        inner = value_at(data, (key,))
        section = child(model, key, inner)
        if section is None or issubclass(section, Schedule) or is_list(model, key):
            yield f"{prefix}{key}"
        else:
            yield from paths(section, inner, f"{prefix}{key}.")


def is_list(model: Model, key: str) -> bool:
    """Whether a setting holds several sections."""
    annotation = next(
        info.annotation for name, info in model.model_fields.items() if key in (name, info.alias)
    )
    return get_origin(annotation) in (tuple, list)


def dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text
