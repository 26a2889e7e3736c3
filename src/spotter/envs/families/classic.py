"""Classic control: CartPole, MountainCar (both), Acrobot, Pendulum."""

from dataclasses import replace
from typing import Final

from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_info, registered_spec
from spotter.types import EnvInfo

_CARTPOLE: Final = EnvInfo(
    description="Balance a pole on a cart by pushing it left and right; 1 point per step.",
    action_names=("push left", "push right"),
    observation_names=("cart position", "cart velocity", "pole angle", "pole angular velocity"),
    keys={"left": 0, "right": 1},
)
_MOUNTAIN_CAR: Final = EnvInfo(
    description="Rock an underpowered car out of a valley up to the flag; −1 point per step.",
    action_names=("push left", "coast", "push right"),
    observation_names=("position", "velocity"),
    keys={"left": 0, "down": 1, "right": 2},
)
_MOUNTAIN_CAR_CONTINUOUS: Final = EnvInfo(
    description="Rock a car up to the flag with as little force as possible; 100 points for it.",
    action_names=("force",),
    observation_names=("position", "velocity"),
)
_ACROBOT: Final = EnvInfo(
    description="Swing a two-link arm's tip above the line by its elbow; −1 point per step.",
    action_names=("torque -1", "no torque", "torque +1"),
    observation_names=(
        "cos shoulder",
        "sin shoulder",
        "cos elbow",
        "sin elbow",
        "shoulder velocity",
        "elbow velocity",
    ),
    keys={"left": 0, "down": 1, "right": 2},
)
# Gymnasium registers no threshold: the best possible score depends on the starting angle and
# averages about -150; from -200 on the pendulum is swung up directly and held.
_PENDULUM: Final = EnvInfo(
    description="Swing a pendulum up and hold it there; points lost for angle, speed and torque.",
    action_names=("torque",),
    observation_names=("cos angle", "sin angle", "angular velocity"),
    threshold=-200.0,
)
_INFO: Final = {
    "CartPole-v0": _CARTPOLE,
    "CartPole-v1": _CARTPOLE,
    "MountainCar-v0": _MOUNTAIN_CAR,
    "MountainCarContinuous-v0": _MOUNTAIN_CAR_CONTINUOUS,
    "Acrobot-v1": _ACROBOT,
    "Pendulum-v1": _PENDULUM,
}
# The lowest and highest reward of one step; the score lies within that times the time limit.
_STEP_REWARD: Final = {
    "CartPole-v0": (0.0, 1.0),
    "CartPole-v1": (0.0, 1.0),
    "MountainCar-v0": (-1.0, 0.0),
    "Acrobot-v1": (-1.0, 0.0),
    "Pendulum-v1": (-16.2736044, 0.0),  # -(π² + 0.1·8² + 0.001·2²)
}


def make(env: EnvConfig, render: bool = False) -> Env:
    return make_registered(env, render)


def describe(env: EnvConfig) -> EnvInfo:
    registered = registered_info(env)
    if env.id not in _INFO:
        return registered
    info = replace(
        _INFO[env.id],
        threshold=_INFO[env.id].threshold or registered.threshold,
        score_range=_score_range(env),
        score_is_bounded=not env.kwargs and not env.wrappers,
    )
    return _cartpole(env, info) if env.id.startswith("CartPole") else info


def _limit(env: EnvConfig) -> int:
    limit = env.time_limit or registered_spec(env).max_episode_steps
    assert limit is not None, f"{env.id} is registered without a time limit"
    return limit


def _score_range(env: EnvConfig) -> tuple[float, float]:
    limit = _limit(env)
    if env.id == "MountainCarContinuous-v0":
        return -0.1 * limit, 100.0
    low, high = _STEP_REWARD[env.id]
    return low * limit, high * limit


def _cartpole(env: EnvConfig, info: EnvInfo) -> EnvInfo:
    """Its score is its length, so a threshold for 500 steps says nothing about other limits."""
    if env.kwargs.get("sutton_barto_reward"):
        return replace(info, score_range=(-1.0, 0.0), threshold=0.0)  # 0: it never fell
    if env.time_limit is not None:
        return replace(info, threshold=0.95 * env.time_limit)
    return info
