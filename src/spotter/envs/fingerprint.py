"""What a score was played for: every setting that decides its meaning, and a short hash of them.

Scores compare where fingerprints are equal. How envs are run, what counts as solved and versions
of packages are no part of it; `game` is what a score depends on, `training` what only the learner
sees (clipped rewards, lost lives as ends, train-only wrappers) and protocols fix as well.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from pydantic import BaseModel

from spotter.config import NOT_THE_GAME, EnvConfig, RewardConfig
from spotter.config.layers import protocol_layer
from spotter.envs.base import family
from spotter.envs.naming import action_names
from spotter.types import UserError

Facts = dict[str, dict[str, Any]]
_LENGTH: Final = 16


def facts(env: EnvConfig, reward: RewardConfig) -> Facts:
    """All that the fingerprint is made from, as plain data."""
    env = env.of_family()
    game = _settings(env)
    lasting = [_plain(wrapper) for wrapper in env.wrappers if not wrapper.train_only]
    passing = [_plain(wrapper) for wrapper in env.wrappers if wrapper.train_only]
    training = {name: game.pop(name) for name in env.training_only if name in game}
    if env.demo is not None:
        way = _hash({"demo": {"actions": env.demo.actions}})  # it may be long
        training["demo"] = _plain(env.demo) | {"actions": way}
    return {
        "game": {**game, "wrappers": lasting},
        "training": {**training, "wrappers": passing, "clip": _tidy(reward.clip)},
    }


def _settings(env: EnvConfig) -> dict[str, object]:
    """The section without what does not count; the family's own settings as it resolves them."""
    module: object = family(env)
    game = _plain(env.model_copy(update={"family": env.family or "gymnasium"}))
    for name in ("protocol", "wrappers", *NOT_THE_GAME):
        del game[name]
    del game["demo"]  # which is for training only
    for name in ("drop", "previous_action", "previous_reward"):
        if not game[name]:  # as before there was such a setting: fingerprints stay
            del game[name]
    resolve = vars(module).get("settings")
    if resolve is None:
        return game
    own = type(env).model_fields.keys() - EnvConfig.model_fields.keys()
    return {name: v for name, v in game.items() if name not in own} | _plain(resolve(env))


def _plain(settings: Any) -> dict[str, object]:
    """A model, a dataclass or a map as JSON would hold it."""
    if isinstance(settings, BaseModel):
        settings = settings.model_dump(mode="json", by_alias=True)
    elif is_dataclass(settings) and not isinstance(settings, type):
        settings = asdict(settings)
    plain = _tidy(json.loads(json.dumps(dict(settings), default=str)))
    assert isinstance(plain, dict)
    return plain


def _tidy(value: object) -> object:
    """0.0 is 0: the same number gives the same hash, however it was written."""
    if isinstance(value, dict):
        return {key: _tidy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_tidy(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def fingerprint(env: EnvConfig, reward: RewardConfig) -> str:
    return _hash(facts(env, reward))


def _hash(data: Facts) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def protocol_name(env: EnvConfig, reward: RewardConfig) -> str:
    """`deepmind2015`, `deepmind2015, changed: sticky`; empty without a protocol."""
    if env.protocol is None:
        return ""
    try:
        changed = sorted(_changed(env.of_family(), reward))
    except UserError:
        return f"{env.protocol}, unknown here"  # a run from elsewhere, or the file has gone
    return f"{env.protocol}, changed: {', '.join(changed)}" if changed else env.protocol


def _changed(env: EnvConfig, reward: RewardConfig) -> Iterator[str]:
    """Settings that are not as the protocol has them; those of `reward` with their section."""
    assert env.protocol is not None
    wanted = protocol_layer(env.protocol, env.family).values
    for section, now, prefix in (("env", env, ""), ("reward", reward, "reward.")):
        written = wanted.get(section, {})
        named = {"family": env.family} if section == "env" else {}
        meant, is_now = _plain(type(now).from_data({**named, **written})), _plain(now)
        yield from (f"{prefix}{name}" for name in written if meant[name] != is_now[name])


def card(env: EnvConfig, reward: RewardConfig) -> dict[str, object]:
    """What is kept with a run and each of its checkpoints."""
    known = facts(env, reward)
    return {
        "fingerprint": _hash(known),
        "protocol": protocol_name(env, reward),
        "facts": known,
        "actions": list(action_names(env)),
    }


def unlike_actions(was: Mapping[str, Any], env: EnvConfig) -> str:
    """Why a policy's choices would mean other things here, as a clause; empty if they do not.

    `was` is the card of the policy's own game.
    """
    before, now = tuple(was.get("actions") or ()), action_names(env)
    if not before or not now or before == now:
        return ""
    return f"its actions were {', '.join(before)}; here they are {', '.join(now)}"
