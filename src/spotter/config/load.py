"""From an address and overrides to a validated config, remembering where each value came from.

kind → family → protocol → recipe → variant → command line; no interpolation, no evaluated strings.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from spotter import plugins
from spotter.config import recipes, tree
from spotter.config.base import Settings
from spotter.config.errors import explain
from spotter.config.layers import (
    DEFAULT_ALGO,
    Layer,
    OtherAlgorithmError,
    Stack,
    family_layer,
    for_short_budget,
    last_writer,
    place_of_family,
    stack,
    with_protocol,
)
from spotter.config.models import EnvConfig, Expect, RunConfig
from spotter.config.overrides import (
    ALGO_NAME,
    COMMAND_LINE,
    Override,
    Pairs,
    edit,
    merge,
    parse,
    written,
)
from spotter.types import UserError

FITS_BUDGET: Final = "fits budget.env_steps"
_TRIED: Final = 16
"""Lengths of a rollout that are tried before it is learnt from as a whole."""


@dataclass(frozen=True)
class Resolved:
    """A validated config with its history."""

    config: RunConfig
    address: str
    layers: tuple[Layer, ...]
    description: str = ""
    expect: Expect | None = None
    notes: tuple[str, ...] = ()
    """What a user should know about where it was found."""

    @property
    def written(self) -> frozenset[str]:
        """Dotted names of what was written on the command line or in the call."""
        return frozenset(_names(self.layers[-1].values))

    def origin(self, path: tree.Path) -> str:
        """Where the value at a path was written last; `default` if nowhere."""
        layer = last_writer(self.layers, path)
        return layer.origin(path) if layer else "default"


def resolve(
    address: str,
    overrides: Sequence[Override] | Mapping[str, object] = (),
    algo: str | None = None,
    place: str = COMMAND_LINE,
) -> Resolved:
    """The config an address and its overrides stand for; see layers.py for addresses.

    `place` is where the overrides were written, for messages and origins.
    """
    edits = parse(overrides, place)
    typed = Layer(place, written(edits))
    found, refused = _found(address, algo, typed)
    layers = with_protocol((*_of_typed_id(found.layers, typed), typed))
    try:
        config = validate(_merged(layers[:-1], edits), layers)
    except UserError as error:
        raise refused or error from None
    budget = config.budget.env_steps
    if budget is not None and config.algo.name == DEFAULT_ALGO:
        layers = for_short_budget(layers, budget)
        config = validate(_merged(layers[:-1], edits), layers)
    if smaller := _within_budget(config, layers[-1]):
        layers = (*layers[:-1], smaller, layers[-1])
        config = validate(_merged(layers[:-1], edits), layers)
    env_id = tree.value_at(_merged(found.layers, []), ("env", "id"))
    if found.name.startswith(f"{env_id}:") and config.env.id != env_id:
        # another environment with the recipe's settings: neither its name nor what it reaches
        return Resolved(config, f"{config.env.id}:{config.algo.name}", layers)
    return Resolved(
        config, found.name, layers, found.description, _expect(found.promise), found.notes
    )


def _found(address: str, algo: str | None, typed: Layer) -> tuple[Stack, UserError | None]:
    """What the address stands for. A typed `algo.name` chooses as `algo` does.

    Except where the address names a variant of another algorithm: the typed one, such as an own
    version of PPO, takes over its settings if it can. If not, the second value says why.
    """
    name = tree.value_at(typed.values, ALGO_NAME)
    if algo is not None or not isinstance(name, str) or not plugins.exists("algos", name):
        return stack(address, algo), None
    try:
        return stack(address, name), None
    except OtherAlgorithmError as error:
        return stack(address), error if name in plugins.names("algos") else None


def _within_budget(config: RunConfig, typed: Layer) -> Layer | None:
    """Shorter rollouts, where one would take more than the whole budget; what is typed stays."""
    budget, count = config.budget.env_steps, config.env.count
    work = config.algo.work(count)
    is_typed = tree.value_at(typed.values, ("algo", "steps")) is not None
    if budget is None or work.setting != "algo.steps" or is_typed:
        return None
    most = budget // count
    if not 0 < most < work.vector_steps:
        return None
    for steps in range(most, most - _TRIED, -1):  # until minibatches divide it
        values = {"algo": {"name": config.algo.name, "steps": max(steps, 1)}}
        with suppress(UserError):
            validate(merge(config.as_data(), values))
            return Layer(FITS_BUDGET, values)
    whole = {"name": config.algo.name, "steps": most, "minibatch": 1.0}
    return Layer(FITS_BUDGET, {"algo": whole})


def _of_typed_id(layers: tuple[Layer, ...], typed: Layer) -> tuple[Layer, ...]:
    """With the family of the environment on the command line, where that is another one's."""
    typed_id = tree.value_at(typed.values, ("env", "id"))
    if not isinstance(typed_id, str) or tree.value_at(typed.values, ("env", "family")):
        return layers
    env = _merged(layers, [])["env"]
    new, by_id = recipes.family_of(typed_id), recipes.family_of(str(env["id"]))
    if new in (env["family"], by_id):  # a family that was named, not found, stays
        return layers
    own = Layer(typed.label, {"env": {"family": new}})
    place = place_of_family(layers)
    return (*layers[:place], family_layer(new), *layers[place + 1 :], own)


def changed(
    config: RunConfig,
    overrides: Sequence[Override] | Mapping[str, object],
    place: str = COMMAND_LINE,
) -> RunConfig:
    """A whole config with overrides on top.

    A protocol among them brings its settings along, another environment its family.
    """
    edits = parse(overrides, place)
    typed = Layer(place, written(edits))
    layers: tuple[Layer, ...] = (Layer("", _with_family(config, typed)), typed)
    if tree.value_at(layers[-1].values, ("env", "protocol")) is not None:
        layers = with_protocol(layers)
    return validate(_merged(layers[:-1], edits), layers)


def _names(values: Mapping[str, object], above: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _names(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def _with_family(config: RunConfig, typed: Layer) -> dict[str, object]:
    """The data of a config, for the family of the environment that is typed.

    A family that was named, not found by the id, stays; settings and the protocol of one that does
    not stay are left out.
    """
    data, typed_id = config.as_data(), tree.value_at(typed.values, ("env", "id"))
    if not isinstance(typed_id, str) or tree.value_at(typed.values, ("env", "family")):
        return data
    new, by_id = recipes.family_of(typed_id), recipes.family_of(config.env.id)
    if new == by_id or config.env.family != by_id:
        return data
    fields = EnvConfig.chosen({"family": new}).model_fields
    known = {field.alias or name for name, field in fields.items()}
    env = {key: value for key, value in data["env"].items() if key in known}
    return {**data, "env": {**env, "family": new, "protocol": None}}


def _merged(layers: Sequence[Layer], edits: Pairs) -> dict[str, Any]:
    data: dict[str, object] = {}
    for layer in layers:
        data = merge(data, layer.values)
    for path, value in edits:  # one by one: an edit reaches into the schedule below it
        data = edit(data, path, value)
    return data


def validate(data: Mapping[str, object], layers: Sequence[Layer] = ()) -> RunConfig:
    """Check a whole config; the error names the file and line a bad value came from."""
    data = _with_algo(data)
    try:
        return RunConfig.from_data(data)
    except ValidationError as error:
        typed = layers[-1].label if layers else ""
        raise explain(error, RunConfig, data, lambda path: _where(layers, path), typed) from None


def _with_algo(data: Mapping[str, object]) -> dict[str, object]:
    algo = data.get("algo", {})
    if not isinstance(algo, Mapping):
        return dict(data)
    return {**data, "algo": {"name": DEFAULT_ALGO, **algo}}


def _where(layers: Sequence[Layer], path: tree.Path) -> str:
    """Where a value was written, or else the section it is missing in."""
    for length in range(len(path), 0, -1):
        layer = last_writer(layers, path[:length])
        if layer:
            return layer.where(path[:length])
    return ""


def from_older(data: Mapping[str, object]) -> dict[str, object]:
    """A saved config with settings that are younger than it: what was done before they existed."""
    policy = data.get("policy")
    if policy is not None and not isinstance(policy, Mapping):
        return dict(data)  # validation reports what is wrong
    return {**data, "policy": {"engine": "torch", "join": "concat", **(policy or {})}}


class _Promise(Settings):
    expect: Expect


def _expect(promise: Layer | None) -> Expect | None:
    if promise is None:
        return None
    try:
        return _Promise.from_data(promise.values).expect
    except ValidationError as error:
        raise explain(error, _Promise, promise.values, promise.where) from None
