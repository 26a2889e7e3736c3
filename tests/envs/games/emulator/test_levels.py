"""Levels that no file holds, on a cartridge of our own that starts where Mario's does."""

import gzip

import pytest

from spotter.envs.families import retro
from spotter.envs.games.emulator import levels
from spotter.envs.games.emulator.console import ConsoleError

MARIO = "Retro/SuperMarioBros-Nes"


def first_numbers(shelf, state):
    game = retro.make(retro.Config(id=MARIO, family="retro", folder=str(shelf), state=state))
    try:
        return game.reset(seed=0)[1], game.save()["console"][0]
    finally:
        game.close()


@pytest.mark.parametrize(("state", "world", "stage"), [("Level1-2", 0, 1), ("Level8-4", 7, 3)])
def test_a_level_is_played_to(shelf, state, world, stage):
    numbers, _ = first_numbers(shelf, state)
    assert (numbers["levelHi"], numbers["levelLo"]) == (world, stage)
    assert numbers["time"] in (398, 399), "control begins with the clock"
    assert numbers["lives"] == 2 and numbers["xscrollLo"] == 0


def test_a_state_can_be_kept_and_begun_from(shelf, tmp_path):
    numbers, saved = first_numbers(shelf, "Level3-1")
    mine = tmp_path / "Mine.state"
    mine.write_bytes(gzip.compress(saved))
    assert first_numbers(shelf, str(mine))[0] == numbers


def test_the_walk_into_the_pipe_counts_as_an_area():
    """1-2 begins outside, with the third of the world's areas; 3-2 does not."""
    for state, area in (("Level1-1", 0), ("Level1-2", 2), ("Level3-2", 1), ("Level7-4", 4)):
        memory = Memory()
        levels.play_to(state, memory, memory, ["B", None, "SELECT", "START"])
        assert memory.written[0x0760] == area


class Memory:
    """An emulator, its data and their memory, in which only the writing is real."""

    def __init__(self):
        self.written, self.frames, self.memory = {}, 0, self

    def assign(self, address, kind, value):
        self.written[address] = value

    def step(self):
        self.frames += 1

    def lookup_value(self, name):
        return 0 if self.frames < 10 else 400 - self.frames

    def set_button_mask(self, mask, player): ...

    def update_ram(self): ...

    def get_state(self):
        return b""


def test_a_cartridge_that_does_not_obey_is_refused(tmp_path):
    from tests.envs.games.emulator import cartridge

    folder = cartridge.write(tmp_path) / cartridge.FOLDER
    deaf = cartridge.PROGRAM.replace("29 10", "29 00")  # START is never pressed
    (folder / "rom.nes").write_bytes(cartridge.rom(deaf))
    with pytest.raises(ConsoleError, match="does not start Level1-2 when requested"):
        first_numbers(tmp_path, "Level1-2")
