"""What there is to play, without starting an emulator."""

import pytest

from spotter.envs.games.emulator import games
from spotter.types import UserError
from tests.envs.games.emulator import cartridge

pytest.importorskip("stable_retro")
AIRSTRIKER, MARIO = "Retro/Airstriker-Genesis", "Retro/SuperMarioBros-Nes"


def test_every_integration_is_a_game():
    names = games.names()
    assert len(names) > 1000 and "Airstriker-Genesis" in names
    assert not any(name[0] in "_." or name.endswith("-v0") for name in names)


def test_what_is_known_about_a_game():
    game = games.find(AIRSTRIKER)
    assert game.id == AIRSTRIKER and game.rom().name == "rom.md" and game.system() == "Genesis"
    assert game.variables() == ["gameover", "lives", "score"]
    assert game.states() == ["Level1"] and game.state("") == "Level1"
    assert game.scenario("scenario").name == "scenario.json"
    assert games.find(f"{AIRSTRIKER}-v0") == game, "stable-retro's own spelling is one, too"


def test_a_game_without_its_rom_is_known_but_for_the_rom():
    game = games.find(MARIO)
    assert game.system() == "Nes" and "xscrollLo" in game.variables()
    with pytest.raises(UserError, match=r"needs its ROM.* python -m stable_retro.import FOLDER"):
        game.rom()


def test_mario_s_levels_need_no_file():
    """stable-retro has files for ten of them; the game can be told to begin in any."""
    game = games.find(MARIO)
    assert {"Level1-1", "Level1-2", "Level8-4", "Level1-1-99lives"} <= set(game.states())
    assert game.state_file("Level1-1") is not None and game.state_file("Level1-2") is None


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: games.find("Retro/Airstriker-Gensis"),
         "unknown environment 'Retro/Airstriker-Gensis'; did you mean 'Retro/Airstriker-Genesis'?"),
        (lambda: games.find(MARIO).state("Level9-1"),
         "env.state: Retro/SuperMarioBros-Nes has no state 'Level9-1'; did you mean 'Level"),
        (lambda: games.find(AIRSTRIKER).state("nowhere.state"),
         "env.state: Retro/Airstriker-Genesis has no state 'nowhere.state'; known: Level1"),
        (lambda: games.find(AIRSTRIKER).scenario("data"),
         "env.scenario: Retro/Airstriker-Genesis has no scenario 'data'; known: scenario"),
        (lambda: games.find(AIRSTRIKER, "/no/such/folder"),
         "env.folder: there is no folder '/no/such/folder'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(ask, says):
    with pytest.raises(UserError) as caught:
        ask()
    assert str(caught.value).startswith(says)


def test_a_folder_of_one_s_own_comes_first(tmp_path):
    game = games.find(MARIO, str(cartridge.write(tmp_path)))
    assert game.rom().parent.parent == tmp_path
    assert game.variables(), "what it lacks is stable-retro's"
    (tmp_path / "Mine-Nes").mkdir()
    assert games.find("Retro/Mine-Nes", str(tmp_path)).name == "Mine-Nes"


def test_states_of_one_s_own(tmp_path):
    mine = tmp_path / "Boss.state"
    mine.write_bytes(b"")
    game = games.find(AIRSTRIKER)
    assert game.state_file(game.state(str(mine))) == mine
    assert game.state("none") == games.POWER_ON and game.state_file("none") is None


def test_a_game_whose_default_state_is_missing_begins_when_it_is_switched_on(tmp_path):
    folder = tmp_path / "Mine-Nes"
    folder.mkdir()
    (folder / "metadata.json").write_text('{"default_state": "Level1"}')
    game = games.find("Retro/Mine-Nes", str(tmp_path))
    assert game.state("") == games.POWER_ON
    (folder / "Level1.state").write_bytes(b"")
    assert game.state("") == "Level1"
