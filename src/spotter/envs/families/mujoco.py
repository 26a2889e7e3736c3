"""MuJoCo robots of Gymnasium: HalfCheetah, Hopper, Walker2d, Ant. Needs `spotter-rl[mujoco]`."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from spotter import plugins
from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_info
from spotter.types import EnvInfo, UserError

EXAMPLE: Final = "InvertedPendulum-v5"
# None of them has a hard bound; the ranges are what play from hopeless to good usually gets.
_ABOUT: Final[dict[str, tuple[str, tuple[float, float] | None]]] = {
    "Ant": ("Walk a robot of four legs forwards.", (-200.0, 7000.0)),
    "HalfCheetah": ("Run a flat robot of two legs forwards.", (-600.0, 12000.0)),
    "Hopper": ("Hop a robot of one leg forwards without falling.", (0.0, 4000.0)),
    "Humanoid": ("Walk a robot with arms and legs forwards without falling.", (0.0, 8000.0)),
    "HumanoidStandup": ("Stand a lying robot up and keep it there.", None),
    "InvertedDoublePendulum": ("Balance two poles, one upon the other, on a cart.", (0.0, 9360.0)),
    "InvertedPendulum": ("Balance a pole on a cart by a force.", (0.0, 1000.0)),
    "Pusher": ("Push a cylinder to a target with a robot's arm.", (-150.0, 0.0)),
    "Reacher": ("Move the tip of a two-link arm to a target.", (-60.0, 0.0)),
    "Swimmer": ("Swim a chain of three links forwards.", (-10.0, 370.0)),
    "Walker2d": ("Walk a flat robot of two legs forwards without falling.", (0.0, 6000.0)),
}
_AXES: Final = {0: ("x", "y", "z", "qw", "qx", "qy", "qz"), 1: ("qw", "qx", "qy", "qz")}
_TURNS: Final = {0: ("x", "y", "z", "roll", "pitch", "yaw"), 1: ("roll", "pitch", "yaw")}
"""Parts of a free (0) and of a ball joint (1); all others have one number."""


def make(env: EnvConfig, render: bool = False) -> Env:
    plugins.require("mujoco", extra="mujoco")
    plugins.require("imageio", extra="mujoco")  # Gymnasium imports it with every robot
    if render and sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")  # without it MuJoCo asks for a screen
    return make_registered(env, render)


def describe(env: EnvConfig) -> EnvInfo:
    info = registered_info(env)
    name = env.id.rpartition("-v")[0]
    if name not in _ABOUT:
        return info
    description, score_range = _ABOUT[name]
    actions, observations = _names(env)
    return replace(
        info,
        description=description,
        score_range=score_range,
        action_names=actions,
        observation_names=observations,
    )


def _names(env: EnvConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of actions and observations, as the model calls its joints; none where it is unreadable."""
    try:
        with closing(make(env)) as made:
            return _actions(made.unwrapped), tuple(_observations(made.unwrapped))
    except UserError:  # building it for training reports why
        return (), ()


def _actions(robot: Any) -> tuple[str, ...]:
    model = robot.model
    joints = [model.joint(int(model.actuator(i).trnid[0])).name for i in range(model.nu)]
    return tuple(_plain(joint) for joint in joints)


def _observations(robot: object) -> Iterator[str]:
    """Positions without those left out, velocities, and what else the robot is shown, numbered."""
    structure = getattr(robot, "observation_structure", None)
    if structure is None:  # arms and the double pendulum show sines, cosines and distances
        return
    positions, velocities = list(_parts(robot, _AXES)), list(_parts(robot, _TURNS))
    yield from positions[structure.get("skipped_qpos", 0) :]
    yield from (f"{name} velocity" for name in velocities)
    for key, count in structure.items():
        if key not in ("skipped_qpos", "qpos", "qvel"):
            yield from (f"{key} {number}" for number in range(count))


def _parts(robot: Any, several: dict[int, tuple[str, ...]]) -> Iterator[str]:
    for index in range(robot.model.njnt):
        joint = robot.model.joint(index)
        name = _plain(joint.name)
        parts = several.get(int(joint.type[0]))
        yield from [name] if parts is None else [f"{name} {part}" for part in parts]


def _plain(joint: str) -> str:
    return joint.removesuffix("_joint").replace("_", " ")
