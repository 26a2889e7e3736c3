"""MuJoCo's robots: names read from the model, thresholds as registered, exact resume."""

import sys

import pytest

from spotter.config import recipes, resolve
from spotter.envs.families import mujoco
from spotter.types import UserError
from tests.envs.helpers import config

ROBOTS = sorted(mujoco._ABOUT)


def described(env_id, **kwargs):
    return mujoco.describe(config(env_id, "mujoco", kwargs=kwargs))


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_is_of_the_family_and_described(name):
    pytest.importorskip("mujoco")
    env_id = f"{name}-v5"
    assert recipes.family_of(env_id) == "mujoco"
    info = described(env_id)
    made = mujoco.make(config(env_id, "mujoco"))
    assert info.description.endswith(".")
    assert len(info.action_names) == made.action_space.shape[0]
    assert len(set(info.action_names)) == len(info.action_names)
    if info.observation_names:
        assert len(info.observation_names) == made.observation_space.shape[0]
    assert info.threshold == made.spec.reward_threshold


def test_names_are_those_of_the_joints_in_the_order_of_the_observation():
    pytest.importorskip("mujoco")
    hopper = described("Hopper-v5")
    assert hopper.action_names == ("thigh", "leg", "foot")
    assert hopper.observation_names[:3] == ("rootz", "rooty", "thigh")
    assert hopper.observation_names[-1] == "foot velocity"
    whole = described("Hopper-v5", exclude_current_positions_from_observation=False)
    assert whole.observation_names[0] == "rootx"
    ant = described("Ant-v5")
    assert ant.observation_names[:2] == ("root z", "root qw")
    assert ant.action_names[0] == "hip 4", "actuators have an order of their own"


def test_a_seed_and_actions_give_the_same_numbers_in_a_second_copy():
    pytest.importorskip("mujoco")
    first, second = (mujoco.make(config("Walker2d-v5", "mujoco")) for _ in range(2))
    second.reset(seed=9)
    for _ in range(20):  # what was played before must not matter
        second.step(second.action_space.sample())
    assert (first.reset(seed=1)[0] == second.reset(seed=1)[0]).all()
    for _ in range(50):
        action = first.action_space.sample()
        assert (first.step(action)[0] == second.step(action)[0]).all()


@pytest.mark.parametrize("missing", ["mujoco", "imageio"])
def test_what_is_missing_is_one_line_with_the_command(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UserError) as caught:
        mujoco.make(config("Hopper-v5", "mujoco"))
    assert str(caught.value).startswith(
        f"{missing} is not installed: pip install 'spotter-rl[mujoco]'"
    )
    assert not described("Hopper-v5").observation_names, "it is described as far as it goes"


def test_without_a_recipe_a_robot_has_the_defaults_of_continuous_control():
    resolved = resolve("Swimmer-v5")
    assert resolved.config.env.family == "mujoco"
    assert resolved.origin(("algo", "lr")) == "defaults continuous"
