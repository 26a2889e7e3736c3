"""Environments given as Python objects, and classes by their import path."""

import sys

import gymnasium as gym
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

import spotter
from spotter.config import EnvConfig
from spotter.envs.base import family
from spotter.envs.families import python
from spotter.envs.make import choose_backend, make_vector
from spotter.types import UserError
from tests.envs.spoken import Spoken, shifted

QUICK = {
    "quiet": True,
    "budget": {"env_steps": 64},
    "algo": {"steps": 16, "minibatch": 32},
    "eval": {"episodes": 2},
    "video": {"when": None},
}


@pytest.fixture(autouse=True)
def forgets(monkeypatch):
    monkeypatch.setattr(python, "_given", {})


@pytest.mark.parametrize(
    ("thing", "env_id"),
    [
        (shifted, "tests.envs.spoken:shifted"),
        (lambda: shifted(), "__main__:Spoken()"),
        (shifted(), "__main__:Spoken()"),
    ],
)
def test_class_function_and_instance_train(thing, env_id):
    result = spotter.train(thing, env={"count": 2}, **QUICK)
    assert result.env_steps >= 64
    assert result.run.info()["env"] == env_id
    assert result.config.env.family == "python"
    loaded = spotter.load("@last")
    env = spotter.make_env("@last")
    obs, _ = env.reset(seed=1)
    env.step(loaded.predict(obs)[0])
    assert spotter.make_env(thing).observation_space == env.observation_space


def test_a_class_with_arguments_and_a_time_limit():
    config = spotter.resolve(
        CartPoleEnv, env={"kwargs": {"sutton_barto_reward": True}, "time_limit": 7}
    ).config
    assert config.env.id == "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
    env = spotter.make_env(config, render_mode="rgb_array")
    env.reset(seed=1)
    steps = [env.step(env.action_space.sample())[1:4] for _ in range(7)]
    assert steps[-1][2], "cut by the time limit"
    assert env.render().shape == (400, 600, 3)
    assert choose_backend(config.env).name in ("sync", "process")


def test_a_class_of_a_module_needs_no_registration():
    resolved = spotter.resolve("tests.envs.spoken:shifted:a2c")
    assert (resolved.config.env.family, resolved.config.algo.name) == ("python", "a2c")
    with pytest.raises(
        UserError, match=r"unknown recipe or environment 'tests.envs.spoken:nothing'"
    ):
        spotter.resolve("tests.envs.spoken:nothing")


def test_what_cannot_be_imported_is_never_sent_to_workers():
    config = spotter.resolve(lambda: shifted()).config
    assert not python.is_importable(config.env.id)
    assert choose_backend(config.env).name == "sync"
    with pytest.raises(UserError, match="given to Spotter as a Python object in another process"):
        make_vector(config.env, count=2, backend="process")


def test_another_process_says_what_is_missing():
    env = EnvConfig(id="__main__:Gone", family="python")
    with pytest.raises(UserError, match="__main__:Gone cannot be imported: it was given"):
        family(env).make(env)


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("not_here:Game", r"^there is no module 'not_here' to import .* folder of not_here.py$"),
        ("tests.envs.spoken:Spokn", r"^tests.envs.spoken has no 'Spokn'; did you mean 'Spoken'\?"),
    ],
)
def test_a_class_that_is_not_there_says_what_is_missing(id, sentence):
    env = EnvConfig(id=id, family="python")
    with pytest.raises(UserError, match=sentence):
        family(env).make(env)


def test_what_a_script_defines_is_found_by_name(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "Mine", Spoken, raising=False)
    assert python.knows("__main__:Mine")


def test_a_function_is_not_mistaken_for_the_class_it_makes(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "Spoken", Spoken, raising=False)
    config = spotter.resolve(lambda: shifted()).config
    assert not python.is_importable(config.env.id)
    python._given.clear()
    with pytest.raises(UserError, match="cannot be imported"):
        spotter.make_env(config)


def test_a_script_and_a_notebook_have_no_spec(monkeypatch):
    """There, `find_spec("__main__")` fails."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert spotter.resolve(lambda: shifted()).config.env.id == "__main__:Spoken()"


class Uncopyable(Spoken):
    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle a window")


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (3, "not by int"),
        (lambda: 3, "this function makes int, not a gymnasium.Env"),
        (int, "builtins:int makes int, not a gymnasium.Env"),
        (
            Uncopyable(gym.spaces.Discrete(2), gym.spaces.Discrete(2)),
            "this Uncopyable cannot be copied .*give its class",
        ),
        (Spoken, "tests.envs.spoken:Spoken cannot be made with env.kwargs {}: TypeError"),
    ],
)
def test_mistakes_are_one_sentence(thing, sentence):
    with pytest.raises(UserError, match=sentence):
        spotter.make_env(thing)
