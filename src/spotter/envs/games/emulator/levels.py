"""Starting points of Super Mario Bros. that stable-retro has no file for, made by the game itself.

It begins where three of its bytes say (world, stage, area), so they are written while the title
screen is left: the way gym-super-mario-bros takes. A cartridge that never gets there is refused.
"""

from typing import Any, Final

import numpy as np

LEVELS: Final[dict[str, tuple[str, ...]]] = {
    "SuperMarioBros-Nes": tuple(
        f"Level{world}-{stage}" for world in range(1, 9) for stage in range(1, 5)
    )
}
_WORLD, _STAGE, _AREA, _WAIT = 0x075F, 0x075C, 0x0760, 0x07A0
_CUT_SCENES: Final = (1, 2, 4, 7)
"""Worlds in which the walk into a pipe before the second stage counts as an area."""
_PATIENCE: Final = 600  # presses of START


def play_to(state: str, emulator: object, data: Any, buttons: list[str | None]) -> bytes:
    """The state in which control of a level begins; the console has just been switched on."""
    world, stage = (int(number) for number in state.removeprefix("Level").split("-"))
    area = stage + (stage >= 2 and world in _CUT_SCENES)
    start = np.array([button == "START" for button in buttons], np.uint8)
    nothing = np.zeros_like(start)
    _frame(emulator, data, start)
    _frame(emulator, data, nothing)
    for _ in range(_PATIENCE):
        _frame(emulator, data, start)
        for address, number in ((_WORLD, world), (_STAGE, stage), (_AREA, area)):
            data.memory.assign(address, "|u1", number - 1)
        _frame(emulator, data, nothing)
        data.memory.assign(_WAIT, "|u1", 0)  # the screen that says how many lives are left
        if data.lookup_value("time") > 0:
            return _when_the_clock_runs(emulator, data, nothing)
    raise RuntimeError(f"this cartridge does not start {state} when requested")


def _when_the_clock_runs(emulator: Any, data: Any, nothing: object) -> bytes:
    before = data.lookup_value("time")
    for _ in range(_PATIENCE):
        _frame(emulator, data, nothing)
        if data.lookup_value("time") < before:
            break
    return bytes(emulator.get_state())


def _frame(emulator: Any, data: Any, pressed: object) -> None:
    emulator.set_button_mask(pressed, 0)
    emulator.step()
    data.update_ram()
