"""Keys as actions: every family, several at once."""

import numpy as np
import pytest

from spotter.config import resolve
from spotter.envs.make import EnvBuilder
from spotter.episodes.keys import Keyboard, buttons_of, key_name, keyboard
from spotter.types import UserError


def keys_of(address: str, overrides=None, changes=()) -> tuple[Keyboard, tuple[str, ...]]:
    """The keyboard of a recipe, and the names of its actions."""
    from spotter.envs.naming import action_names

    env = resolve(address, changes).config.env
    instance = EnvBuilder(env, training=False).build()
    try:
        bare, space = instance.meter.action_space, instance.env.action_space
        return keyboard(env, bare, space, instance.spaces.action, overrides), action_names(env)
    finally:
        instance.close()


def name_of(address: str, *pressed: str, changes=()) -> str | None:
    keys, names = keys_of(address, changes=changes)
    action = keys.action(frozenset(pressed))
    return None if action is None else names[int(action)]


def test_one_word_per_key_whoever_names_it():
    assert [key_name(raw) for raw in ("ArrowUp", "up", " ", "Control", "left ctrl", "W")] == [
        "up", "up", "space", "ctrl", "ctrl", "w",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "buttons"),
    [
        ("uprightfire", {"up", "right", "fire"}),
        ("noop", set()),
        ("move_forward+attack", {"move_forward", "attack"}),
        ("right + a", {"right", "a"}),
        ("torque +1", {"torque +1"}),
        ("pick up", {"pick up"}),
    ],
)
def test_names_of_actions_say_which_buttons_they_hold(name, buttons):
    assert buttons_of(name) == buttons


def test_arrows_and_space_for_atari():
    full = ["env.full_actions=true"]
    address = "ALE/Breakout-v5"
    assert name_of(address, "up", "right", "space", changes=full) == "uprightfire"
    assert name_of(address, "down", changes=full) == "down"
    assert name_of(address, "left", "right", "space", changes=full) == "fire"
    assert name_of(address, changes=full) == "noop"


def test_atari_without_that_very_combination_takes_what_holds_most_of_it():
    assert name_of("ALE/Breakout-v5", "left", "space") in ("left", "fire")
    assert name_of("ALE/Pong-v5", "up", "space") == "rightfire"  # right is up in Pong


def test_wasd_and_arrows_for_doom_combinations():
    address = "VizDoom/DeadlyCorridor"
    held = name_of(address, "w", "left", "space")
    assert held is not None and set(held.split("+")) == {"move_forward", "turn_left", "attack"}
    assert name_of(address, "a") == "move_left"
    assert name_of(address, "d", "ctrl") == "move_right+attack"
    assert name_of(address) == "nothing"


def test_doom_buttons_by_themselves_and_in_groups():
    binary, names = keys_of("VizDoom/DeadlyCorridor", changes=["env.actions=binary"])
    pressed = binary.action(frozenset({"w", "space"}))
    assert {names[i] for i in np.flatnonzero(pressed)} == {"move_forward", "attack"}
    groups, names = keys_of("VizDoom/DeadlyCorridor", changes=["env.actions=groups"])
    choice = groups.action(frozenset({"s", "right"}))
    said = {name.split("/")[c - 1] for name, c in zip(names, choice, strict=True) if c}
    assert said == {"move_backward", "turn_right"}


def test_retro_buttons():
    address = "Retro/Airstriker-Genesis"
    assert name_of(address, "left", "b") == "left+b"
    assert name_of(address, "space") == "b"


def test_classic_control_and_toy_text():
    assert name_of("CartPole-v1", "left") == "push left"
    assert name_of("CartPole-v1", "right") == "push right"
    assert name_of("CartPole-v1") is None
    assert name_of("MountainCar-v0") == "coast"
    assert name_of("Acrobot-v1", "right") == "torque +1"
    assert name_of("FrozenLake-v1", "up") == "up"
    assert name_of("Taxi-v4", "p") == "pick up"
    assert name_of("Taxi-v4", "d") == "drop off"


def test_digits_and_then_letters_for_bandits():
    means = ["env.kwargs.means=[" + ",".join(["0"] * 12) + "]"]
    assert name_of("Bandit-v0", "1") == "arm 0"
    assert name_of("Bandit-v0", "9") == "arm 8"
    keys, names = keys_of("Bandit-v0", changes=means)
    reached = {names[int(keys.action(frozenset({key})))] for key in keys.presses}
    assert reached == set(names) and len(names) == 12


def test_arrows_set_the_extremes_of_axes():
    keys, _ = keys_of("Pendulum-v1")
    assert [keys.action(frozenset(held)).tolist() for held in ((), {"left"}, {"right"})] == [
        [0.0], [-1.0], [1.0],
    ]  # fmt: skip
    assert keys.action(frozenset({"left", "right"})).tolist() == [0.0]
    lander, _ = keys_of("LunarLanderContinuous-v3")
    assert lander.action(frozenset({"up", "left"})).tolist() == [1.0, -1.0]
    car, _ = keys_of("CarRacing-v3")  # gas and brake rest at their lowest
    assert car.action(frozenset({"left", "up"})).tolist() == [-1.0, 1.0, -1.0]
    assert car.action(frozenset({"down"})).tolist() == [0.0, -1.0, 1.0]


def test_after_an_action_map_keys_follow_the_names():
    changes = ["env.wrappers=[{name: action_map, mapping: [3, 0]}]"]
    assert name_of("FrozenLake-v1", "up", changes=changes) == "up"
    keys, _ = keys_of("FrozenLake-v1", changes=changes)
    assert int(keys.action(frozenset({"up"}))) == 0
    assert keys.action(frozenset({"down"})) is None


def test_keys_of_ones_own():
    keys, names = keys_of("Taxi-v4", {"K": "pick up", "j": 0})
    assert names[int(keys.action(frozenset({"k"})))] == "pick up"
    assert names[int(keys.action(frozenset({"j"})))] == "south"
    with pytest.raises(UserError, match=r"'pik up'.*pick up"):
        keys_of("Taxi-v4", {"k": "pik up"})


def test_the_legend_names_every_key_once():
    keys, _ = keys_of("ALE/Pong-v5")
    legend = {what: held for held, what in keys.legend()}
    assert set(legend) == {"left", "right", "fire"}
    assert "space" in legend["fire"]
