"""The Doom family: what it offers, how it looks, what it refuses."""

import math
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, recipes, resolve
from spotter.envs.base import family, threshold
from spotter.envs.families import vizdoom
from spotter.envs.fingerprint import fingerprint
from spotter.envs.games.doom import scenarios, wads
from spotter.testing.families import check_family, check_picture
from spotter.types import UserError

package = pytest.importorskip("vizdoom")

IDS = [f"VizDoom/{name}" for name in scenarios.SCENARIOS]
SILENT = ("SPEED", "STRAFE")  # change what others do


def doom(name="Basic", **settings):
    return vizdoom.Config(id=f"VizDoom/{name}", family="vizdoom", **settings)


@pytest.fixture(scope="module")
def basic():
    env = vizdoom.make(doom(stack=3))
    yield env
    env.close()


def test_family():
    check_family(doom("DefendTheCenter", variables=["health", "AMMO2"], stack=2))
    check_picture(doom())


def test_a_plain_config_gets_the_defaults():
    plain = EnvConfig(id="VizDoom/Basic", family="vizdoom")
    assert vizdoom.settings(plain) == vizdoom.settings(doom())


def test_ids_find_family_and_gymnasium():
    assert recipes.family_of("VizDoom/TakeCover") == "vizdoom"
    assert all(gym.spec(env_id).entry_point.startswith("spotter.") for env_id in IDS)
    with gym.make("VizDoom/Basic", stack=1, render_mode="rgb_array") as env:
        assert env.observation_space.shape == (1, 60, 80)


def test_recipe_names_its_protocol():
    config = resolve("VizDoom/Basic:ppo").config
    assert isinstance(config.env, vizdoom.Config) and config.env.protocol == "doom-basic"
    assert vizdoom.settings(config.env)["actions"] == "combinations"
    assert resolve("VizDoom/Basic:ppo", ["env.skill=2"]).config.env.skill == 2


def test_description():
    info = family(doom()).describe(doom())
    assert info.action_names == (
        *("nothing", "move_left", "move_right", "attack"),
        *("move_left+attack", "move_right+attack"),
    )
    assert info.keys == {"left": 1, "right": 2, "a": 1, "d": 2, "space": 3}
    assert threshold(doom()) == 80.0
    shown = vizdoom.describe(doom("DefendTheLine", variables=["health"], actions="binary"))
    assert shown.action_names == ("turn_left", "turn_right", "attack") and not shown.keys
    assert shown.observation_names == ("last 4 frames", "health")


def test_settings_are_resolved_for_the_fingerprint():
    resolved = vizdoom.settings(doom())
    assert (resolved["skill"], resolved["tic_cap"], resolved["map"]) == (5, 300, "MAP01")
    assert resolved["buttons"] == ("MOVE_LEFT", "MOVE_RIGHT", "ATTACK")
    reward = RewardConfig()
    same = fingerprint(doom(), reward)
    assert fingerprint(doom(skill=5, tic_cap=300), reward) == same, "as the scenario has it"
    for other in ({"skill": 4}, {"frame_skip": 3}, {"stack": 1}, {"actions": "binary"}):
        assert fingerprint(doom(**other), reward) != same


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"buttons": ["ATACK"]}, "no button 'ATACK'; did you mean 'ATTACK'?"),
        ({"buttons": ["ATTACK", "attack"]}, "ATTACK is there twice"),
        ({"buttons": ["TURN_LEFT_RIGHT_DELTA"]}, "no button 'TURN_LEFT_RIGHT_DELTA'; did you mean"),
        ({"variables": ["helth"]}, "no variable 'helth'; did you mean 'health'?"),
        ({"map": "MAP02"}, "basic.wad has no map 'MAP02'; did you mean 'MAP01'?"),
        ({"wad": "nowhere.wad"}, "there is no file"),
        ({"kwargs": {"skill": 3}}, "takes no env.kwargs; its settings are env.skill"),
    ],
)
def test_mistakes_are_one_sentence(settings, says):
    with pytest.raises(UserError) as caught:
        vizdoom.make(doom(**settings))
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"skill": 6}, {"stack": 80}, {"size": [0, 9]}, {"sice": 1}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        doom(**wrong)


def test_unknown_ids_name_the_nearest():
    with pytest.raises(UserError, match="did you mean 'VizDoom/TakeCover'"):
        vizdoom.make(doom("TakeCovr"))


@pytest.mark.parametrize(
    ("look", "shape"),
    [
        ({"stack": 1}, (1, 60, 80)),
        ({"stack": 1, "grey": False}, (3, 60, 80)),
        ({"stack": 2, "grey": False, "size": None}, (6, 120, 160)),
        ({"stack": 1, "size": [36, 48], "resolution": "320x240"}, (1, 36, 48)),
    ],
    ids=["one picture", "colour", "as drawn", "smaller"],
)
def test_looks(look, shape):
    env = vizdoom.make(doom(**look))
    try:
        obs, _ = env.reset(seed=1)
        assert obs.shape == env.observation_space.shape == shape and obs.dtype == np.uint8
        channels = len(obs) // look["stack"]
        same = [
            (obs[:channels] == obs[i : i + channels]).all() for i in range(0, len(obs), channels)
        ]
        assert all(same), "the first stack repeats the first picture"
        assert 20 < obs.mean() < 200 and obs.std() > 5, "there is something to see"
    finally:
        env.close()


def test_the_newest_picture_is_last_and_nothing_is_aliased(basic):
    first, _ = basic.reset(seed=3)
    kept = first.copy()
    second, *_ = basic.step(1)
    third, *_ = basic.step(1)
    assert (first == kept).all()
    assert (second[-1] != first[-1]).any() and (second[:-1] == first[1:]).all()
    assert (third[:-1] == second[1:]).all()


def test_watching_changes_no_observation():
    """A coloured screen is asked for then, and turned grey here."""
    plain, watched = vizdoom.make(doom()), vizdoom.make(doom(), render=True)
    try:
        a, b = plain.reset(seed=5)[0], watched.reset(seed=5)[0]
        draw = np.random.default_rng(0)
        for _ in range(40):
            assert (a == b).all()
            action = int(draw.integers(6))
            (a, *_, cut, _), (b, *_) = plain.step(action), watched.step(action)
            if cut or plain.engine.is_over():
                a, b = plain.reset()[0], watched.reset()[0]
        screen = watched.render()
        assert screen.shape == (120, 160, 3) and (screen[..., 0] != screen[..., 2]).any()
        assert plain.render() is None
    finally:
        plain.close()
        watched.close()


def test_variables_are_inputs_and_info():
    env = vizdoom.make(doom(stack=1, variables=["ammo", "POSITION_Y"]))
    try:
        obs, info = env.reset(seed=1)
        assert obs["picture"].shape == (1, 60, 80)
        assert obs["variables"].tolist() == [50.0, pytest.approx(info["doom"]["y"])]
        for _ in range(4):
            obs, *_, info = env.step(3)
        assert obs["variables"][0] == info["ammo"] == info["doom"]["ammo"] < 50
        assert info["health"] == 100.0 and info["kills"] in (0.0, 1.0)
    finally:
        env.close()


# --- buttons do what they are called ----------------------------------------------------------


@pytest.mark.parametrize("env_id", IDS)
def test_every_scenario_plays_and_its_buttons_do_what_they_are_called(env_id):
    name = env_id.removeprefix("VizDoom/")
    kind = "binary" if name in ("Deathmatch", "E1M1") else "combinations"
    config = doom(name, actions=kind, stack=1)
    names, env = vizdoom.describe(config).action_names, vizdoom.make(config)
    try:
        for button in vizdoom.settings(config)["buttons"]:
            if button in SILENT or button.startswith("SELECT_"):
                continue
            single = names.index(button.lower())
            action = np.eye(len(names), dtype=np.int8)[single] if kind == "binary" else single
            done = pressed(env, action)
            assert EFFECTS[button](done), f"{env_id}: {button} did {done}"
    finally:
        env.close()


def pressed(env, action, decisions=10):
    """What has changed, seen from where the player looked at first."""
    env.reset(seed=7)
    env.step(np.zeros_like(action) if isinstance(action, np.ndarray) else 0)
    before = env.step(np.zeros_like(action) if isinstance(action, np.ndarray) else 0)[4]["doom"]
    for _ in range(decisions):
        *_, over, _, info = env.step(action)
        if over:
            break
    now, looks = info["doom"], math.radians(before["angle"])
    x, y = now["x"] - before["x"], now["y"] - before["y"]
    # that scenario hands out a bullet in every tic
    gifts = now["tics"] - before["tics"] if "DefendTheLine" in env.spec.id else 0
    return {
        "ahead": x * math.cos(looks) + y * math.sin(looks),
        "left": y * math.cos(looks) - x * math.sin(looks),
        "turn": (now["angle"] - before["angle"] + 180) % 360 - 180,
        # DefendTheLine hands out a bullet in every tic
        "ammo": now["ammo"] - before["ammo"] - gifts,
    }


EFFECTS = {
    "MOVE_FORWARD": lambda done: done["ahead"] > 8 and abs(done["turn"]) < 1,
    "MOVE_BACKWARD": lambda done: done["ahead"] < -8 and abs(done["turn"]) < 1,
    "MOVE_LEFT": lambda done: done["left"] > 8 and abs(done["turn"]) < 1,
    "MOVE_RIGHT": lambda done: done["left"] < -8 and abs(done["turn"]) < 1,
    "TURN_LEFT": lambda done: done["turn"] > 8,
    "TURN_RIGHT": lambda done: done["turn"] < -8,
    "ATTACK": lambda done: done["ammo"] < 0 and abs(done["turn"]) < 1,
    "USE": lambda done: done["ammo"] == 0 and abs(done["turn"]) < 1,  # see the door below
}


def test_buttons_that_change_others():
    chosen = ["MOVE_FORWARD", "SPEED", "TURN_LEFT", "STRAFE", "SELECT_WEAPON1"]
    config = doom("E1M1", buttons=chosen, actions="binary")
    env = vizdoom.make(config)
    try:
        forward, speed, turn, strafe, fist = np.eye(5, dtype=np.int8)
        walked, ran = pressed(env, forward), pressed(env, forward + speed)
        assert ran["ahead"] > 1.3 * walked["ahead"] > 0
        aside = pressed(env, turn + strafe)
        assert aside["left"] > 8 and aside["turn"] == 0, "held, STRAFE turns turning into stepping"
        pressed(env, fist)
        assert env.step(fist)[4]["doom"]["weapon"] == 1.0
    finally:
        env.close()


def test_groups_exclude_opposites_and_press_what_they_say():
    config = doom("DeadlyCorridor", actions="groups", stack=1)
    names, env = vizdoom.describe(config).action_names, vizdoom.make(config)
    try:
        assert names == (
            *("move_left/move_right", "attack"),
            *("move_forward/move_backward", "turn_left/turn_right"),
        )
        assert env.action_space.nvec.tolist() == [3, 2, 3, 3]
        done = pressed(env, np.array([2, 0, 1, 0]), decisions=4)
        assert done["left"] < -4 and done["ahead"] > 4 and done["ammo"] == 0
    finally:
        env.close()


# --- whole maps -------------------------------------------------------------------------------


def test_whole_maps_offer_use_and_doors_open():
    """DOOM-01. The player is put before a door and pulls it open."""
    config = doom("E1M1", buttons=["TURN_LEFT", "USE"], frame_skip=1, stack=1)
    assert "USE" in vizdoom.settings(doom("E1M1"))["buttons"]
    env = vizdoom.make(config)
    game, door = env.engine.game, 48
    game.set_sectors_info_enabled(True)

    def height():
        return game.get_state().sectors[door].ceiling_height

    try:
        env.reset(seed=1)
        game.send_game_command("warp 504 712")  # looking east, as at the start
        for _ in range(15):
            env.step(0)
        closed = height()
        assert closed == game.get_state().sectors[door].floor_height
        env.step(2)
        for _ in range(15):
            env.step(0)
        assert height() > closed + 20
    finally:
        env.close()


def test_maps_are_chosen_by_name(tmp_path):
    folder = Path(package.__file__).parent
    assert scenarios.place("VizDoom/E1M1", "", "").map == "E1M1"
    assert scenarios.place("VizDoom/E1M1", "", "map03").game.name == "freedoom2.wad"
    own = scenarios.place("VizDoom/E1M1", str(folder / "freedoom2.wad"), "")
    assert (own.game.name, own.extra, own.map) == ("freedoom2.wad", None, "MAP01")
    extra = scenarios.place("VizDoom/E1M1", str(folder / "scenarios" / "cig.wad"), "MAP02")
    assert (extra.game.name, extra.extra.name, extra.map) == ("freedoom2.wad", "cig.wad", "MAP02")
    with pytest.raises(UserError, match="has no map 'E1M0'; did you mean 'E1M"):
        scenarios.place("VizDoom/E1M1", "", "E1M0")
    with pytest.raises(UserError, match=r"can be played with doom2.wad only"):
        scenarios.place("VizDoom/Basic", str(folder / "freedoom1.wad"), "")
    for content in (b"", b"IWAD", b"PK\3\4" + bytes(20), b"PWAD\xff\0\0\0\0\0\0\0"):
        (tmp_path / "no.wad").write_bytes(content)
        with pytest.raises(UserError, match="is no WAD file"):
            wads.read(tmp_path / "no.wad")


def test_another_map_of_a_wad_is_played():
    file = Path(package.__file__).parent / "freedoom2.wad"
    env = vizdoom.make(doom("E1M1", wad=str(file), map="MAP02", stack=1))
    try:
        _, info = env.reset(seed=1)
        assert env.engine.game.get_doom_map() == "MAP02" and info["health"] == 100.0
        assert (info["doom"]["x"], info["doom"]["y"]) != (-416.0, 256.0)
    finally:
        env.close()
