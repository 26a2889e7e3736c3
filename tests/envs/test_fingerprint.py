"""The fingerprint: unlike where scores mean something else, alike where they do not."""

import json

import pytest

from spotter.config import EnvConfig, RewardConfig, resolve
from spotter.envs.families.atari import Config as Atari
from spotter.envs.fingerprint import card, facts, fingerprint, protocol_name, unlike_actions
from tests.config.fake_family import Config

FAMILY = "tests.config.fake_family"
REWARD = RewardConfig()
PONG = {"id": "ALE/Pong-v5", "family": "atari"}


def game(**fields) -> Config:
    return Config(id="CartPole-v1", family=FAMILY, **fields)


def cart(**fields) -> EnvConfig:
    return EnvConfig(id="CartPole-v1", family="classic", **fields)


def test_p19_fingerprint_differs_when_sticky_differs():
    prints = {fingerprint(Atari(**PONG, sticky=sticky), REWARD) for sticky in (0.0, 0.25, 0.250001)}
    assert len(prints) == 3
    assert fingerprint(Atari(**PONG, sticky=0), REWARD) in prints


def test_every_setting_of_the_game_counts():
    sticky = {"name": "sticky_actions", "probability": 0.25}
    changes = [
        {},
        {"id": "CartPole-v0"},
        {"family": "gymnasium"},
        {"kwargs": {"sutton_barto_reward": True}},
        {"time_limit": 100},
        {"mask": False},
        {"wrappers": [sticky]},
        {"wrappers": [{**sticky, "probability": 0.5}]},
        {"wrappers": [{**sticky, "train_only": True}]},
        {"wrappers": [sticky, sticky]},
    ]
    games = [EnvConfig.model_validate({**cart().model_dump(), **change}) for change in changes]
    assert len({fingerprint(one, REWARD) for one in games}) == len(changes)


@pytest.mark.parametrize(
    "fields",
    [{"count": 3}, {"backend": "sync"}, {"threshold": 3.0}, {"restarts": 0}, {"timeout_s": None}],
)
def test_how_copies_are_run_does_not(fields):
    assert fingerprint(cart(**fields), REWARD) == fingerprint(cart(), REWARD)


def test_rewards_count_where_protocols_fix_them():
    assert fingerprint(cart(), RewardConfig(clip=1.0)) != fingerprint(cart(), REWARD)
    assert fingerprint(cart(), RewardConfig(scale=2.0)) == fingerprint(cart(), REWARD)


def test_the_game_and_what_only_the_learner_sees_are_apart():
    noise = {"name": "sticky_actions", "probability": 0.25}
    known = facts(cart(wrappers=[noise, {**noise, "train_only": True}]), RewardConfig(clip=1.0))
    assert len(known["game"]["wrappers"]) == len(known["training"]["wrappers"]) == 1
    assert known["training"]["clip"] == 1
    assert known["game"]["id"] == "CartPole-v1"
    json.dumps(known)


def test_settings_of_the_family_that_evaluation_leaves_out(monkeypatch):
    monkeypatch.setattr(Config, "training_only", ("sticky",))
    known = facts(game(sticky=0.5), REWARD)
    assert known["training"]["sticky"] == 0.5
    assert "sticky" not in known["game"]


def test_the_family_says_what_is_in_force():
    known = facts(game(skill=4, names=("a", "b")), REWARD)["game"]
    assert (known["skill"], known["rounds"]) == (4, 2)
    assert "names" not in known, "what the family resolves takes the place of its fields"


def test_a_plain_config_is_the_family_s_with_its_defaults():
    plain = EnvConfig(id="CartPole-v1", family=FAMILY)
    assert fingerprint(plain, REWARD) == fingerprint(game(), REWARD)


def test_the_same_number_however_it_is_written():
    kwargs = [{"x": 1, "y": [2]}, {"y": [2.0], "x": 1.0}]
    assert len({fingerprint(cart(kwargs=given), REWARD) for given in kwargs}) == 1


@pytest.fixture
def freeway(folder):
    """A game whose recipe says nothing."""
    path = folder("recipes/ALE/Freeway-v5.yaml", "family: atari\nvariants: {ppo: {}}\n")
    return lambda *overrides: resolve(str(path), overrides).config


def test_the_name_says_whether_the_protocol_is_in_force(freeway):
    def named(*overrides) -> str:
        config = freeway(*overrides)
        return protocol_name(config.env, config.reward)

    assert named() == "ale-v5", "what games have without a recipe"
    assert named("env.protocol=null") == ""
    assert named("env.protocol=deepmind2015") == "deepmind2015"
    assert named("env.protocol=deepmind2015", "env.count=3", "algo.lr=1e-3") == "deepmind2015"
    changes = ("env.sticky=0.5", "env.size=[64, 64]", "reward.clip=null")
    assert named("env.protocol=deepmind2015", *changes) == (
        "deepmind2015, changed: reward.clip, size, sticky"
    )
    assert named("env.protocol=machado2018", "env.sticky=0.25", "env.size=[84, 84]") == (
        "machado2018"
    )


def test_a_protocol_by_name_is_the_same_as_spelt_out(freeway):
    config = freeway("env.protocol=machado2018")
    spelt = config.env.model_copy(update={"protocol": None})
    assert fingerprint(spelt, config.reward) == fingerprint(config.env, config.reward)
    other = freeway("env.protocol=deepmind2015")
    assert fingerprint(other.env, other.reward) != fingerprint(spelt, config.reward)


def test_a_protocol_that_is_not_here():
    away = game(protocol="theirs")
    assert protocol_name(away, REWARD) == "theirs, unknown here"


def test_p23_action_names_are_kept_and_matched():
    pong = Atari(**PONG)
    kept = card(pong, REWARD)
    assert kept["actions"] == ["noop", "fire", "right", "left", "rightfire", "leftfire"]
    assert unlike_actions(kept, pong) == ""
    clause = unlike_actions(kept, Atari(**PONG, full_actions=True))
    assert clause.startswith("its actions were noop, fire, right, left, rightfire, leftfire; here")
    assert unlike_actions({}, pong) == "", "older checkpoints kept none"
    swapped = game(names=("right", "left"))
    assert unlike_actions(card(game(), REWARD), swapped) == (
        "its actions were left, right; here they are right, left"
    )
