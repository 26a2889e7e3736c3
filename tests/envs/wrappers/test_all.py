"""What every wrapper has in common, whichever are there."""

import pytest

from spotter import plugins
from spotter.config import EnvConfig
from tests.envs.helpers import config, vector, zeros

EXAMPLES = {
    "frame_stack": {},
    "grayscale": {},
    "resize": {},
    "frame_skip": {"skip": [1, 3]},
    "sticky_actions": {},
    "life_loss": {},
    "observation_noise": {"std": 0.1},
    "action_noise": {"probability": 0.1},
    "time_limit": {"steps": 5.0},
    "action_map": {"mapping": [1, 0]},
    "action_mask": {"valid": [0]},
    "randomize": {"attributes": {"gravity": [9, 10], "tau": 0.02}},
    "lunar_physics": {"gravity": [-11, -9]},
    "gymnasium": {"wrapper": "ClipReward", "kwargs": {"min_reward": -1}},
    "previous_action": {"count": 2},
    "hide": {"indices": [1, 3]},
}
PICTURES = ("grayscale", "resize")


@pytest.mark.parametrize("name", plugins.names("wrappers"))
def test_configs_survive_being_saved(name):
    env = EnvConfig(id="CartPole-v1", wrappers=[{"name": name, **EXAMPLES[name]}])
    assert EnvConfig.model_validate(env.model_dump(mode="json")) == env


@pytest.mark.parametrize("name", plugins.names("wrappers"))
def test_two_runs_with_one_seed_are_equal(name):
    base = config("Picture-v0") if name in PICTURES else config("CartPole-v1")
    base = config("LunarLander-v3", "box2d") if name == "lunar_physics" else base
    base = config("tests.envs.lives:Lives-v0") if name == "life_loss" else base
    wrapper = EnvConfig(wrappers=[{"name": name, **EXAMPLES[name]}]).wrappers
    with vector(base.model_copy(update={"wrappers": wrapper}), count=2) as vec:
        runs = []
        for _ in range(2):
            vec.reset([1, 2])
            for _ in range(40):
                vec.step(zeros(vec))
            runs.append((vec.buffers.obs["obs"].tolist(), vec.buffers.reward.tolist()))
    assert runs[0] == runs[1]
