"""From an address to layers: family → protocol → recipe → variant, and no deeper.

An address is `EnvId:variant`, `EnvId`, `file.yaml`, `file.yaml:variant`, or an environment that has
no recipe: `EnvId:algo`, `package:EnvId`, `package:EnvId:algo`.
"""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.config import errors, recipes, synonyms, tree
from spotter.config.models import NOT_THE_GAME, RunConfig
from spotter.config.overrides import merge
from spotter.config.words import listed, shown
from spotter.types import UserError

DEFAULT_ALGO: Final = "ppo"
# What a protocol leaves open: which game it is, and how its copies are run.
_NOT_OF_A_PROTOCOL: Final = ("id", "family", "protocol", *NOT_THE_GAME)


@dataclass(frozen=True)
class Layer:
    """One contribution to the config: its label, its values, where it stands in a file."""

    label: str
    values: Mapping[str, Any]
    source: recipes.Source | None = None
    keys: tuple[str, ...] = ()

    def where(self, path: tree.Path) -> str:
        return self.source.where(*self.keys, *path) if self.source else self.label


@dataclass(frozen=True)
class Stack:
    """What an address stands for, before overrides."""

    name: str
    layers: tuple[Layer, ...]
    description: str = ""
    promise: Layer | None = None
    """The variant's `expect`, not part of the config."""


def stack(address: str, algo: str | None = None) -> Stack:
    """The layers of an address; `algo` chooses the variant, or the algorithm if there is none."""
    file = re.fullmatch(r"(.+\.ya?ml)(?::(.*))?", address)
    if file:
        path = Path(file[1])
        return _of_recipe(recipes.name_of(path), path, file[2] or "", algo)
    known = recipes.files()
    name, _, variant = address.partition(":")
    if name in known:
        return _of_recipe(name, known[name], variant, algo)
    return _of_environment(address, algo)


def last_writer(layers: Iterable[Layer], path: tree.Path) -> Layer | None:
    """The layer that wrote a value, or replaced a parent of it by a list or a scalar."""
    for layer in reversed(list(layers)):
        node: Any = layer.values
        for depth, part in enumerate(path):
            if not _holds(node, part):
                if depth and not isinstance(node, Mapping):
                    return layer
                break
            node = node[part]
        else:
            if path:
                return layer
    return None


def _holds(node: Any, part: str | int) -> bool:
    if isinstance(node, list):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, Mapping) and part in node


# --- recipes -------------------------------------------------------------------------------------


def _of_recipe(name: str, path: Path, variant: str, algo: str | None) -> Stack:
    source = recipes.open_source(path)
    check_recipe(source)
    base = source.section("base")
    env_id = source.section("base", "env").get("id") or name
    family = str(source.data.get("family") or recipes.family_of(env_id))
    below = _family_layer(family, source.where("family"))
    chosen = _choose_variant(source, name, variant, algo, merge(below.values, base))
    keys = ("variants", chosen)
    values = source.section(*keys)
    settings = {key: v for key, v in values.items() if key not in recipes.VARIANT_EXTRAS}
    promise = {key: v for key, v in values.items() if key == "expect"}
    return Stack(
        name=f"{name}:{chosen}",
        layers=(
            below,
            Layer(f"recipe {name}", {"env": {"id": env_id, "family": family}}, source),
            Layer(f"recipe {name}", base, source, ("base",)),
            Layer(f"variant {chosen}", settings, source, keys),
        ),
        description=str(values.get("description") or source.data.get("description") or ""),
        promise=Layer(f"variant {chosen}", promise, source, keys) if promise else None,
    )


def _family_layer(family: str, place: str = "") -> Layer:
    try:
        source = recipes.family(family)
    except UserError as error:
        raise UserError(f"{place}: {error}" if place else str(error)) from None
    check_family(source)
    return Layer(f"family {family}", source.section("base"), source, ("base",))


def _choose_variant(
    source: recipes.Source, name: str, variant: str, algo: str | None, below: Mapping[str, Any]
) -> str:
    there = recipes.variants(source)

    def algo_of(key: str) -> str:
        merged = merge(below, source.section("variants", key))
        return str(tree.value_at(merged, ("algo", "name")) or DEFAULT_ALGO)

    if variant and variant not in there:
        near = plugins.nearest(variant, there)
        hint = f"did you mean '{name}:{near}'?" if near else f"it has {listed(there, 'and')}"
        raise UserError(f"{name} has no variant '{variant}'; {hint}")
    if algo is None:
        return variant or (DEFAULT_ALGO if DEFAULT_ALGO in there else there[0])
    plugins.load("algos", algo)
    if variant and algo_of(variant) != algo:
        raise UserError(
            f"{name}:{variant} uses {algo_of(variant)}, not {algo}; "
            f"write either the variant or --algo {algo}"
        )
    fitting = [key for key in there if algo_of(key) == algo]
    if not fitting:
        raise UserError(f"{name} has no variant for {algo}; it has {listed(there, 'and')}")
    return variant or fitting[0]


# --- protocols -----------------------------------------------------------------------------------


def with_protocol(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers with that of the protocol they name, if any, right above the family's."""
    data: dict[str, Any] = {}
    for layer in layers:
        data = merge(data, layer.values)
    path = ("env", "protocol")
    name, writer = tree.value_at(data, path), last_writer(layers, path)
    if not isinstance(name, str) or writer is None:  # if it is neither text nor null, others say so
        return tuple(layers)
    try:
        protocol = protocol_layer(name, str(tree.value_at(data, ("env", "family"))))
    except UserError as error:
        raise UserError(f"{writer.where(path)}: {error}") from None
    below, *above = layers
    return (below, protocol, *above)


def protocol_layer(name: str, family: str) -> Layer:
    """A protocol by its name; `UserError` where there is none of it for this family."""
    files = recipes.protocol_files()
    if name not in files:
        hint = plugins.did_you_mean(name, files)
        raise UserError(f"env.protocol: there is no protocol '{name}'{hint}")
    source = recipes.open_source(files[name])
    check_protocol(source)
    owner = str(source.data["family"])
    if owner != family:
        own = [other for other, path in sorted(files.items()) if _family_in(path) == family]
        there = f"{family} has {listed(own, 'and')}" if own else f"{family} has none"
        raise UserError(f"env.protocol: {name} is for the family {owner}, not {family}; {there}")
    return Layer(f"protocol {name}", source.section("base"), source, ("base",))


def _family_in(path: Path) -> str:
    try:
        return str(recipes.open_source(path).data.get("family"))
    except UserError:
        return ""


def check_protocol(source: recipes.Source) -> None:
    """Keys and sections of a protocol file: game settings of one family, and no more."""
    _check_top(source, recipes.PROTOCOL_KEYS)
    _check_text(source, "family")
    family = source.data.get("family")
    if family is None or not plugins.exists("envs", family):
        names = plugins.did_you_mean(str(family), plugins.names("envs"))
        missing = "a protocol needs `family`" if family is None else f"unknown family '{family}'"
        raise UserError(f"{source.where('family')}: {missing}{names}")
    _check_sections(source, ("base",))
    for key in source.section("base"):
        if key not in ("env", "reward"):
            raise UserError(f"{source.where('base', key)}: a protocol sets env and reward only")
    for key in source.section("base", "env"):
        if key in _NOT_OF_A_PROTOCOL:
            place = source.where("base", "env", key)
            raise UserError(f"{place}: env.{key} is no part of a protocol; it goes into recipes")


# --- what recipe and family files may hold -------------------------------------------------------


def check_recipe(source: recipes.Source) -> None:
    """Keys and maps of a recipe file, down to the sections that the models know about."""
    _check_top(source, recipes.TOP_KEYS)
    _check_text(source, "family")
    _check_sections(source, ("base",))
    names = recipes.variants(source)
    if not names:
        raise UserError(f"{source.where('variants')}: a recipe needs `variants`, one at least")
    for name in names:
        keys = ("variants", name)
        if not isinstance(source.data["variants"][name], Mapping):
            raise UserError(f"{source.where(*keys)}: variant {name} should be a map of settings")
        _check_sections(source, keys, also=recipes.VARIANT_EXTRAS)
        _check_text(source, *keys, "description")


def check_family(source: recipes.Source) -> None:
    _check_top(source, recipes.FAMILY_KEYS)
    _check_sections(source, ("base",))
    patterns = source.data.get("matches", [])
    if not (isinstance(patterns, list) and all(isinstance(p, str) for p in patterns)):
        wish = "matches should be a list of patterns such as [CartPole-v*]"
        raise UserError(f"{source.where('matches')}: {wish}, got {shown(patterns)}")


def _check_top(source: recipes.Source, allowed: Sequence[str]) -> None:
    for key, value in source.data.items():
        if key not in allowed:
            theirs = synonyms.hint(str(key), value, source.section("base"))
            hint = f"; {theirs}" if theirs else plugins.did_you_mean(str(key), allowed)
            raise UserError(f"{source.where(key)}: {key} is not a key of this file{hint}")
        if key in ("base", "variants") and not isinstance(value, Mapping):
            wish = "a map of settings" if key == "base" else "a map of variants"
            raise UserError(f"{source.where(key)}: {key} should be {wish}, got {shown(value)}")
    _check_text(source, "description")


def _check_text(source: recipes.Source, *keys: str) -> None:
    value = tree.value_at(source.data, keys)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{source.where(*keys)}: {keys[-1]} should be text, got {shown(value)}")


def _check_sections(
    source: recipes.Source, keys: tuple[str, ...], also: Sequence[str] = ()
) -> None:
    """Unknown sections, found here because only here it is known what else may stand there."""
    data = source.section(*keys)
    for key in data:
        if key not in also and key not in RunConfig.model_fields:
            sentence = errors.unknown_key((key,), data, RunConfig, also)
            raise UserError(f"{source.where(*keys, key)}: {sentence}")


# --- environments without a recipe ---------------------------------------------------------------


def _of_environment(address: str, algo: str | None) -> Stack:
    env_id, name = _split(address)
    if name and algo and name != algo:
        raise UserError(f"'{address}' names {name}, but --algo says {algo}; choose one")
    chosen = name or algo or DEFAULT_ALGO
    plugins.load("algos", chosen)
    family = recipes.family_of(env_id)
    values = {"env": {"id": env_id, "family": family}, "algo": {"name": chosen}}
    return Stack(f"{env_id}:{chosen}", (_family_layer(family), Layer("address", values)))


def _split(address: str) -> tuple[str, str]:
    """`Id:algo` or `package:Id:algo` in two; the algorithm may be left out."""
    if _can_be_env(address):
        return address, ""
    env_id, _, algo = address.rpartition(":")
    if env_id and _can_be_env(env_id):
        return env_id, algo
    raise UserError(unknown_address(address))


def _can_be_env(env_id: str) -> bool:
    """Whether Gymnasium knows the id, importing its package if one is named."""
    package, colon, bare = env_id.rpartition(":")
    if colon:
        if not plugins.findable(package):
            return False
        try:
            importlib.import_module(package)
        except Exception as error:  # somebody else's code: tell which and why
            reason = f"{type(error).__name__}: {error}"
            raise UserError(f"{package} of '{env_id}' cannot be imported: {reason}") from error
    return _is_registered(bare) or (_register(bare) and _is_registered(bare))


def _is_registered(env_id: str) -> bool:
    import gymnasium as gym
    from gymnasium.error import Error

    try:
        gym.spec(env_id)
    except (Error, ImportError):
        return False
    return True


def _register(env_id: str) -> bool:
    """Let the family an id belongs to make its ids known, if it can; whether it could."""
    register = getattr(plugins.load("envs", recipes.family_of(env_id)), "register", None)
    if register is not None:
        register()
    return register is not None


def unknown_address(address: str) -> str:
    """The sentence for an address that names nothing."""
    import gymnasium as gym

    known = recipes.files()
    name, _, variant = address.partition(":")
    match = plugins.nearest(name, [*known, *gym.registry])
    if match is None and variant and not plugins.findable(name):
        tail = f"there is no package '{name}' to import"
    elif match is None:
        tail = "`spotter list` shows what there is"
    else:
        there = _variants_if_readable(known[match]) if match in known else []
        best = plugins.nearest(variant, there) if variant else None
        tail = f"did you mean '{match}{f':{best}' if best else ''}'?"
    return f"unknown recipe or environment '{address}'; {tail}"


def _variants_if_readable(path: Path) -> list[str]:
    try:
        return recipes.variants(recipes.open_source(path))
    except UserError:
        return []
