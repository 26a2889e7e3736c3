"""From an address and overrides to a validated config, remembering where each value came from.

family → recipe → variant → command line; no deeper, no interpolation, no evaluated strings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spotter import plugins
from spotter.config import recipes
from spotter.config.errors import explain
from spotter.config.models import Expect, RunConfig, merge
from spotter.types import UserError

DEFAULT_ALGO = "ppo"


@dataclass(frozen=True)
class Layer:
    """One contribution to the config: its label, its values, where it stands in a file."""

    label: str
    values: Mapping[str, Any]
    source: recipes.Source | None = None
    keys: tuple[str, ...] = ()

    def where(self, path: tuple[str | int, ...]) -> str:
        return self.source.where(*self.keys, *path) if self.source else self.label


@dataclass(frozen=True)
class Resolved:
    """A validated config with its history."""

    config: RunConfig
    address: str
    layers: tuple[Layer, ...]
    description: str = ""
    expect: Expect | None = None

    def origin(self, path: tuple[str | int, ...]) -> str:
        """Where the value at a path was written last; `default` if nowhere."""
        layer = _last_layer(self.layers, path)
        return layer.label if layer else "default"


def resolve(
    address: str,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    algo: str | None = None,
) -> Resolved:
    """Config of `EnvId:variant`, `EnvId`, `package:EnvId-v0` or `file.yaml[:variant]`."""
    layers, variant, name = _layers(address, algo)
    command_line = Layer("command line", _parse_overrides(overrides))
    layers = [*layers, command_line]
    data: dict[str, Any] = {}
    for layer in layers:
        data = merge(data, layer.values)
    data.setdefault("algo", {}).setdefault("name", DEFAULT_ALGO)
    config = validate(data, layers)
    return Resolved(
        config=config,
        address=name,
        layers=tuple(layers),
        description=str(variant.get("description", "")),
        expect=_expect(variant.get("expect"), layers),
    )


def validate(data: Mapping[str, Any], layers: Sequence[Layer] = ()) -> RunConfig:
    """Check a whole config; the error names the file and line a bad value came from."""

    def locate(path: tuple[str | int, ...]) -> str:
        layer = _last_layer(layers, path)
        return layer.where(path) if layer else ""

    try:
        return RunConfig.model_validate(dict(data))
    except ValidationError as error:
        raise explain(error, RunConfig, data, locate) from None


def _expect(data: Any, layers: Sequence[Layer]) -> Expect | None:
    if data is None:
        return None
    source, keys = layers[-2].source, layers[-2].keys
    try:
        return Expect.model_validate(data)
    except ValidationError as error:
        raise explain(
            error,
            Expect,
            data,
            lambda path: source.where(*keys, "expect", *path) if source else "",
        ) from None


def _last_layer(layers: Sequence[Layer], path: tuple[str | int, ...]) -> Layer | None:
    """The layer that wrote a value, or replaced a parent of it by a list or a scalar."""
    for layer in reversed(layers):
        node: Any = layer.values
        for depth, part in enumerate(path):
            if isinstance(node, Mapping) and part in node:
                node = node[part]
            elif isinstance(node, list) and isinstance(part, int) and part < len(node):
                node = node[part]
            else:
                if depth and not isinstance(node, Mapping):
                    return layer
                break
        else:
            if path:
                return layer
    return None


def _layers(address: str, algo: str | None) -> tuple[list[Layer], Mapping[str, Any], str]:
    """Family, recipe and variant layers of an address, the variant's map, and its full name."""
    known = recipes.files()
    name, _, variant = address.partition(":")
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        return _recipe_layers(path.stem, path, variant, algo)
    if name in known:
        return _recipe_layers(name, known[name], variant, algo)
    env_id, algo = _bare_environment(address, algo)
    family = recipes.family_of(env_id)
    layers = [
        *_family_layer(family),
        Layer("address", {"env": {"id": env_id, "family": family}, "algo": {"name": algo}}),
    ]
    return layers, {}, f"{env_id}:{algo}"


def _bare_environment(address: str, algo: str | None) -> tuple[str, str]:
    """An environment without a recipe: `Id`, `Id:algo`, `package:Id` or `package:Id:algo`."""
    head, _, tail = address.rpartition(":")
    if head and tail in plugins.names("algos") and _can_be_env(head):
        return head, tail
    if not _can_be_env(address):
        raise UserError(unknown_address(address))
    if algo is not None:
        plugins.load("algos", algo)
    return address, algo or DEFAULT_ALGO


def _family_layer(family: str) -> list[Layer]:
    source = recipes.family(family)
    check_keys(source, recipes.FAMILY_KEYS)
    return [Layer(f"family {family}", source.section("base"), source, ("base",))]


def _recipe_layers(
    name: str, path: Path, variant: str, algo: str | None
) -> tuple[list[Layer], Mapping[str, Any], str]:
    source = recipes.open_source(path)
    check_keys(source, recipes.TOP_KEYS)
    base = source.section("base")
    env_id = base.get("env", {}).get("id") or name
    family = str(source.data.get("family") or recipes.family_of(env_id))
    chosen = _choose_variant(source, name, variant, algo)
    values = source.section("variants", chosen)
    settings = {k: v for k, v in values.items() if k not in recipes.VARIANT_EXTRAS}
    layers = [
        *_family_layer(family),
        Layer(f"recipe {name}", {"env": {"id": env_id, "family": family}}, source),
        Layer(f"recipe {name}", base, source, ("base",)),
        Layer(f"variant {chosen}", settings, source, ("variants", chosen)),
    ]
    return layers, values, f"{name}:{chosen}"


def _choose_variant(source: recipes.Source, name: str, variant: str, algo: str | None) -> str:
    there = recipes.variants(source)
    if not there:
        raise UserError(f"{source.path}: a recipe needs `variants` with at least one entry")
    if variant:
        if variant not in there:
            raise UserError(f"{name} has no variant '{variant}'{plugins.did_you_mean(variant, there)}")
        return variant
    if algo:
        by_algo = [v for v in there if source.section("variants", v, "algo").get("name") == algo]
        if not by_algo:
            raise UserError(
                f"{name} has no variant with algo.name {algo}; it has {', '.join(there)}"
            )
        return by_algo[0]
    return DEFAULT_ALGO if DEFAULT_ALGO in there else there[0]


def check_keys(source: recipes.Source, allowed: Sequence[str]) -> None:
    """Top-level keys of a recipe or family file, and that sections are maps."""
    for key, value in source.data.items():
        if key not in allowed:
            raise UserError(
                f"{source.where(key)}: '{key}' is not a key of this file"
                f"{plugins.did_you_mean(str(key), allowed)}"
            )
        if key in ("base", "variants") and value is not None and not isinstance(value, Mapping):
            raise UserError(f"{source.where(key)}: `{key}` should be a map")
    for name, value in (source.data.get("variants") or {}).items():
        if not isinstance(value, Mapping):
            raise UserError(f"{source.where('variants', name)}: variant `{name}` should be a map")


def _can_be_env(env_id: str) -> bool:
    """Whether Gymnasium knows the id, importing its package if one is named."""
    package, colon, _ = env_id.partition(":")
    if colon and not plugins.findable(package):
        return False
    import gymnasium as gym
    from gymnasium.error import Error

    try:
        gym.spec(env_id)
    except (Error, ImportError):
        return False
    return True


def unknown_address(address: str) -> str:
    """The sentence for an address that names nothing."""
    known = recipes.files()
    name, _, variant = address.partition(":")
    match = plugins.nearest(name, known)
    if match:
        there = recipes.variants(recipes.open_source(known[match]))
        best = plugins.nearest(variant, there) if variant else None
        suggestion = f"{match}:{best or there[0]}"
        return f"unknown recipe or environment '{address}'; did you mean '{suggestion}'?"
    import gymnasium as gym

    hint = plugins.nearest(name, gym.registry.keys())
    tail = f"; did you mean '{hint}'?" if hint else "; `spotter list` shows what there is"
    return f"unknown recipe or environment '{address}'{tail}"


def _parse_overrides(overrides: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """`algo.lr=3e-4` → {"algo": {"lr": 0.0003}}; values are YAML, never evaluated."""
    pairs: list[tuple[str, Any]] = []
    if isinstance(overrides, Mapping):
        pairs = list(overrides.items())
    else:
        for text in overrides:
            key, equals, value = text.partition("=")
            if not equals or not key.strip():
                raise UserError(f"'{text}' is not an override; write key=value, e.g. algo.lr=3e-4")
            pairs.append((key.strip(), recipes.plain(recipes.parse(value, f"override {key}"))))
    tree: dict[str, Any] = {}
    for key, value in pairs:
        node: dict[str, Any] = value
        for part in reversed(key.split(".")):
            node = {part: node}
        tree = merge(tree, node)
    return tree
