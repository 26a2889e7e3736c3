"""Every amount that Doom can be played for is paid by a real game (DOOM-02)."""

import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.local import LocalVector
from spotter.envs.families import vizdoom
from spotter.envs.make import EnvBuilder
from spotter.types import UserError

pytest.importorskip("vizdoom")

FIGHT = ("kills", "hits", "damage", "hits_taken", "damage_taken", "health", "ammo", "shots")


def signals(*names):
    parts = [{"name": name, "source": "doom", "what": name} for name in names]
    return RewardConfig(signals=parts).signals


def doom(name, **settings):
    return vizdoom.Config(id=f"VizDoom/{name}", family="vizdoom", stack=1, **settings)


def test_a_fight_pays_them_all():
    """Turning and shooting until the end; the sums are what the game itself says."""
    recipe = EnvBuilder(doom("DefendTheCenter"), signals(*FIGHT))
    with LocalVector(recipe.build, 1) as vector:
        vector.reset([3])
        turn_and_shoot = vizdoom.describe(doom("DefendTheCenter")).action_names.index(
            "turn_left+attack"
        )
        totals, episodes = np.zeros(len(FIGHT)), []
        while not episodes:
            episodes = vector.step(np.array([turn_and_shoot]))
            totals += vector.buffers.signals[0]
    paid = dict(zip(FIGHT, totals.tolist(), strict=True))
    (episode,) = episodes
    assert paid["kills"] == episode.info["kills/last"] >= 1
    assert episode.score == paid["kills"] - episode.terminated
    assert paid["hits"] >= paid["kills"] and paid["damage"] > paid["hits"]
    assert paid["damage_taken"] > 0 and paid["hits_taken"] > 0
    assert paid["health"] == episode.info["health/last"] - 100 < 0
    assert paid["shots"] == -paid["ammo"] == 26 - episode.info["ammo/last"] > 5


@pytest.fixture(scope="module")
def mapped():
    """A whole map, on which things can be conjured up."""
    recipe = EnvBuilder(
        doom("E1M1", buttons=["MOVE_FORWARD", "SPEED", "SELECT_WEAPON1", "ATTACK"]),
        signals("armour", "items", "health", "distance", "ammo", "shots"),
    )
    instance = recipe.build()
    yield instance
    instance.close()


def test_armour_items_and_health_are_paid_when_found(mapped):
    def told(command, action, decisions):
        game.send_game_command(command)
        for _ in range(decisions):
            mapped.env.step(action)
        return dict(zip(("armour", "items", "health"), mapped.meter.values, strict=False))

    game = mapped.env.unwrapped.engine.game
    mapped.env.reset(seed=1)
    assert told("give GreenArmor", 0, 1)["armour"] == 100
    found = told("summon HealthBonus", 1, 10)  # before the player, who walks into it
    assert (found["items"], found["health"]) == (1, 1)


def test_the_way_walked_is_paid_and_teleporting_is_not(mapped):
    def way(action, decisions):
        before = mapped.meter.values[3]
        for _ in range(decisions):
            mapped.env.step(action)
        return mapped.meter.values[3] - before

    mapped.env.reset(seed=1)
    start = mapped.env.step(0)[4]["doom"]
    walked, (_, *_, info) = way(1, 8), mapped.env.step(1)
    now = info["doom"]
    assert walked > 50 and now["x"] - start["x"] >= walked
    while way(0, 1):
        pass
    assert way(0, 4) == 0, "who stands still gets nothing"
    mapped.env.unwrapped.engine.game.send_game_command("warp 832 584")
    assert way(0, 2) == 0
    assert mapped.env.step(0)[4]["doom"]["x"] == 832


def test_taking_another_weapon_is_no_loss_of_ammunition(mapped):
    mapped.env.reset(seed=1)
    for _ in range(10):
        info = mapped.env.step(3)[4]["doom"]
    assert info["weapon"] == 1.0 and info["ammo"] != 50, "the fist has none"
    assert mapped.meter.values[4] == mapped.meter.values[5] == 0


def test_other_games_have_none_of_it():
    recipe = EnvBuilder(EnvConfig(id="CartPole-v1", family="classic"), signals("kills"))
    instance = recipe.build()
    with pytest.raises(UserError, match="only environments of the family vizdoom have it"):
        instance.env.reset(seed=1)
    instance.close()
