"""From an address to layers: family → protocol → recipe → variant, and no deeper.

An address is `EnvId:variant`, `EnvId`, `file.yaml`, `file.yaml:variant`, or an environment that has
no recipe: `EnvId:algo`, `package:EnvId`, `package:EnvId:algo`, where `EnvId` may be a class.
`EnvId:defaults` passes over a recipe. What suits the kind of environment stands below the family,
for environments without a recipe and for recipes that did not come with Spotter.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from spotter import plugins
from spotter.config import environments, other_names, recipes, shape, tree
from spotter.config.models import AlgoConfig, EnvConfig
from spotter.config.overrides import merge
from spotter.config.words import listed
from spotter.types import UserError

DEFAULT_ALGO: Final = "ppo"
DEFAULTS: Final = "defaults"
"""In the place of a variant: without a recipe, even where there is one."""
_FAMILY: Final = "family "
_KIND: Final = "defaults "


class OtherAlgorithmError(UserError):
    """An address names a variant of another algorithm than the one that was asked for."""


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
    if name not in known:
        return _of_environment(address, algo)
    if variant == DEFAULTS and DEFAULTS not in recipes.variants(recipes.open_source(known[name])):
        return _of_environment(address, algo)
    return _of_recipe(name, known[name], variant, algo)


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


def _holds(node: object, part: str | int) -> bool:
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
        layers=(*_suited(chosen.below, source, chosen.algo), Layer(label, settings, source, keys)),
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
    return Layer(f"{_FAMILY}{family}", source.section("base"), source, ("base",))


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
            hint = other_names.of_algorithm(variant).removeprefix("; ") or hint
            raise UserError(f"{name} has no variant '{variant}'; {hint}")
        variant, algo = "", variant
    if algo is None:
        own = [one.key for one in candidates if one.source is candidates[0].source]
        return there[variant or (DEFAULT_ALGO if DEFAULT_ALGO in own else own[0])]
    plugins.load("algos", algo)
    if not variant:
        return next((one for one in candidates if one.algo == algo), None)
    if there[variant].algo != algo:
        raise OtherAlgorithmError(
            f"{name}:{variant} uses {there[variant].algo}, not {algo}; "
            "leave out the variant or the algorithm"
        )
    return there[variant]


def _without_variant(recipe: _Variant, algo: str) -> Stack:
    """An algorithm that no variant is for: its defaults, over what all variants share."""
    family, own, base = recipe.below
    shared = dict(base.values)
    if isinstance(written := shared.pop("algo", None), Mapping) and "name" not in written:
        known = tree.keys(AlgoConfig.chosen({"name": algo}))
        shared["algo"] = {key: value for key, value in written.items() if key in known}
    below = _suited((family, own, replace(base, values=shared)), recipe.source, algo)
    return Stack(
        name=f"{recipe.name}:{algo}",
        layers=(*below, Layer("address", {"algo": {"name": algo}})),
        description=f"{algo} with its defaults: {recipe.name} has no variant for it",
    )


# --- protocols -----------------------------------------------------------------------------------


def with_protocol(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers with that of the protocol they name, if any, right above the family's."""
    data: dict[str, object] = {}
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
    above = place_of_family(layers) + 1
    return (*layers[:above], protocol, *layers[above:])


def place_of_family(layers: Sequence[Layer]) -> int:
    """Where the family's layer stands; the lowest where a config came as a whole."""
    return max((i for i, one in enumerate(layers) if one.label.startswith(_FAMILY)), default=0)


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
    env_id, name = environments.split(address)
    if name and algo and name not in (algo, DEFAULTS):
        raise OtherAlgorithmError(f"'{address}' names {name}, not {algo}; leave out one of the two")
    chosen = algo or (DEFAULT_ALGO if name == DEFAULTS else name) or DEFAULT_ALGO
    plugins.load("algos", chosen)
    family = environments.family_of(env_id)
    values = {"env": {"id": env_id, "family": family}, "algo": {"name": chosen}}
    address_layer = Layer("address", values)
    below = tuple(_defaults(values, chosen))
    return Stack(
        name=f"{env_id}:{DEFAULTS if name == DEFAULTS else chosen}",
        layers=(*below, family_layer(family), address_layer),
        notes=(_without_recipe(env_id, below),),
    )


def _without_recipe(env_id: str, below: Sequence[Layer]) -> str:
    """Which defaults stand in for a recipe; shown wherever such a config is."""
    known = recipes.files()
    why = f"{env_id} without its recipe" if env_id in known else f"no recipe for {env_id}"
    kinds = [layer for layer in below if layer.label.startswith(_KIND)]
    if not kinds or kinds[0].source is None:
        return f"{why}: the algorithm's own defaults"
    kind = kinds[0].label.removeprefix(_KIND)
    title = kinds[0].source.data.get("title", "this kind of environment")
    return f"{why}: defaults for {title} (kind `{kind}`)"


def _suited(below: tuple[Layer, ...], source: recipes.Source, algo: str) -> tuple[Layer, ...]:
    """With the defaults of its kind of environment, unless the recipe was measured without them."""
    if recipes.is_packaged(source.path):
        return below
    values: dict[str, object] = {}
    for layer in below:
        values = merge(values, layer.values)
    try:
        return (*_defaults(values, algo), *below)
    except (UserError, ValidationError):  # the whole config has it too, and is checked with lines
        return below


def _defaults(values: Mapping[str, Any], algo: str) -> Iterator[Layer]:
    """What suits the kind of environment it is; of `algo` others than PPO get the discount."""
    env = values["env"]
    family = recipes.family(env["family"])
    if protocol := family.data.get("protocol"):
        yield Layer(f"{_FAMILY}{env['family']}", {"env": {"protocol": protocol}}, family)
    kind = family.data.get("defaults")
    if kind is None:  # by name: environments stand above configs
        config = EnvConfig.chosen(env).from_data(env)
        kind = plugins.load("envs", "gymnasium").suited_to(config)
    files = recipes.defaults_files()
    if kind not in files:
        return
    source = recipes.open_source(files[kind])
    shape.check_defaults(source)
    base = source.section("base")
    if algo != DEFAULT_ALGO:  # which they are tuned for; A2C with its steps would hardly learn
        base["algo"] = {key: base["algo"][key] for key in ("gamma",) if key in base["algo"]}
    yield Layer(f"{_KIND}{kind}", base, source, ("base",))


def for_short_budget(layers: tuple[Layer, ...], env_steps: int) -> tuple[Layer, ...]:
    """With what a kind of environment keeps for PPO with few env steps, if these are few."""
    for place, layer in enumerate(layers):
        if not layer.label.startswith(_KIND) or layer.source is None:
            continue
        short = layer.source.data.get("short")
        if short and env_steps < short["below"]:
            keys = ("short", "base")
            own = Layer(f"{layer.label}, short", layer.source.section(*keys), layer.source, keys)
            return (*layers[: place + 1], own, *layers[place + 1 :])
    return layers
