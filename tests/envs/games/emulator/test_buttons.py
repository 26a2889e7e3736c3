"""Combinations of buttons as actions."""

import pytest

from spotter.envs.games.emulator import buttons, games
from spotter.types import UserError

pytest.importorskip("stable_retro")


def combos(choice, name="Airstriker-Genesis"):
    return buttons.combos(choice, games.find(f"Retro/{name}"))


def test_well_known_games_have_their_own_set():
    assert ("RIGHT", "A", "B") in combos("simple", "SuperMarioBros-Nes")
    assert len(combos("simple")) == 6 and combos("simple")[0] == ()


@pytest.mark.parametrize(
    ("name", "count", "press"),
    [("Contra-Nes", 15, "B"), ("F1-Genesis", 20, "C"), ("ActRaiser2-Snes", 25, "Y"),
     ("Pong-Atari2600", 10, "BUTTON")],
)  # fmt: skip
def test_others_get_a_direction_a_button_or_both(name, count, press):
    found = combos("simple", name)
    assert len(found) == len(set(found)) == count
    assert {(), ("LEFT",), (press,), ("LEFT", press)} <= set(found)
    assert not {"START", "SELECT", "RESET"} & {button for combo in found for button in combo}


def test_all_there_are_leaves_out_what_nobody_can_press():
    found = combos("all", "SuperMarioBros-Nes")
    assert len(found) == len(set(found)) == 36
    assert not any({"LEFT", "RIGHT"} <= set(combo) for combo in found)


def test_one_s_own():
    assert combos(((), ("LEFT", "B"))) == ((), ("LEFT", "B"))


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ((("RIGT",),), "env.actions: Genesis has no button 'RIGT'; did you mean 'RIGHT'?"),
        ((("SELECT",),), "env.actions: Genesis has no button 'SELECT'"),
        ((("UP", "DOWN"),), "env.actions: UP and DOWN cannot be pressed together"),
        ((("A", "B"), ("B", "A")), "env.actions: two actions press the same buttons"),
    ],
)
def test_mistakes_are_one_sentence(choice, says):
    with pytest.raises(UserError) as caught:
        combos(choice)
    assert str(caught.value).startswith(says)


def test_names():
    assert [buttons.name(combo) for combo in ((), ("A",), ("RIGHT", "A"))] == [
        "nothing", "a", "right+a",
    ]  # fmt: skip
