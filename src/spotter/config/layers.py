"""From an address to layers: family → protocol → recipe → variant, and no deeper.

An address is `EnvId:variant`, `EnvId`, `file.yaml`, `file.yaml:variant`, or an environment that has
no recipe: `EnvId:algo`, `package:EnvId`, `package:EnvId:algo`, where `EnvId` may be a class.
"""

import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from spotter import plugins
from spotter.config import recipes, shape, tree
from spotter.config.models import AlgoConfig, EnvConfig
from spotter.config.overrides import merge
from spotter.config.words import listed
from spotter.types import UserError

DEFAULT_ALGO: Final = "ppo"
_PYTHON: Final = "python"
"""The family of what Gymnasium does not know, but Python does."""


@dataclass(frozen=True)
class Layer:
    """One contribution to the config: its label, its values, where it stands in a file."""

    label: str
    values: Mapping[str, Any]
    source: recipes.Source | None = None
    keys: tuple[str, ...] = ()

    def where(self, path: tree.Path) -> str:
        return self.source.where(*self.keys, *path) if self.source else self.label

    def origin(self, path: tree.Path) -> str:
        """The label, and the line of a file that did not come with Spotter."""
        if self.source is None or recipes.is_packaged(self.source.path):
            return self.label
        return f"{self.label}, {self.where(path)}"


@dataclass(frozen=True)
class Stack:
    """What an address stands for, before overrides."""

    name: str
    layers: tuple[Layer, ...]
    description: str = ""
    promise: Layer | None = None
    """The variant's `expect`, not part of the config."""
    notes: tuple[str, ...] = ()
    """What a user should know about where it was found."""


def stack(address: str, algo: str | None = None) -> Stack:
    """The layers of an address; `algo` chooses the variant, or the algorithm if there is none."""
    file = re.fullmatch(r"(.+\.ya?ml)(?::(.*))?", address)
    if file:
        path = Path(file[1])
        return _of_recipe(recipes.name_of(path), path, file[2] or "", algo)
    known = recipes.files()
    name, _, variant = address.partition(":")
    if name not in known:
        name, variant = recipes.of_package_id(address)
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
    files = [path, *recipes.hidden_by(path)]
    candidates = [one for file in files for one in _variants_of(name, recipes.open_source(file))]
    chosen = _choose_variant(candidates, name, variant, algo)
    if chosen is None:
        return _without_variant(_Variant("", candidates[0].source, name), algo or variant)
    values = chosen.source.section(*chosen.keys)
    settings = {key: v for key, v in values.items() if key not in recipes.VARIANT_EXTRAS}
    promise = {key: v for key, v in values.items() if key == "expect"}
    label, source, keys = f"variant {chosen.key}", chosen.source, chosen.keys
    return Stack(
        name=f"{name}:{chosen.key}",
        layers=(*chosen.below, Layer(label, settings, source, keys)),
        description=str(values.get("description") or source.data.get("description") or ""),
        promise=Layer(label, promise, source, keys) if promise else None,
        notes=tuple(_hidden(chosen, candidates)),
    )


@dataclass(frozen=True)
class _Variant:
    """One variant of a recipe file."""

    key: str
    source: recipes.Source
    name: str

    @property
    def keys(self) -> tuple[str, ...]:
        return ("variants", self.key)

    @property
    def env_id(self) -> str:
        """Of the variant, else of the file, else the file is called by it."""
        own = self.source.section(*self.keys, "env").get("id")
        return str(own or self.source.section("base", "env").get("id") or self.name)

    @property
    def below(self) -> tuple[Layer, ...]:
        """Family and recipe."""
        source, label = self.source, f"recipe {self.name}"
        family = str(source.data.get("family") or recipes.family_of(self.env_id))
        return (
            family_layer(family, source.where("family")),
            Layer(label, {"env": {"id": self.env_id, "family": family}}, source),
            Layer(label, source.section("base"), source, ("base",)),
        )

    @property
    def algo(self) -> str:
        family, _, base = self.below
        merged = merge(merge(family.values, base.values), self.source.section(*self.keys))
        return str(tree.value_at(merged, ("algo", "name")) or DEFAULT_ALGO)


def _variants_of(name: str, source: recipes.Source) -> list[_Variant]:
    shape.check_recipe(source)
    return [_Variant(key, source, name) for key in recipes.variants(source)]


def _hidden(chosen: _Variant, candidates: Sequence[_Variant]) -> Iterator[str]:
    for other in candidates:
        if other.key == chosen.key and other.source is not chosen.source:
            place = chosen.source.where(*chosen.keys)
            yield f"{place}: variant {chosen.key} hides the one that comes with Spotter"


def family_layer(family: str, place: str = "") -> Layer:
    try:
        source = recipes.family(family)
    except UserError as error:
        raise UserError(f"{place}: {error}" if place else str(error)) from None
    shape.check_family(source)
    return Layer(f"family {family}", source.section("base"), source, ("base",))


def _choose_variant(
    candidates: Sequence[_Variant], name: str, variant: str, algo: str | None
) -> _Variant | None:
    """The first that fits; None where only the algorithm was named and no variant is for it."""
    there = {one.key: one for one in reversed(candidates)}
    if variant and variant not in there:
        if not plugins.exists("algos", variant) or algo not in (None, variant):
            keys = list(dict.fromkeys(one.key for one in candidates))
            near = plugins.nearest(variant, keys)
            hint = f"did you mean '{name}:{near}'?" if near else f"it has {listed(keys, 'and')}"
            raise UserError(f"{name} has no variant '{variant}'; {hint}")
        variant, algo = "", variant
    if algo is None:
        own = [one.key for one in candidates if one.source is candidates[0].source]
        return there[variant or (DEFAULT_ALGO if DEFAULT_ALGO in own else own[0])]
    plugins.load("algos", algo)
    if not variant:
        return next((one for one in candidates if one.algo == algo), None)
    if there[variant].algo != algo:
        raise UserError(
            f"{name}:{variant} uses {there[variant].algo}, not {algo}; "
            f"write either the variant or --algo {algo}"
        )
    return there[variant]


def _without_variant(recipe: _Variant, algo: str) -> Stack:
    """An algorithm that no variant is for: its defaults, over what all variants share."""
    family, own, base = recipe.below
    shared = dict(base.values)
    if isinstance(written := shared.pop("algo", None), Mapping) and "name" not in written:
        known = tree.keys(AlgoConfig.chosen({"name": algo}))
        shared["algo"] = {key: value for key, value in written.items() if key in known}
    return Stack(
        name=f"{recipe.name}:{algo}",
        layers=(
            family,
            own,
            replace(base, values=shared),
            Layer("address", {"algo": {"name": algo}}),
        ),
        description=f"{algo} with its defaults: {recipe.name} has no variant for it",
    )


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
    shape.check_protocol(source)
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


# --- environments without a recipe ---------------------------------------------------------------


def _of_environment(address: str, algo: str | None) -> Stack:
    env_id, name = _split(address)
    if name and algo and name != algo:
        raise UserError(f"'{address}' names {name}, but --algo says {algo}; choose one")
    chosen = name or algo or DEFAULT_ALGO
    plugins.load("algos", chosen)
    family = recipes.family_of(env_id) if _is_registered(_bare(env_id)) else _PYTHON
    values = {"env": {"id": env_id, "family": family}, "algo": {"name": chosen}}
    address_layer = Layer("address", values)
    layers = (family_layer(family), *_defaults(values, chosen), address_layer)
    return Stack(f"{env_id}:{chosen}", layers)


def _defaults(values: Mapping[str, Any], algo: str) -> Iterator[Layer]:
    """What suits the kind of environment it is; settings that the algorithm lacks are left out."""
    env = values["env"]
    kind = recipes.family(env["family"]).data.get("defaults")
    if kind is None:  # by name: environments stand above configs
        config = EnvConfig.chosen(env).from_data(env)
        kind = plugins.load("envs", "gymnasium").suited_to(config)
    files = recipes.defaults_files()
    if kind not in files:
        return
    source = recipes.open_source(files[kind])
    shape.check_defaults(source)
    base = source.section("base")
    known = tree.keys(AlgoConfig.chosen({"name": algo}))
    base["algo"] = {key: value for key, value in base.get("algo", {}).items() if key in known}
    yield Layer(f"defaults {kind}", base, source, ("base",))


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
        if package not in sys.modules and not plugins.findable(package):  # __main__ is not findable
            return False
        try:
            importlib.import_module(package)
        except Exception as error:  # somebody else's code: tell which and why
            reason = f"{type(error).__name__}: {error}"
            raise UserError(f"{package} of '{env_id}' cannot be imported: {reason}") from error
    if _is_registered(bare) or (_register(bare) and _is_registered(bare)):
        return True
    return bool(colon) and bool(plugins.load("envs", _PYTHON).knows(env_id))


def _bare(env_id: str) -> str:
    return env_id.rpartition(":")[2]


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
